// One conversation: what is certain (the transcript), what is seen while it
// happens (live events, which are hints), and what is on its way (the outbox).
// It tells a view, and knows nothing of the page.

import { api, Problem } from "./api.js";
import { newID } from "./dom.js";
import { Stream } from "./stream.js";
import * as outbox from "./outbox.js";

const window_ = 100; // entries read at once
const quietAfter = 8000; // a run that says nothing for so long is asked after

const isCommand = (m) => /^\s*\/\w/.test(m.text);

export class Conversation {
  // view: loading, show(entries, more), append(entries), prepend(entries, more),
  // fail(problem), run(run), text(run), delta(text), tool(call), notice(n),
  // outcome(error), pending(messages), link(state), changed().
  constructor(id, view, fresh) {
    this.id = id;
    this.view = view;
    this.first = 0; // position of the oldest entry that is shown
    this.next = 0; // position after the newest
    this.run = null;
    this.pending = outbox.load(id).map((m) => ({ ...m, sent: m.at }));
    this.queue = []; // events that came before the transcript
    this.seen = new Set(); // ids of people's messages that are shown
    this.ready = false;
    this.stream = new Stream(id, {
      snapshot: (s) => this.event(() => this.snapshot(s)),
      live: (e) => this.event(() => this.live(e)),
      notice: (n) => this.event(() => this.notice(n)),
      state: (state) => this.linked(state),
    });
    this.load(fresh);
  }

  close() {
    this.closed = true;
    this.stream.close();
    clearTimeout(this.asking);
    clearTimeout(this.again);
  }

  async load(fresh) {
    if (fresh) this.show({ entries: [], tail: 0 });
    else {
      this.view.loading();
      try {
        this.show(await api.tail(this.id, window_));
      } catch (err) {
        if (this.closed) return;
        this.view.fail(err);
        this.again = setTimeout(() => this.load(), 3000);
        return;
      }
    }
    for (const m of this.pending) if (m.state === "sending") this.post(m);
  }

  show(answer) {
    if (this.closed) return;
    this.first = answer.entries[0]?.position ?? answer.tail;
    this.next = answer.tail;
    this.view.show(answer.entries, this.first > 0);
    this.settlePending(answer.entries);
    this.idle(answer);
    this.ready = true;
    for (const fn of this.queue.splice(0)) fn();
    this.view.pending(this.pending);
  }

  event(fn) {
    if (this.ready) fn();
    else this.queue.push(fn);
  }

  async older() {
    if (this.first <= 0 || this.reading) return;
    this.reading = true;
    try {
      const answer = await api.before(this.id, this.first, window_);
      if (this.closed) return;
      this.first = answer.entries[0]?.position ?? 0;
      this.view.prepend(answer.entries, this.first > 0);
    } catch { /* the next scroll tries again */ } finally {
      this.reading = false;
    }
  }

  // trimmed notes that the view let go of old entries.
  trimmed(first) {
    this.first = first;
  }

  // sync reads what the transcript has beyond what is shown.
  async sync() {
    if (this.syncing) {
      this.dirty = true;
      return this.syncing;
    }
    // Whoever else asks meanwhile waits for the same; nobody sees it fail.
    this.syncing = this.readOn().catch(() => this.askAgain());
    await this.syncing;
    this.syncing = null;
    if (this.dirty && !this.closed) {
      this.dirty = false;
      return this.sync();
    }
  }

  askAgain() {
    clearTimeout(this.asking);
    if (!this.closed) this.asking = setTimeout(() => this.sync(), 3000);
  }

  async readOn() {
    for (;;) {
      const answer = await api.from(this.id, this.next);
      if (this.closed) return;
      for (const entry of answer.entries) {
        // Deltas of a message that is read before it was heard are late.
        if (entry.kind === "assistant" && entry.position >= this.next && this.run) this.run.late = entry.id;
        this.settle(entry);
      }
      if (this.next < answer.tail && answer.entries.length) continue;
      this.next = Math.max(this.next, answer.tail);
      this.idle(answer);
      return;
    }
  }

  // idle compares what is shown with whether anybody works on the session.
  idle(answer) {
    const busy = answer.running || answer.waiting > 0;
    if (busy && !this.run) this.begin({ id: "", known: false });
    if (!busy && this.run && Date.now() - this.heard > quietAfter / 2) this.end();
    if (!busy) {
      this.giveUpWaiting();
      for (const m of this.pending) if (m.state === "held") this.release(m);
    }
    this.askLater();
  }

