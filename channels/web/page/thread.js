// The thread: settled entries, then the open reply, then what is on its way.
// Every change touches only what changed.

import { h, icon, when, copyButton, duration, say, exactTime } from "./dom.js";
import { render, Writer } from "./markdown.js";
import { Row } from "./tools.js";

const near = 48; // px from the end that still count as following
const keep = 300; // entries that stay while the end is followed
const trimAt = 450;

export class Thread {
  // on: older(), trimmed(first), edit(message), click(notice, data), full(position)
  constructor(el, pill, on) {
    this.el = el;
    this.pill = pill;
    this.on = on;
    this.labels = {};
    this.following = true;
    this.top = h("div", { class: "top" });
    this.entries = h("div", { class: "entries" });
    this.openEl = h("div", { class: "open" });
    this.status = h("div", { class: "status", hidden: true }, h("span", { class: "spin", "aria-hidden": "true" }), h("span", { class: "status-text" }));
    this.asked = h("div", { class: "waiting" }); // begins the run, so it stands above it
    this.waiting = h("div", { class: "waiting" });
    this.column = h("div", { class: "column" }, this.top, this.entries, this.asked, this.openEl, this.status, this.waiting);
    el.replaceChildren(this.column);

    el.addEventListener("scroll", () => this.scrolled(), { passive: true });
    pill.addEventListener("click", () => {
      this.follow();
      el.focus({ preventScroll: true });
    });
    new ResizeObserver(() => this.pin()).observe(this.column);
    new ResizeObserver(() => this.pin()).observe(el);
    new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && this.more && this.on.older(),
      { root: el, rootMargin: "800px 0px 0px 0px" }).observe(this.top);
    setInterval(() => this.tick(), 1000);
    this.clear();
  }

  clear() {
    this.rows = new Map();
    this.notices = new Map();
    this.bubbles = new Map();
    this.run = null;
    this.more = false;
    this.writer = null;
    this.told = new Set(); // how runs ended, as the transcript says
    for (const part of [this.top, this.entries, this.asked, this.openEl, this.waiting]) part.replaceChildren();
    this.el.querySelector(".empty")?.remove();
    this.status.hidden = true;
    this.following = true;
    this.pill.hidden = true;
  }

  // show replaces everything by the end of a transcript.
  show(entries, more) {
    this.clear();
    this.setMore(more);
    const nodes = [];
    for (const e of entries) this.build(e, nodes);
    this.entries.append(...nodes);
    this.abandonAll(entries);
    this.follow();
  }

  setLabels(labels) {
    this.labels = labels;
    for (const row of this.rows.values()) if (labels[row.name]) row.label.textContent = labels[row.name];
  }

  loading() {
    this.clear();
    this.top.replaceChildren(h("p", { class: "loading" }, "Loading…"));
  }

  fail(err) {
    this.clear();
    this.entries.append(card("The conversation can’t be shown", err.message + " Trying again…"));
  }

  empty(el) {
    this.clear();
    this.column.append(el);
  }

  setMore(more) {
    this.more = more;
    this.top.replaceChildren(...(more ? [h("p", { class: "loading" }, "Loading earlier messages…")] : []));
  }

  // prepend puts earlier entries on top without moving what is looked at.
  prepend(entries, more) {
    const nodes = [];
    for (const e of entries) this.build(e, nodes, true);
    const height = this.el.scrollHeight, at = this.el.scrollTop;
    this.setMore(more);
    this.entries.prepend(...nodes);
    this.el.scrollTop = at + this.el.scrollHeight - height;
    if (more && this.top.getBoundingClientRect().bottom > this.el.getBoundingClientRect().top - 400) this.on.older();
  }

  append(entries) {
    this.el.querySelector(".empty")?.remove();
    const nodes = [];
    for (const e of entries) this.build(e, nodes);
    this.entries.append(...nodes);
    this.trim();
    this.pin();
  }

  // trim keeps a long live conversation from growing without bound.
  trim() {
    if (!this.following || this.entries.childElementCount < trimAt) return;
    while (this.entries.childElementCount > keep) this.drop(this.entries.firstElementChild);
    while (this.entries.firstElementChild && this.entries.firstElementChild.dataset.kind !== "user") this.drop(this.entries.firstElementChild);
    const first = [...this.entries.children].find((n) => n.dataset.position);
    if (!first) return;
    this.on.trimmed(Number(first.dataset.position));
    this.setMore(true);
  }

  drop(node) {
    for (const row of node.querySelectorAll("[data-call]")) this.rows.delete(row.dataset.call);
    node.remove();
  }

  build(e, nodes, early) {
    switch (e.kind) {
      case "user":
        nodes.push(this.tag(userMessage(e), e));
        break;
      case "assistant":
        this.assistant(e, nodes, early);
        break;
      case "tool_result":
        this.result(e, nodes, early);
        break;
      case "summary":
        nodes.push(this.tag(divider(e.text), e));
        break;
      default:
        this.note(e, nodes, early);
    }
  }

  // note tells how a run ended. It says it better than the message before it.
  note(e, nodes, early) {
    const before = nodes.at(-1) ?? (early ? null : this.entries.lastElementChild);
    const text = unmarked(e.text) || (e.note === "stopped" ? "Stopped" : "");
    if (text) this.told.add(text);
    if (e.note === "resumed" || !text) return;
    before?.querySelector("[data-ending]")?.remove();
    const failed = e.note === "failed" || (!e.note && e.text.startsWith("⚠"));
    const el = h("article", { class: "reply" }, failed ? card("This did not work", text) : remark(text, true));
    nodes.push(this.tag(el, e));
  }

  tag(el, e) {
    el.dataset.position = e.position;
    el.dataset.at = Date.parse(e.at);
    el.dataset.kind = e.kind;
    return el;
  }

  assistant(e, nodes, early) {
    const el = this.tag(h("article", { class: "reply" }), e);
    if (e.text) {
      // What was streamed is what is settled: it stays where it is drawn.
      const streamed = !early && this.writer && this.run && this.run.known && this.run.text === e.text ? this.writer : null;
      if (streamed) {
        streamed.flush();
        streamed.writer.end();
        el.append(streamed.el);
      } else {
        const text = h("div", { class: "md" });
        render(text, e.text);
        el.append(text);
      }
    }
    if (!early) this.closeText();
    if (e.calls?.length) {
      const calls = h("div", { class: "tools" });
      for (const call of e.calls) {
        const row = this.row(call);
        row.asked = e.at;
        calls.append(row.el);
      }
      el.append(calls);
    }
    if (e.stop === "aborted") el.append(h("p", { class: "mark", "data-ending": true }, "Stopped"));
    else if (e.error) {
      this.told.add(e.error);
      const problem = card("This did not work", e.error);
      problem.dataset.ending = "";
      el.append(problem);
    } else if (e.stop === "length") el.append(h("p", { class: "mark" }, "Cut off: the answer reached the model’s limit"));
    if (e.text && !e.calls?.length) el.append(h("div", { class: "acts" }, copyButton(() => e.text), meta(e)));
    if (el.childElementCount) nodes.push(el);
  }

  result(e, nodes, early) {
    let row = this.rows.get(e.call);
    if (!row) {
      row = this.row({ id: e.call, name: e.name });
      nodes.push(this.tag(h("article", { class: "reply" }, h("div", { class: "tools" }, row.el)), e));
    }
    row.settle(e, row.asked);
  }

  row(call) {
    let row = this.rows.get(call.id);
    if (!row) {
      row = new Row(call, this.labels, this.on.full);
      this.rows.set(call.id, row);
    }
    row.setArguments(call.arguments);
    return row;
  }

  // tool draws a call that runs now.
  tool(call) {
    this.el.querySelector(".empty")?.remove();
    let row = this.rows.get(call.id);
    if (!row) {
      row = this.row(call);
      let tools = this.openEl.querySelector(".tools");
      if (!tools) {
        tools = h("div", { class: "tools" });
        this.openEl.append(tools);
      }
      tools.append(row.el);
    }
    row.update(call);
    this.showStatus();
  }

  abandonAll(entries) {
    const last = entries.at(-1);
    if (last && last.kind !== "tool_result" && !last.calls?.length) for (const row of this.rows.values()) row.abandon();
  }

  setRun(run) {
    const began = run && !this.run;
    if (!run && this.run) {
      this.closeText();
      this.openEl.replaceChildren();
      for (const row of this.rows.values()) row.abandon();
      say("The answer is finished.");
    } else if (began) say("The bot is working.");
    this.run = run;
    this.showStatus();
  }

  // setText shows an open text that is already some way along.
  setText(run) {
    this.closeText();
    this.run = run;
    if (run.text) this.delta(run.text);
    this.showStatus();
  }

  delta(text) {
    this.el.querySelector(".empty")?.remove();
    if (!this.writer) {
      const el = h("div", { class: "md" });
      this.openEl.prepend(h("article", { class: "reply" }, el));
      this.writer = new Streamed(el);
    }
    this.writer.add(text);
    this.showStatus();
  }

  closeText() {
    if (!this.writer) return;
    this.writer.stop();
    this.writer = null;
    this.openEl.querySelector(".reply")?.remove();
  }

  showStatus() {
    const run = this.run;
    this.status.hidden = !run;
    if (!run) return;
    const running = [...this.rows.values()].filter((r) => r.state === "running" && r.began);
    let text = "Working";
    if (run.stopping) text = "Stopping";
    else if (running.length === 1) text = "Running " + (this.labels[running[0].name] ?? running[0].name);
    else if (running.length > 1) text = "Running " + running.length + " tools";
    else if (run.thinking) text = "Thinking";
    else if (run.text || run.known === false) text = "Writing";
    const ms = Date.now() - run.began;
    if (ms > 3000) text += " · " + duration(Math.floor(ms / 1000) * 1000);
    const el = this.status.lastElementChild;
    if (el.textContent !== text) el.textContent = text;
  }

  // pending shows what is on its way.
  // act: edit, discard or now, each a function of the message.
  pending(messages, act) {
    const ids = new Set(messages.map((m) => m.id));
    for (const [id, b] of this.bubbles) {
      if (ids.has(id)) continue;
      b.el.remove();
      this.bubbles.delete(id);
    }
    for (const m of messages) {
      let b = this.bubbles.get(m.id);
      if (!b) {
        this.el.querySelector(".empty")?.remove();
        const note = h("p", { class: "bubble-note" });
        b = { el: h("article", { class: "said waits" }, h("div", { class: "bubble" }, m.text), note), note };
        this.bubbles.set(m.id, b);
        (m.steers ? this.waiting : this.asked).append(b.el);
        this.follow();
      }
      const words = this.noteFor(m);
      b.el.dataset.state = m.state;
      if (b.words === words) continue;
      b.words = words;
      b.note.replaceChildren(words);
      const offers = m.state === "failed" ? ["edit", "discard"] : m.state === "held" ? ["now", "edit", "discard"] : [];
      for (const name of offers) {
        b.note.append(" ", h("button", { type: "button", class: "plain", onclick: () => act[name](m) },
          { edit: "Edit", discard: "Discard", now: "Send now" }[name]));
      }
    }
  }

  noteFor(m) {
    if (m.state === "failed") return "Not sent: " + m.problem;
    if (m.state === "held") return "Will be sent after this answer";
    if (m.state === "sending") return m.problem ? "Not sent yet: " + m.problem : "Sending…";
    return this.run && m.steers ? "Will reach the agent after this step" : "";
  }

  // said settles a message that the transcript is not going to show.
  said(m) {
    this.bubbles.get(m.id)?.el.remove();
    this.bubbles.delete(m.id);
    const el = userMessage({ text: m.text, at: m.at });
    el.dataset.at = m.at;
    this.entries.append(el);
  }

  notice(n) {
    this.el.querySelector(".empty")?.remove();
    let el = this.notices.get(n.id);
    const fresh = !el;
    if (fresh) {
      el = h("article", { class: "notice" });
      this.notices.set(n.id, el);
    }
    const text = h("div", { class: "md" });
    render(text, n.text ?? "");
    el.replaceChildren(text, ...(n.status ? [h("p", { class: "mark" }, n.status)] : []));
    for (const row of n.buttons ?? []) {
      el.append(h("div", { class: "buttons" }, row.map((b) => h("button", {
        type: "button", class: "button " + (b.style ?? ""), onclick: () => this.on.click(n.id, b.data),
      }, b.label))));
    }
    if (!fresh) return;
    // A notice that is older than what is shown stands where it came.
    const came = Date.parse(n.at);
    el.dataset.at = came;
    const all = this.entries.children;
    let i = all.length;
    while (i > 0 && Number(all[i - 1].dataset.at) > came) i--;
    this.entries.insertBefore(el, all[i] ?? null);
    this.pin();
  }

  // outcome shows how a run ended, unless the transcript says so already.
  outcome(error, text) {
    error = unmarked(error);
    text = unmarked(text);
    if (this.told.has(error || text) || this.told.has(text)) return;
    this.entries.append(h("article", { class: "reply" }, error ? card("This did not work", error) : remark(text, true)));
    this.pin();
  }

  tick() {
    if (!this.run) return;
    const now = Date.now();
    for (const row of this.rows.values()) row.tick(now);
    this.showStatus();
  }

  scrolled() {
    const el = this.el, end = el.scrollHeight - el.clientHeight - el.scrollTop;
    if (el.scrollTop < this.lastTop - 2 && end > near) this.following = false;
    else if (end <= near) this.following = true;
    this.lastTop = el.scrollTop;
    this.pill.hidden = this.following || end <= near;
  }

  follow() {
    this.following = true;
    this.pin();
  }

  pin() {
    const el = this.el;
    if (this.following) el.scrollTop = el.scrollHeight;
    this.lastTop = el.scrollTop;
    this.pill.hidden = this.following;
  }
}

