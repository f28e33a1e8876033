// All sessions, searched and sorted, those that are worked on first.

import { h, when } from "/assets/dom.js";
import { ask } from "/assets/api.js";
import { Table, Repeat, heading, nothing, failed, filter, keepInAddress, fromAddress, usd } from "./table.js";

export { Session as Detail } from "./session.js";

export const at = (id) => "/admin/sessions/" + encodeURIComponent(id);

export default class Sessions {
  constructor(root, page) {
    this.page = page;
    this.q = fromAddress("q");
    this.table = new Table("Sessions", [
      { title: "Session", value: (s) => s.title || s.session, class: "wide", cell: (s) => h("a", { href: at(s.session) }, h("span", { class: "two" }, h("b", null, s.title || "(nothing said yet)"), h("span", { class: "quiet mono" }, s.session))) },
      { title: "State", value: (s) => (s.owner ? 0 : s.waiting ? 1 : 2), cell: (s) => state(s, page) },
      { title: "Channel", value: (s) => s.channel, cell: (s) => s.channel },
      { title: "People", value: (s) => s.people.join(), cell: (s) => s.people.join(", ") || "–" },
      { title: "Last active", value: (s) => -Date.parse(s.last_active), cell: (s) => when(h("time"), s.last_active) },
      { title: "Entries", value: (s) => s.entries, class: "number", cell: (s) => s.entries },
      { title: "Waiting", value: (s) => s.waiting ?? 0, class: "number", cell: (s) => s.waiting || "–" },
      { title: "Cost, 30 days", value: (s) => s.usd ?? 0, class: "number", cell: (s) => usd(s.usd) },
    ], (s) => s.session);
    this.more = h("button", { type: "button", class: "button", hidden: true, onclick: () => this.older() }, "Older sessions");
    this.note = h("div");
    root.append(heading("Sessions", filter("Search names, people, titles", this.q, (q) => this.search(q))), this.table.el, this.note, this.more);
    this.older_ = [];
  }

  show() {
    this.repeat ??= new Repeat((current) => this.read(current), 5000);
  }

  stated() {
    if (this.latest) this.draw();
  }

  search(q) {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      this.q = q.trim();
      this.older_ = [];
      this.next = "";
      keepInAddress({ q: this.q });
      this.repeat.now();
    }, 200);
  }

  async read(current) {
    try {
      const answer = await ask("GET", "/admin/api/sessions?q=" + encodeURIComponent(this.q));
      if (!current()) return;
      this.latest = answer.sessions;
      if (!this.older_.length) this.next = answer.next;
      this.draw();
    } catch (err) {
      if (current()) this.note.replaceChildren(failed(err));
    }
  }

  async older() {
    this.more.disabled = true;
    const q = this.q;
    try {
      const answer = await ask("GET", "/admin/api/sessions?q=" + encodeURIComponent(q) + "&after=" + encodeURIComponent(this.next));
      if (q !== this.q) return;
      this.older_.push(...answer.sessions);
      this.next = answer.next;
      this.draw();
    } catch (err) {
      this.note.replaceChildren(failed(err));
    } finally {
      this.more.disabled = false;
    }
  }

  draw() {
    const ids = new Set(this.latest.map((s) => s.session));
    const all = [...this.latest, ...this.older_.filter((s) => !ids.has(s.session))];
    if (!this.table.sort) all.sort((a, b) => Boolean(b.owner) - Boolean(a.owner)); // stable: the latest stay first
    const is = JSON.stringify(all) + this.page.state?.replicas.length;
    if (is !== this.was) this.table.show(all);
    else for (const t of this.table.body.querySelectorAll("time")) when(t, t.dateTime);
    this.was = is;
    this.table.el.hidden = !all.length;
    this.more.hidden = !this.next;
    this.more.textContent = this.q && this.next ? "Search on in older sessions" : "Older sessions";
    this.note.replaceChildren(...(all.length ? [] : [nothing(this.q ? "No session has that in its name, its people or its title." : "Nobody has written yet. Say something in the chat, and it is here.")]));
  }

  close() {
    this.repeat?.close();
    clearTimeout(this.typing);
  }
}

export function state(s, page) {
  if (s.owner) return h("span", { class: "state", "data-level": "busy" }, h("span", { class: "dot", "aria-hidden": "true" }), page.replica(s.owner) === "this one" ? "working here" : "working on " + page.replica(s.owner));
  if (s.waiting) return h("span", { class: "state", "data-level": "warn" }, h("span", { class: "dot", "aria-hidden": "true" }), "waiting");
  return h("span", { class: "quiet" }, "idle");
}
