// Calls that wait for a person, in all conversations.

import { h, when, exactTime, say } from "/assets/dom.js";
import { ask } from "/assets/api.js";
import { Repeat, heading, nothing, failed } from "./table.js";
import { at } from "./sessions.js";

export default class Approvals {
  constructor(root, page) {
    this.page = page;
    this.list = h("div", { class: "cards" });
    this.note = h("div");
    this.cards = new Map();
    root.append(heading("Approvals"), this.note, this.list);
  }

  show() {
    this.repeat ??= new Repeat((current) => this.read(current), 2000);
  }

  async read(current) {
    try {
      const { pending } = await ask("GET", "/admin/api/approvals");
      if (!current()) return;
      const ids = new Set(pending.map((p) => p.session + "/" + p.id));
      for (const [id, el] of this.cards) {
        if (ids.has(id)) continue;
        el.remove();
        this.cards.delete(id);
      }
      for (const p of pending) {
        const id = p.session + "/" + p.id;
        if (this.cards.has(id)) continue;
        const el = card(p, () => this.repeat.now());
        this.cards.set(id, el);
        this.list.append(el);
      }
      this.note.replaceChildren(...(pending.length ? [] : [nothing("Nothing waits for a decision.")]));
    } catch (err) {
      if (current()) this.note.replaceChildren(failed(err));
    }
  }

  close() {
    this.repeat?.close();
  }
}

// card asks for one decision; done is called when it was taken, or is not
// wanted any more.
export function card(p, done) {
  const problem = h("div", { role: "alert" });
  const button = (word, text, kind = "") => h("button", { type: "button", class: "button " + kind, onclick: async () => {
    for (const b of buttons) b.disabled = true;
    try {
      await ask("POST", "/admin/api/approvals", { session: p.session, id: p.id, decision: word });
      say(text + ": " + p.label);
      done();
    } catch (err) {
      problem.replaceChildren(failed(err));
      for (const b of buttons) b.disabled = false;
      if (err.status === 404) done();
    }
  } }, text);
  const buttons = [button("approve", "Approve", "primary"), button("deny", "Deny", "danger"), ...(p.always ? [button("always", "Always allow this")] : [])];
  return h("article", { class: "notice approval", "data-id": p.id },
    h("h2", null, p.label || p.tool), p.reason ? h("p", null, "Asks because: " + p.reason) : null, h("pre", { tabindex: "0", "aria-label": "What would happen" }, p.show),
    h("p", { class: "quiet" }, "For " + p.sender + (p.where ? ", in " + p.where : "") + ", in ", h("a", { href: at(p.session) }, p.session), ", asked ",
      when(h("time"), p.created), ", until " + exactTime(p.expires)),
    p.always ? h("p", { class: "quiet" }, "“Always” allows exactly this in this conversation from now on.") : null,
    h("div", { class: "buttons" }, buttons), problem);
}