  // settle shows an entry that the transcript has for certain.
  settle(entry) {
    if (entry.position < this.next) {
      if (entry.kind === "assistant") this.resetText();
      return;
    }
    this.next = entry.position + 1;
    if (entry.kind === "summary" || entry.kind === "note") this.settleCommands();
    this.settlePending([entry]);
    this.view.append([entry]);
    if (entry.kind === "assistant") this.resetText();
  }

  // settleCommands shows the commands on their way as said: what comes now
  // answers them, and they are never in the transcript.
  settleCommands() {
    const commands = this.pending.filter((m) => isCommand(m) && (m.state === "sending" || m.state === "sent"));
    if (!commands.length) return;
    this.pending = this.pending.filter((m) => !commands.includes(m));
    for (const m of commands) this.view.said(m);
    this.keep();
  }

  resetText() {
    if (!this.run) return;
    Object.assign(this.run, { text: "", end: 0, known: true, thinking: false });
    this.view.text(this.run);
  }

  // settlePending takes out of the outbox what entries show.
  settlePending(entries) {
    let found = false;
    for (const e of entries) {
      if (e.kind !== "user") continue;
      this.seen.add(e.id);
      const i = this.pending.findIndex((m) => this.isSame(m, e));
      if (i < 0) continue;
      this.pending.splice(i, 1);
      found = true;
    }
    if (found) this.keep();
  }

  // isSame compares a message on its way with one of the transcript: by its
  // event, by the transcript's id, or, where neither is known, by its words.
  isSame(m, e) {
    if (e.event_id === "web:" + this.id + ":" + m.id) return true;
    if (m.entry) return m.entry === e.id;
    return !e.event_id && m.state !== "failed" && m.text.trim() === e.text.trim() && new Date(e.at) > m.at - 60000;
  }

  // accepted hears of a message that arrived: one of this page, or of another
  // that shows the same conversation.
  accepted(e) {
    if (!e || e.kind !== "user" || this.seen.has(e.id)) return;
    const own = this.pending.find((m) => !m.entry && m.state !== "failed" && m.text.trim() === e.text.trim());
    if (own) own.entry = e.id;
    else {
      const now = Date.now();
      this.pending.push({ id: "of-" + e.id, entry: e.id, text: e.text, at: now, sent: now, state: "sent", foreign: true });
      this.view.pending(this.pending);
    }
    this.askLater();
  }

  // giveUpWaiting lets go of messages that were taken but are not going to be
  // in the transcript: commands, and what the bot refused.
  giveUpWaiting() {
    const gone = this.pending.filter((m) => m.state === "sent" && Date.now() - m.sent > 3000);
    if (!gone.length) return;
    this.pending = this.pending.filter((m) => !gone.includes(m));
    for (const m of gone) this.view.said(m);
    this.keep();
  }

  keep() {
    this.store();
    this.view.pending(this.pending);
  }

  store() {
    outbox.save(this.id, this.pending.filter((m) => !m.foreign));
  }

  snapshot(s) {
    if (s.run) {
      this.begin({ ...s.run, began: new Date(s.run.began) });
      for (const call of s.run.calls) this.view.tool(call);
    } else if (this.run?.id) this.end();
    for (const n of s.notices) this.notice(n);
    this.sync();
  }

  notice(n) {
    this.settleCommands();
    this.view.notice(n);
  }

  begin(run) {
    this.run = { id: "", began: new Date(), seq: 0, text: "", end: 0, known: true, ...run };
    this.heard = Date.now();
    this.view.run(this.run);
    this.view.text(this.run);
    this.askLater();
  }

  end() {
    this.run = null;
    clearTimeout(this.asking);
    this.view.run(null);
    this.view.pending(this.pending);
    this.view.changed();
  }

  // askLater asks after a run from which nothing is heard: hints may be lost.
  askLater() {
    clearTimeout(this.asking);
    if (this.closed || !(this.run || this.pending.some((m) => m.state === "sent"))) return;
    this.asking = setTimeout(() => this.sync(), this.run?.id ? quietAfter : 2000);
  }