// Streamed gathers deltas and draws them once a frame.
class Streamed {
  constructor(el) {
    this.el = el;
    this.writer = new Writer(el);
    this.buffer = "";
  }

  add(text) {
    this.buffer += text;
    // A page that is not seen gets no frames.
    this.timer ??= document.hidden ? setTimeout(() => this.flush(), 200) : requestAnimationFrame(() => this.flush());
  }

  flush() {
    this.timer = undefined;
    if (this.buffer) this.writer.add(this.buffer);
    this.buffer = "";
  }

  stop() {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.timer);
  }
}

function userMessage(e) {
  const el = h("article", { class: "said" }, h("div", { class: "bubble" }, e.text));
  if (e.files?.length) el.append(h("p", { class: "bubble-note" }, e.files.join(", ")));
  if (e.at) el.title = exactTime(e.at);
  return el;
}

function meta(e) {
  const time = when(h("time"), e.at);
  const parts = [e.model, e.usage && (e.usage.input + (e.usage.cacheRead ?? 0) + (e.usage.cacheWrite ?? 0)) + " tokens in, " + e.usage.output + " out"];
  if (parts.some(Boolean)) time.title += "\n" + parts.filter(Boolean).join("\n");
  return time;
}

function divider(text) {
  const label = text ? "Earlier messages are summarised for the agent" : "New start: the agent does not see what is above";
  if (!text) return h("div", { class: "divider", role: "separator" }, h("span", null, label));
  const body = h("div", { class: "md" });
  render(body, text);
  return h("details", { class: "divider" }, h("summary", null, h("span", null, label)), body);
}

// unmarked takes the sign off a text that is drawn with one, or quietly, anyway.
const unmarked = (text) => (text ?? "").replace(/^[⚠⏹]\ufe0f?\s*/u, "").trim();

function remark(text, quiet) {
  const el = h("div", { class: quiet ? "md mark" : "md" });
  render(el, text);
  return el;
}

function card(title, text) {
  const body = h("div", { class: "md" });
  render(body, text);
  return h("div", { class: "card bad", role: "alert" }, icon("warn"), h("div", null, h("p", { class: "card-title" }, title), body));
}
