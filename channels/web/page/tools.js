// A tool call is one quiet row that unfolds.

import { h, icon, duration, bytes, copyButton } from "./dom.js";

const icons = [
  [/^(read_file|send_file)/, "file"],
  [/^list|dir$/, "folder"],
  [/search|grep|find/, "search"],
  [/^(write|edit|apply)/, "pencil"],
  [/^(exec|process|bash|shell)/, "terminal"],
  [/^web|fetch|http/, "globe"],
  [/time|date|clock|remind|schedule/, "clock"],
];

// telling are the arguments that say most, the best first.
const telling = ["path", "file_path", "file", "command", "cmd", "query", "pattern", "url", "location", "city",
  "timezone", "zone", "name", "title", "question", "text"];

// Row shows one call. Its body is made when it is first unfolded.
export class Row {
  // full fetches the whole result when it was too long to be sent at once.
  constructor(call, labels, full) {
    this.id = call.id;
    this.name = call.name;
    this.full = full;
    this.began = null;
    this.state = "running";
    this.output = "";
    this.args = call.arguments;
    this.mark = h("span", { class: "tool-mark" });
    this.time = h("span", { class: "tool-time" });
    this.arg = h("span", { class: "tool-arg" });
    this.label = h("span", { class: "tool-name" }, labels[call.name] ?? call.label?.split(": ")[0] ?? call.name);
    this.summary = h("summary", null, icon(icons.find(([re]) => re.test(call.name))?.[1] ?? "tool"),
      this.label, this.arg, this.time, this.mark,
      h("span", { class: "tool-fold" }, icon("chevron")));
    this.el = h("details", { class: "tool", "data-call": call.id, ontoggle: () => this.fill() }, this.summary);
    this.set("running");
    this.setArguments(call.arguments);
  }

  setArguments(args) {
    if (args === undefined) return;
    this.args = args;
    this.arg.textContent = tellingOf(args);
    if (this.argsView) this.argsView.textContent = pretty(args);
  }

  start(at) {
    this.began ??= new Date(at);
  }

  // update takes what is heard while the call runs.
  update(call) {
    if (this.settled) return;
    if (call.began) this.start(call.began);
    if (call.arguments !== undefined) this.setArguments(call.arguments);
    if (call.output) this.setOutput(call.output, 0);
    if (call.done) {
      this.set(call.is_error ? "failed" : "done");
      if (call.ms !== undefined || call.done) this.time.textContent = duration(call.ms ?? 0);
      this.timed = true;
    } else this.tick(Date.now());
  }

  // settle takes the result that the transcript has.
  settle(entry, began) {
    this.settled = entry;
    this.set(entry.is_error ? "failed" : "done");
    if (!this.timed && began) this.time.textContent = duration(new Date(entry.at) - new Date(began));
    this.setOutput(entry.text ?? "", entry.cut ?? 0);
  }

  // abandon marks a call that has no result and gets none.
  abandon() {
    if (this.state === "running") this.set("cut");
  }

  tick(now) {
    if (this.state === "running" && this.began && now - this.began > 900) this.time.textContent = Math.round((now - this.began) / 1000) < 60 ? Math.round((now - this.began) / 1000) + " s" : duration(now - this.began);
  }

  set(state) {
    if (this.state === state && this.mark.firstChild) return;
    this.state = state;
    this.el.dataset.state = state;
    this.mark.replaceChildren(
      state === "running" ? h("span", { class: "spin", role: "img", "aria-label": "running" })
        : state === "done" ? icon("check", "done")
          : state === "failed" ? icon("cross", "failed") : icon("dash", "no result"));
  }

  setOutput(text, cut) {
    this.output = text;
    this.cut = cut;
    if (this.el.open) this.fill();
  }

  fill() {
    if (!this.el.open) return;
    if (!this.body) {
      this.argsView = h("pre", { tabindex: "0", "aria-label": "Arguments" }, pretty(this.args));
      this.outView = h("pre", { tabindex: "0", "aria-label": "Output" });
      this.outHead = h("h4");
      this.more = h("button", { type: "button", class: "plain", hidden: true, onclick: () => this.showAll() });
      const hasArgs = this.args !== undefined && pretty(this.args) !== "{}";
      this.body = h("div", { class: "tool-body" },
        hasArgs ? [h("div", { class: "tool-head" }, h("h4", null, "Arguments"), copyButton(() => pretty(this.args))), this.argsView] : null,
        h("div", { class: "tool-head" }, this.outHead, copyButton(() => this.output)), this.outView, this.more);
      this.el.append(this.body);
    }
    const out = this.outView, atEnd = out.scrollTop + out.clientHeight >= out.scrollHeight - 8;
    this.outHead.textContent = this.state === "running" ? "Output so far" : this.state === "failed" ? "Error" : "Result";
    out.textContent = this.output || (this.state === "running" ? "Nothing yet." : "Empty.");
    out.classList.toggle("quiet", !this.output);
    this.more.hidden = !(this.cut > 0);
    this.more.textContent = "Show " + bytes(this.cut ?? 0) + " more";
    if (this.state === "running" && atEnd) out.scrollTop = out.scrollHeight;
  }

  async showAll() {
    this.more.disabled = true;
    try {
      const entry = await this.full(this.settled.position);
      this.setOutput(entry.text ?? "", 0);
      this.outView.focus();
    } catch (err) {
      this.more.textContent = err.message + " Try again";
    } finally {
      this.more.disabled = false;
    }
  }
}

const oneLine = (v) => String(v).replace(/\s+/g, " ").trim().slice(0, 200);

function tellingOf(args) {
  if (typeof args === "string") return oneLine(args);
  if (typeof args !== "object" || args === null) return "";
  for (const name of telling) {
    const v = args[name];
    if (typeof v === "string" && v.trim()) return oneLine(v);
    if (Array.isArray(v) && v.length && v.every((x) => typeof x === "string")) return oneLine(v.join(" "));
  }
  for (const v of Object.values(args)) if (["string", "number", "boolean"].includes(typeof v)) return oneLine(v);
  return "";
}

function pretty(args) {
  if (args === undefined) return "";
  return typeof args === "string" ? args : JSON.stringify(args, null, 2);
}