  live(e) {
    this.heard = Date.now();
    switch (e.type) {
      case "run_end":
        this.ended(e);
        return;
      case "reset":
        this.sync();
        return;
      case "accepted":
        this.accepted(e.entry);
        return;
      case "notice":
        this.notice({ id: "live-" + e.run + "-" + e.seq, at: e.at, text: e.text });
        return;
    }
    if (!this.run || this.run.id !== e.run) this.begin({ id: e.run, began: new Date(e.at), seq: e.seq - 1, known: e.type === "run_start" || e.offset === undefined });
    // The transcript has more than is heard of: messages that the agent took in.
    const waits = this.pending.some((m) => m.state === "sent");
    const took = e.type === "run_start" || (waits && (e.type === "thinking" || (e.type === "text" && !e.offset)));
    const missed = took || e.seq > this.run.seq + 1;
    this.run.seq = Math.max(this.run.seq, e.seq);
    this.askLater();
    switch (e.type) {
      case "text":
        this.delta(e);
        break;
      case "thinking":
        this.run.thinking = true;
        break;
      case "text_reset":
        this.resetText();
        break;
      case "message":
        this.message(e);
        break;
      case "tool_start":
      case "tool_update":
      case "tool_end":
        this.view.tool({ ...e.call, done: e.type === "tool_end", began: e.type === "tool_start" ? e.at : undefined });
        break;
    }
    this.view.run(this.run);
    if (missed) this.sync();
  }

  delta(e) {
    const run = this.run, offset = e.offset ?? 0;
    if (run.late) return;
    if (offset === 0 && run.end > 0 && e.end > run.end) this.resetText();
    if (offset !== run.end) {
      if (e.end > run.end && run.known) {
        run.known = false; // a part is missing: the finished message has it all
        run.text = "";
        this.view.text(run);
      }
      return;
    }
    if (!run.known && offset > 0) return;
    run.known = true;
    run.thinking = false;
    run.text += e.text;
    run.end = e.end;
    this.view.delta(e.text);
  }

  message(e) {
    if (e.entry?.kind === "assistant") this.run.late = "";
    const position = (e.position ?? 0) - 1;
    if (!e.entry || position > this.next || position < 0) {
      this.sync();
      return;
    }
    this.settle({ ...e.entry, position });
  }

  async ended(e) {
    this.end();
    for (const m of this.pending) if (m.state === "held") this.release(m);
    await this.sync();
    if (!this.closed && !this.run && (e.error || e.text)) this.view.outcome(e.error, e.text);
  }

  // send puts a message on its way: mode is steer, after (this answer), or
  // interrupt.
  async send(text, mode) {
    const m = { id: newID(), text, at: Date.now(), state: mode === "after" ? "held" : "sending", steers: this.run !== null };
    this.pending.push(m);
    this.keep();
    if (mode === "after") return;
    if (mode === "interrupt") await api.stop(this.id).catch(() => {}); // then it steers
    this.post(m);
  }

  // release sends what was held back.
  release(m) {
    m.state = "sending";
    m.at = Date.now();
    m.steers = this.run !== null;
    this.keep();
    this.post(m);
  }

  async post(m) {
    m.tries = (m.tries ?? 0) + 1;
    try {
      await api.send(this.id, m.id, m.text);
      m.state = "sent";
      m.sent = Date.now();
      if (isCommand(m)) {
        if (!this.closed) this.settleCommands();
        setTimeout(() => this.closed || this.sync(), 700); // it may have changed the transcript
      }
    } catch (err) {
      if (!(err instanceof Problem) || !err.passing) {
        m.state = "failed";
        m.problem = err.message;
      } else {
        m.state = "sending";
        m.problem = err.status === 0 ? "waiting for the connection" : err.message;
        if (!this.closed) this.again = setTimeout(() => this.pending.includes(m) && this.post(m), Math.min(500 * 2 ** m.tries, 10000));
      }
    }
    this.store();
    if (this.closed) return;
    this.view.pending(this.pending);
    this.view.changed();
    this.askLater();
  }

  // take returns a message that was not sent to whoever wants to change it.
  take(m) {
    this.pending = this.pending.filter((other) => other !== m);
    this.keep();
    return m.text;
  }

  linked(state) {
    this.view.link(state);
    if (state !== "open") return;
    for (const m of this.pending) if (m.state === "sending" && m.tries > 1) this.post(m);
  }

  async stop() {
    await api.stop(this.id);
  }
}
