// One session: its transcript with times, tokens and costs, a picture of where
// the time went, and what happens now. Only a window of a long transcript is
// ever drawn.

import { h, icon, when, say } from "/assets/dom.js";
import { ask } from "/assets/api.js";
import { at, state } from "./sessions.js";
import { count, usd, failed, nothing, filter } from "./table.js";
import { Entry, Open } from "./entries.js";
import { timeline } from "./timeline.js";
import { Tail } from "./tail.js";
import { card } from "./approvals.js";

const page_ = 100; // entries read at once
const most = 300; // entries drawn at once

export class Session {
  constructor(root, page) {
    this.page = page;
    this.head = h("header", { class: "session-head" });
    this.picture = h("figure", { class: "timeline" });
    this.top = h("div", { class: "edge" });
    this.list = h("div", { class: "entry-list", role: "feed", "aria-label": "Transcript" });
    this.open = new Open();
    this.asks = h("div", { class: "cards" });
    this.bottom = h("div", { class: "edge" });
    this.pill = h("button", { type: "button", class: "latest-pill", hidden: true, onclick: () => this.latest() }, icon("down"), "Latest");
    this.root = root;
    root.append(this.head, this.picture, this.top, this.list, this.open.el, this.asks, this.bottom, this.pill);
    this.entries = []; // drawn, in order
    this.following = true;
    this.scrolled = () => {
      this.following = root.scrollHeight - root.clientHeight - root.scrollTop < 80;
      this.mark();
    };
    root.addEventListener("scroll", this.scrolled, { passive: true });
    this.edges = new IntersectionObserver((seen) => seen.forEach((s) => s.isIntersecting && (s.target === this.top ? this.earlier() : this.later())), { root, rootMargin: "600px 0px" });
  }

  async show(id) {
    if (this.id === id) return this.jump();
    this.id = id;
    this.api = "/admin/api/sessions/" + encodeURIComponent(id);
    this.page.title(id);
    this.head.replaceChildren(h("p", { class: "quiet" }, "Loading…"));
    const wanted = /^#e-(\d+)$/.exec(location.hash)?.[1];
    try {
      const answer = await ask("GET", this.api + "?limit=" + page_ + (wanted ? "&from=" + Math.max(0, wanted - page_ / 2) : ""));
      if (this.closed) return;
      this.may = answer.may;
      this.described(answer.session);
      this.fill(answer.entries);
      if (wanted) this.jump();
      else this.end();
      this.follow();
      this.total();
      this.edges.observe(this.top);
      this.edges.observe(this.bottom);
      if (this.page.state) this.stated(this.page.state);
    } catch (err) {
      if (!this.closed) this.head.replaceChildren(h("p", null, h("a", { href: "/admin/sessions" }, "All sessions")), failed(err));
    }
  }

  // described draws what the session is.
  described(s) {
    const was = this.session;
    this.session = s;
    this.tail = s.entries;
    this.page.title(s.title || s.session);
    if (!this.facts) this.build();
    this.titleEl.textContent = s.title || s.session;
    this.facts.replaceChildren(fact("Session", h("span", { class: "mono" }, s.session)), fact("People", s.people.join(", ") || "nobody"),
      fact("State", state(s, this.page)), fact("Last active", when(h("time"), s.last_active)), fact("Entries", s.entries), fact("Waiting", s.waiting ?? 0), ...(this.sums ?? []));
    this.stopButton.disabled = !(s.owner || s.waiting);
    if (s.owner) this.open.work();
    if (was?.owner && !s.owner) {
      this.open.clear();
      this.total();
    }
  }

