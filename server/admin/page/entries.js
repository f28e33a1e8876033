// One entry of a transcript as an operator reads it, and what is not in the
// transcript yet.

import { h, when, duration } from "/assets/dom.js";
import { render } from "/assets/markdown.js";
import { Row } from "/assets/tools.js";
import { count, usd } from "./table.js";

const shown = 4000; // characters of one text that are drawn unasked

export class Entry {
  // full(position) fetches what was cut.
  constructor(data, full) {
    this.data = data;
    this.position = data.position;
    this.full = full;
    this.rows = new Map();
    this.el = h("article", { class: "entry", id: "e-" + data.position, "data-kind": data.kind, tabindex: "-1" },
      h("header", null, h("a", { class: "position", href: "#e-" + data.position }, "#" + data.position),
        h("b", null, speaker(data)), this.figures()), this.body());
  }

  figures() {
    const e = this.data, u = e.usage, parts = [];
    if (e.took >= 0) parts.push(h("span", { title: e.kind === "assistant" ? "How long the model took" : "How long the tool took" }, duration(e.took)));
    if (u) parts.push(h("span", { title: "Tokens in, from the cache, out" }, count(u.input + (u.cacheWrite ?? 0)) + " in, " + count(u.cacheRead ?? 0) + " cached, " + count(u.output) + " out"));
    if (u?.cost) parts.push(h("span", { title: "Cost" }, usd(u.cost / 1e9)));
    if (e.stop && e.stop !== "stop" && e.stop !== "toolUse") parts.push(h("span", { class: "warn" }, e.stop));
    const time = when(h("time"), e.at);
    return h("span", { class: "figures" }, parts, time);
  }

  body() {
    const e = this.data, out = h("div", { class: "entry-body" });
    if (e.kind === "tool_result") return out; // settled with its call
    if (e.text) out.append(e.kind === "user" ? h("p", { class: "plain-text" }, e.text.slice(0, shown), e.text.length > shown ? " …" : "") : this.markdown());
    for (const file of e.files ?? []) out.append(h("p", { class: "quiet" }, file));
    if (e.error) out.append(h("p", { class: "card bad" }, e.error));
    if (e.calls?.length) {
      const calls = h("div", { class: "tools" });
      for (const call of e.calls) {
        const row = new Row(call, {}, this.full);
        row.set("cut");
        this.rows.set(call.id, row);
        calls.append(row.el);
      }
      out.append(calls);
    }
    return out;
  }

  markdown() {
    const el = h("div", { class: "md" });
    render(el, this.data.text);
    return el;
  }

  // settle draws a result with its call, or by itself where the call is not
  // drawn.
  settle(rows) {
    const e = this.data;
    if (e.kind !== "tool_result") return;
    const call = rows.get(e.call);
    if (call && call.settled !== e) {
      this.own?.el.remove();
      this.own = null;
      call.settle(e);
      if (e.took >= 0) call.time.textContent = duration(e.took);
      this.el.classList.add("settled");
    } else if (!call && !this.own) {
      this.own = new Row({ id: e.call, name: e.name }, {}, this.full);
      this.own.settle(e);
      if (e.took >= 0) this.own.time.textContent = duration(e.took);
      this.el.classList.remove("settled");
      this.el.lastElementChild.replaceChildren(h("div", { class: "tools" }, this.own.el));
    }
  }
}

function speaker(e) {
  switch (e.kind) {
    case "user": return e.sender || "somebody";
    case "assistant": return e.model || "the model";
    case "tool_result": return e.name + (e.is_error ? " failed" : " returned");
    case "summary": return e.text ? "summary of what was before" : "a new conversation begins";
    default: return "note";
  }
}

// Open is what is heard of a run and not in the transcript yet.
export class Open {
  constructor() {
    this.text = h("pre", { class: "open-text", hidden: true });
    this.status = h("span");
    this.tools = h("div", { class: "tools" });
    this.el = h("section", { class: "open-run", hidden: true, "aria-label": "Happening now" },
      h("p", { class: "status" }, h("span", { class: "spin", "aria-hidden": "true" }), this.status), this.tools, this.text);
    this.rows = new Map();
    this.written = "";
  }

  // work shows that somebody works, before anything is heard of it.
  work() {
    if (!this.el.hidden) return;
    this.say("Working");
    this.el.hidden = false;
  }

  live(e) {
    switch (e.type) {
      case "run_end":
        return this.clear();
      case "text":
        this.written = (e.offset ? this.written : "") + e.text;
        this.say("The model writes");
        break;
      case "text_reset":
        this.written = "";
        break;
      case "thinking":
        this.say("The model thinks");
        break;
      case "tool_start":
      case "tool_update":
      case "tool_end": {
        let row = this.rows.get(e.call.id);
        if (!row) {
          row = new Row(e.call, {}, () => Promise.resolve({}));
          this.rows.set(e.call.id, row);
          this.tools.append(row.el);
        }
        row.update({ ...e.call, done: e.type === "tool_end", began: e.type === "tool_start" ? e.at : undefined });
        this.say("Tools run");
        break;
      }
      case "approval":
        this.say(e.approval?.state === "pending" ? "A person must approve " + (e.approval.label || e.approval.tool) : "Decided");
        break;
      case "notice":
        this.say(e.text);
        break;
    }
    this.el.hidden = false;
    // The end of a long text is what is new.
    if (this.written.length > 2 * shown) this.written = "… " + this.written.slice(-shown);
    this.text.hidden = !this.written;
    this.text.textContent = this.written;
  }

  say(text) {
    this.status.textContent = text;
  }

  // settle forgets what the transcript has from now on.
  settle(entries) {
    for (const e of entries) {
      if (e.kind === "assistant") this.written = "";
      if (e.kind === "tool_result") {
        this.rows.get(e.call)?.el.remove();
        this.rows.delete(e.call);
      }
    }
    this.text.hidden = !this.written;
    this.text.textContent = this.written;
  }

  clear() {
    this.written = "";
    this.rows.clear();
    this.tools.replaceChildren();
    this.text.hidden = true;
    this.el.hidden = true;
  }
}
