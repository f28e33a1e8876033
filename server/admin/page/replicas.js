// The replicas and their channels, as they tell of themselves.

import { h, when, duration } from "/assets/dom.js";
import { Table, heading } from "./table.js";

const level = { connected: "good", standby: "warn", failed: "bad" };
const words = { connected: "receiving", standby: "standing by: another replica receives", failed: "off" };

const mark = (l, text) => h("span", { class: "state", "data-level": l }, h("span", { class: "dot", "aria-hidden": "true" }), text);

export default class Replicas {
  constructor(root, page) {
    this.page = page;
    this.replicas = new Table("Replicas", [
      { title: "Replica", value: (r) => r.host + r.pid, cell: (r) => h("span", { class: "two" }, h("b", null, r.host + ", process " + r.pid + (r.self ? " (this page’s)" : "")), h("span", { class: "quiet mono" }, r.replica)) },
      { title: "State", value: (r) => Boolean(r.gone), cell: (r) => (r.gone ? mark("bad", "does not answer") : mark("good", "answers")) },
      { title: "Version", value: (r) => r.version, cell: (r) => r.version },
      { title: "Started", value: (r) => r.started, cell: (r) => when(h("time"), r.started) },
      { title: "Leases", value: (r) => r.leases, class: "number", cell: (r) => r.leases },
      { title: "Runs", value: (r) => r.runs, class: "number", cell: (r) => r.runs },
      { title: "In line", value: (r) => r.line_ms ?? 0, class: "number", cell: (r) => (r.in_line ? r.in_line + ", for " + duration(r.line_ms) : "–") },
      { title: "Due, untaken", value: (r) => r.due_ms ?? 0, class: "number", cell: (r) => (r.due ? r.due + ", for " + duration(r.due_ms) : "–") },
      { title: "Latest errors", class: "wide", cell: (r) => (r.errors.length ? h("ul", { class: "errors" }, r.errors.map((e) => h("li", null, e))) : "none in its log") },
    ], (r) => r.replica);
    this.channels = new Table("Channels", [
      { title: "Channel", value: (c) => c.name, cell: (c) => c.name },
      { title: "Replica", value: (c) => c.replica, cell: (c) => page.replica(c.replica) },
      { title: "State", value: (c) => c.state, cell: (c) => mark(level[c.state], words[c.state]) },
      { title: "Last event", value: (c) => c.last_event ?? "", cell: (c) => (c.last_event ? when(h("time"), c.last_event) : "none since the start") },
      { title: "Trouble", class: "wide", cell: (c) => c.error || (c.trouble ? h("span", null, c.trouble, " ", when(h("time", { class: "quiet" }), c.trouble_at)) : "none") },
    ], (c) => c.name + "@" + c.replica);
    root.append(heading("Channels and replicas"), h("h2", null, "Channels"), this.channels.el, h("h2", null, "Replicas"), this.replicas.el,
      h("p", { class: "quiet" }, "The queue is what waits for a replica to take it: messages in line for a free run, and sessions that are due and nobody has taken."));
    if (page.state) this.stated(page.state);
  }

  show() {}

  stated(state) {
    this.replicas.show(state.replicas);
    this.channels.show(state.replicas.flatMap((r) => (r.gone ? [] : r.channels.map((c) => ({ ...c, replica: r.replica })))));
  }

  close() {}
}
