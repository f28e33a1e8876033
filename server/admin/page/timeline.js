// A picture of where a session's time went: lanes for people, the model and the
// tools. Pauses are drawn short, or a night would hide everything else.

import { h, duration, exactTime } from "/assets/dom.js";
import { s, titled } from "./svg.js";

const lanes = ["People", "Model", "Tools"];
const lane = { user: 0, assistant: 1, tool_result: 2 };
const width = 960, left = 64, height = 24, pause = 1500; // ms that any pause is drawn as

export function timeline(figure, entries) {
  const bars = [];
  for (const e of entries) {
    if (lane[e.kind] === undefined) continue;
    const to = Date.parse(e.at), took = Math.max(e.took, 0);
    bars.push({ e, from: to - took, to, y: lane[e.kind] });
  }
  if (bars.length < 2) return figure.replaceChildren();
  bars.sort((a, b) => a.from - b.from);
  // Places on a clock that skips the pauses.
  let clock = 0, until = bars[0].from;
  const skips = [];
  for (const b of bars) {
    if (b.from > until) {
      const idle = b.from - until;
      clock += Math.min(idle, pause);
      if (idle > pause) skips.push([clock - pause / 2, idle]);
      until = b.from;
    }
    b.at = clock - (until - b.from);
    if (b.to > until) {
      clock += b.to - until;
      until = b.to;
    }
  }
  const x = (ms) => left + (ms / Math.max(clock, 1)) * (width - left - 8);
  const marks = bars.map((b) => {
    const from = x(b.at), w = Math.max(x(b.at + b.to - b.from) - from, 3);
    const what = (b.e.kind === "user" ? b.e.sender || "somebody" : b.e.kind === "assistant" ? b.e.model || "model" : b.e.name) +
      (b.e.took >= 0 ? ", " + duration(b.e.took) : "") + (b.e.usage ? ", " + b.e.usage.output + " tokens out" : "") + ", " + exactTime(b.e.at);
    return s("a", { href: "#e-" + b.e.position, "aria-label": "#" + b.e.position + " " + what, tabindex: "-1" },
      s("rect", { x: from.toFixed(1), y: 4 + b.y * height, width: w.toFixed(1), height: height - 8, rx: 2, class: "bar-" + b.e.kind + (b.e.is_error ? " bar-bad" : "") }, titled("#" + b.e.position + " " + what)));
  });
  const sum = (kind) => duration(bars.filter((b) => b.e.kind === kind).reduce((n, b) => n + b.to - b.from, 0));
  figure.replaceChildren(
    h("figcaption", null, "Where the time went in what is shown below: model " + sum("assistant") + ", tools " + sum("tool_result") + "."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Timeline" },
      s("svg", { viewBox: "0 0 " + width + " " + (lanes.length * height + 4), class: "plot", role: "img", "aria-label": "Timeline of the entries below" },
        lanes.map((name, i) => [s("text", { x: 0, y: i * height + 17 }, name), s("line", { x1: left, x2: width, y1: (i + 1) * height, y2: (i + 1) * height, class: "rule" })]).flat(),
        skips.map(([at, idle]) => s("text", { x: x(at).toFixed(1), y: 17, class: "skip-mark", "text-anchor": "middle" }, "⋮", titled("a pause of " + duration(idle)))), marks)));
}
