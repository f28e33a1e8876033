// What models cost: per day, model, session and person, drawn and as tables.

import { h } from "/assets/dom.js";
import { ask } from "/assets/api.js";
import { Table, Repeat, heading, nothing, failed, choice, keepInAddress, fromAddress, count, usd } from "./table.js";
import { at } from "./sessions.js";
import { s, titled } from "./svg.js";

const width = 720, height = 200, left = 56, base = 176;

export default class Spend {
  constructor(root) {
    this.days = fromAddress("days") || "30";
    this.note = h("div");
    this.parts = h("div");
    this.summary = h("p");
    root.append(heading("Spend", choice("Days", [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "a year"]], this.days, (days) => {
      this.days = days;
      keepInAddress({ days: days === "30" ? "" : days });
      this.repeat.now();
    })), this.summary, this.note, this.parts);
  }

  show() {
    this.repeat ??= new Repeat((current) => this.read(current), 15000);
  }

  async read(current) {
    try {
      const answer = await ask("GET", "/admin/api/spend?days=" + this.days);
      if (!current()) return;
      const is = JSON.stringify(answer);
      if (is === this.was) return;
      this.was = is;
      this.draw(answer);
    } catch (err) {
      if (current()) this.note.replaceChildren(failed(err));
    }
  }

  draw(a) {
    const total = a.models.reduce((n, r) => n + r.usd, 0), tokens = a.models.reduce((n, r) => n + r.tokens, 0);
    this.note.replaceChildren(...(a.days.length ? [] : [nothing("Nothing was spent in these days.")]));
    this.summary.textContent = a.days.length ? "$" + total.toFixed(2) + " and " + count(tokens) + " tokens from " + a.from + " to " + a.to + (a.caps.daily_usd ? ", with a cap of $" + a.caps.daily_usd + " a day." : ", without a cap a day.") +
      (total ? "" : " The models’ prices are not known, so tokens are drawn.") : "";
    this.parts.replaceChildren(...(a.days.length ? [
      section("Per day", days(a, total > 0), dayTable(a)),
      section("Per model", bars(a.models, total > 0), table("Model", a.models)),
      section("Per session", bars(a.sessions, total > 0), table("Session", a.sessions, (r) => (r.name ? h("a", { href: at(r.name) }, r.name) : "outside of any"))),
      section("Per person", bars(a.users, total > 0), table("Person", a.users)),
    ] : []));
  }

  close() {
    this.repeat?.close();
  }
}

const section = (title, plot, list) => h("section", { class: "spend" }, h("h2", null, title), h("div", { class: "pair" }, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title + ", drawn" }, plot), list));
const named = (r) => r.rest ? r.rest + " more" : r.name?.replace(/^web:web:/, "web:") || "nobody";

function table(what, rows, cell = named) {
  return new Table(what + "s", [
    { title: what, value: named, class: "wide", cell: (r) => (r.rest ? named(r) : cell(r)) },
    { title: "Cost", value: (r) => r.usd, class: "number", cell: (r) => usd(r.usd) },
    { title: "Tokens", value: (r) => r.tokens, class: "number", cell: (r) => count(r.tokens) },
    { title: "Calls", value: (r) => r.calls, class: "number", cell: (r) => r.calls },
  ], named).also(rows);
}

function dayTable(a) {
  const rows = [...sums(a.days).values()].reverse();
  return new Table("Days", [
    { title: "Day", value: (r) => r.day, cell: (r) => r.day },
    { title: "Cost", value: (r) => r.usd, class: "number", cell: (r) => usd(r.usd) },
    { title: "Tokens", value: (r) => r.tokens, class: "number", cell: (r) => count(r.tokens) },
    { title: "Calls", value: (r) => r.calls, class: "number", cell: (r) => r.calls },
  ], (r) => r.day).also(rows);
}

function sums(days) {
  const all = new Map();
  for (const r of days) {
    const sum = all.get(r.day) ?? { day: r.day, usd: 0, tokens: 0, calls: 0, parts: [] };
    for (const k of ["usd", "tokens", "calls"]) sum[k] += r[k];
    sum.parts.push(r);
    all.set(r.day, sum);
  }
  return all;
}

// days draws a column a day, a part a model, and the cap as a line.
function days(a, money) {
  const value = (r) => (money ? r.usd : r.tokens), label = (v) => (money ? usd(v) : count(v));
  const all = sums(a.days), list = [];
  for (let d = new Date(a.from + "T12:00:00Z"); d.toISOString().slice(0, 10) <= a.to; d.setUTCDate(d.getUTCDate() + 1)) list.push(d.toISOString().slice(0, 10));
  const highest = Math.max(...[...all.values()].map(value)), cap = money ? a.caps.daily_usd ?? 0 : 0;
  const top = Math.max(highest, cap && cap < 3 * highest ? cap : 0) || 1;
  const y = (v) => base - (v / top) * (base - 16), step = (width - left - 8) / list.length;
  const models = a.models.map((m) => m.name);
  return s("svg", { viewBox: "0 0 " + width + " " + height, class: "plot", role: "img", "aria-label": "Spend per day" },
    [0, top / 2, top].map((v) => [s("line", { x1: left, x2: width, y1: y(v), y2: y(v), class: "rule" }), s("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, v ? label(v) : "0")]).flat(),
    list.map((day, i) => {
      let up = 0;
      const x = left + i * step + step * 0.1;
      return (all.get(day)?.parts ?? []).map((r) => {
        const from = y(up), to = y((up += value(r)));
        return s("rect", { x: x.toFixed(1), y: to.toFixed(1), width: (step * 0.8).toFixed(1), height: Math.max(from - to, 0.5).toFixed(1), class: "series-" + (models.indexOf(r.name) % 6) }, titled(day + ", " + r.name + ": " + label(value(r))));
      });
    }).flat(),
    list.map((day, i) => (i % Math.ceil(list.length / 8) ? null : s("text", { x: (left + (i + 0.5) * step).toFixed(1), y: height - 6, "text-anchor": "middle" }, day.slice(5)))),
    cap && cap <= top ? [s("line", { x1: left, x2: width, y1: y(cap), y2: y(cap), class: "cap" }), s("text", { x: width - 4, y: y(cap) - 4, "text-anchor": "end" }, "cap " + usd(cap))] : []);
}

// bars draws the most expensive ones.
function bars(rows, money) {
  const value = (r) => (money ? r.usd : r.tokens);
  const list = rows.slice(0, 8), top = Math.max(...list.map(value)) || 1, line = 28;
  return s("svg", { viewBox: "0 0 " + width + " " + (list.length * line + 4), class: "plot", role: "img", "aria-label": "The most expensive, drawn; the table has the numbers" },
    list.map((r, i) => [
      s("rect", { x: 0, y: i * line + 16, width: Math.max((value(r) / top) * (width - 4), 1).toFixed(1), height: 8, rx: 2, class: "series-" + (i % 6) }, titled(named(r))),
      s("text", { x: 0, y: i * line + 12 }, clip(named(r)) + "  " + (money ? usd(r.usd) : count(r.tokens))),
    ]).flat());
}

const clip = (text) => (text.length > 60 ? text.slice(0, 59) + "…" : text);