  build() {
    this.titleEl = h("h1");
    this.facts = h("dl", { class: "facts" });
    this.link = h("span", { class: "state quiet" });
    this.stopButton = h("button", { type: "button", class: "button", onclick: () => this.stop() }, "Stop");
    this.problem = h("div", { role: "alert" });
    this.found = h("div", { class: "found" });
    const find = filter("Find in this transcript", "", (q) => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.find(q.trim()), 250);
    });
    const file = (format, text) => h("a", { class: "button", href: this.api + "/export?format=" + format, download: "" }, text);
    this.head.replaceChildren(
      h("p", { class: "crumb" }, h("a", { href: "/admin/sessions" }, "All sessions"), this.link), this.titleEl, this.facts,
      h("div", { class: "buttons" }, this.stopButton, file("jsonl", "Export JSON Lines"), file("markdown", "Export Markdown"),
        this.session.channel === "web" ? h("a", { class: "button", href: "/c/" + this.session.session.slice(4) }, "Open the chat") : null,
        h("button", { type: "button", class: "button danger", onclick: () => this.remove() }, "Delete…"), find), this.problem, this.found);
  }

  // find shows what of the whole transcript has the words.
  async find(q) {
    this.q = q;
    if (!q) return this.found.replaceChildren();
    try {
      const { found, more } = await ask("GET", this.api + "/find?q=" + encodeURIComponent(q));
      if (this.closed || this.q !== q) return;
      this.found.replaceChildren(found.length ? h("ol", null, found.map((f) => h("li", null, h("a", { href: "#e-" + f.position }, "#" + f.position), " ", f.passage))) : nothing("Nothing in this transcript has that."),
        ...(more ? [h("p", { class: "quiet" }, "These are the latest; there are more.")] : []));
    } catch (err) {
      if (this.q === q) this.found.replaceChildren(failed(err));
    }
  }

  async total() {
    try {
      const t = await ask("GET", this.api + "/totals");
      if (this.closed) return;
      const u = t.usage;
      this.sums = [fact("Model calls", t.turns), fact("Tool calls", t.tools + (t.failed ? ", " + t.failed + " failed" : "")),
        fact("Tokens", count(u.input + (u.cacheWrite ?? 0)) + " in, " + count(u.cacheRead ?? 0) + " cached, " + count(u.output) + " out"),
        fact("Cost", usd((u.cost ?? 0) / 1e9)), fact("Models", Object.keys(t.models).filter(Boolean).join(", ") || "–")];
      this.described(this.session);
    } catch { /* the transcript is what matters; it is asked again after the next run */ }
  }

  // stated looks whether a call of this session waits for a person.
  async stated(state) {
    if (this.session?.owner) this.described(this.session); // the replica's name may be known by now
    if (!state.pending && !this.asks.childElementCount) return;
    const { pending } = await ask("GET", "/admin/api/approvals").catch(() => ({ pending: null }));
    if (!pending || this.closed) return;
    const mine = pending.filter((p) => p.session === this.id);
    for (const el of [...this.asks.children]) if (!mine.some((p) => p.id === el.dataset.id)) el.remove();
    for (const p of mine) {
      if (this.asks.querySelector(`[data-id="${CSS.escape(p.id)}"]`)) continue;
      this.asks.append(card(p, () => this.stated(state)));
      if (this.following) this.end();
    }
  }

  // fill draws a window of the transcript in place of another.
  fill(entries) {
    this.entries = [];
    this.rows = new Map();
    this.list.replaceChildren();
    this.add(entries, false);
  }

  get first() {
    return this.entries[0]?.position ?? this.tail;
  }

  get next() {
    return this.entries.length ? this.entries.at(-1).position + 1 : this.tail;
  }

  get atEnd() {
    return this.next >= this.tail;
  }

  add(entries, before) {
    const made = entries.map((e) => new Entry(e, (position) => ask("GET", this.api + "/entries/" + position)));
    if (before) {
      this.entries.unshift(...made);
      this.list.prepend(...made.map((e) => e.el));
    } else {
      this.entries.push(...made);
      this.list.append(...made.map((e) => e.el));
    }
    // A result is shown with its call, if that is drawn.
    for (const e of made) for (const [call, row] of e.rows) this.rows.set(call, row);
    for (const e of before ? this.entries : made) e.settle(this.rows);
    this.empty();
    this.draw();
  }

  empty() {
    if (!this.entries.length && !this.tail) this.list.replaceChildren(nothing("Nothing is in this transcript yet."));
    else this.list.querySelector(".nothing")?.remove();
    this.top.textContent = this.first > 0 ? "Earlier entries…" : "";
    this.mark();
  }

  // drop lets go of entries at one end, so that the page stays small.
  drop(early) {
    while (this.entries.length > most) {
      const e = early ? this.entries.shift() : this.entries.pop();
      for (const call of e.rows.keys()) this.rows.delete(call);
      e.el.remove();
    }
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => timeline(this.picture, this.entries.map((e) => e.data)));
  }

  async read(query, before) {
    if (this.reading) return;
    this.reading = true;
    try {
      const answer = await ask("GET", this.api + "?limit=" + page_ + query);
      if (this.closed) return;
      const known = before ? answer.entries.filter((e) => e.position < this.first) : answer.entries.filter((e) => e.position >= this.next);
      const height = this.root.scrollHeight, top = this.root.scrollTop;
      this.add(known, before);
      if (before) {
        this.root.scrollTop = top + this.root.scrollHeight - height;
        this.drop(false);
      } else if (this.entries.length > most) {
        const tall = this.root.scrollHeight;
        this.drop(true);
        this.root.scrollTop -= tall - this.root.scrollHeight;
      }
      this.empty();
    } catch { /* scrolling tries again */ } finally {
      this.reading = false;
      for (const edge of [this.top, this.bottom]) {
        this.edges.unobserve(edge); // what is still in sight is seen again
        if (!this.closed) this.edges.observe(edge);
      }
    }
  }

  earlier() {
    if (this.first > 0) this.read("&before=" + this.first, true);
  }

  later() {
    if (!this.atEnd) this.read("&from=" + this.next, false);
  }

  async latest() {
    if (!this.atEnd) {
      const answer = await ask("GET", this.api + "?limit=" + page_).catch(() => null);
      if (!answer || this.closed) return;
      this.described(answer.session);
      this.fill(answer.entries);
    }
    this.end();
    this.root.focus({ preventScroll: true });
  }

  end() {
    this.following = true;
    this.root.scrollTop = this.root.scrollHeight;
    this.mark();
  }

  mark() {
    this.pill.hidden = this.following && this.atEnd;
  }

  async jump() {
    const position = Number(/^#e-(\d+)$/.exec(location.hash)?.[1] ?? -1);
    if (position < 0 || position >= this.tail) return;
    if (!document.getElementById("e-" + position)) {
      const answer = await ask("GET", this.api + "?limit=" + page_ + "&from=" + Math.max(0, position - page_ / 2)).catch(() => null);
      if (!answer || this.closed) return;
      this.fill(answer.entries);
    }
    let el = document.getElementById("e-" + position);
    if (el?.classList.contains("settled")) el = this.rows.get(this.entries.find((e) => e.position === position).data.call)?.el.closest(".entry");
    if (!el) return;
    this.following = false;
    el.scrollIntoView({ block: "center" });
    el.focus({ preventScroll: true });
  }

  // follow hears of what is appended, and of what happens before it is.
  follow() {
    this.events = new Tail(this.api + "/events", this.tail, {
      entries: (e) => this.appended(e),
      live: (e) => {
        this.open.live(e);
        if (this.following) this.root.scrollTop = this.root.scrollHeight;
      },
      gone: () => this.gone(),
      state: (s) => {
        this.link.textContent = { open: "Live", connecting: "Connecting…", offline: "Offline; reconnecting…" }[s];
        this.link.dataset.level = { open: "good", connecting: "warn", offline: "bad" }[s];
      },
    });
  }

  appended({ entries, session }) {
    const wasAtEnd = this.atEnd;
    const fresh = entries.filter((e) => e.position >= this.next);
    this.described(session);
    this.open.settle(fresh);
    // Somebody who reads further up, or whose window is full, is not disturbed.
    if (wasAtEnd && (this.following || this.entries.length + fresh.length <= most)) {
      this.add(fresh, false);
      if (this.following) this.drop(true);
    }
    this.empty();
    if (this.following && this.atEnd) this.end();
  }

  gone() {
    this.events?.close();
    this.edges.disconnect();
    this.list.replaceChildren();
    this.open.clear();
    this.asks.replaceChildren();
    this.picture.replaceChildren();
    this.head.replaceChildren(h("p", { class: "crumb" }, h("a", { href: "/admin/sessions" }, "All sessions")), nothing("This session was deleted."));
  }

  async stop() {
    this.stopButton.disabled = true;
    await this.act(() => ask("POST", this.api + "/stop", {}), "Stopping.");
  }

  async remove() {
    const s = this.session;
    const sure = await this.page.confirm("Delete " + s.session + "?",
      "Its " + s.entries + " entries and what waits in it are deleted for good, for everybody. Files in the workspace stay.", "Delete " + s.session);
    if (!sure) return;
    if (await this.act(() => ask("DELETE", this.api), s.session + " was deleted.")) this.page.go("/admin/sessions");
  }

  async act(fn, done) {
    this.problem.replaceChildren();
    try {
      await fn();
      say(done);
      return true;
    } catch (err) {
      this.problem.replaceChildren(failed(err));
      this.described(this.session);
      return false;
    }
  }

  close() {
    this.closed = true;
    clearTimeout(this.typing);
    this.events?.close();
    this.edges.disconnect();
    cancelAnimationFrame(this.frame);
    this.root.removeEventListener("scroll", this.scrolled);
  }
}

const fact = (name, value) => h("div", null, h("dt", null, name), h("dd", null, value));
