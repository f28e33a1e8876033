// A list of something that belongs to people, read in parts, of which an owner
// may take single ones away.

import { h, say } from "/assets/dom.js";
import { ask } from "/assets/api.js";
import { Table, heading, nothing, failed, filter, keepInAddress, fromAddress } from "./table.js";

export class PeopleList {
  // what: {title, address, empty, rows(answer), columns, key(row), question(row), path(row), action}
  constructor(root, page, what) {
    Object.assign(this, { page, what, rows: [], next: "", q: fromAddress("q") });
    this.table = new Table(what.title, [...what.columns, { title: what.action, class: "number", cell: (row) => h("button", { type: "button", class: "plain", onclick: () => this.remove(row), "aria-label": what.question(row)[0] }, what.action) }], what.key);
    this.note = h("div");
    this.problem = h("div", { role: "alert" });
    this.more = h("button", { type: "button", class: "button", hidden: true, onclick: () => this.read() }, "More");
    root.append(heading(what.title, filter("Search", this.q, (q) => {
      this.q = q;
      keepInAddress({ q });
      this.draw();
    })), this.problem, this.table.el, this.note, this.more);
  }

  show() {
    this.rows = [];
    this.next = "";
    this.read();
  }

  async read() {
    try {
      const answer = await ask("GET", this.what.address + (this.next ? "?after=" + encodeURIComponent(this.next) : ""));
      this.rows.push(...this.what.rows(answer));
      this.next = answer.next;
      this.draw();
    } catch (err) {
      this.note.replaceChildren(failed(err));
    }
  }

  draw() {
    const words = this.q.toLowerCase().split(/\s+/).filter(Boolean);
    const fit = this.rows.filter((r) => words.every((w) => JSON.stringify(r).toLowerCase().includes(w)));
    this.table.show(fit);
    this.table.el.hidden = !fit.length;
    this.more.hidden = !this.next;
    this.note.replaceChildren(...(fit.length ? [] : [nothing(this.rows.length ? "Nothing here has that." : this.what.empty)]));
  }

  async remove(row) {
    const [title, text, yes] = this.what.question(row);
    if (!(await this.page.confirm(title, text, yes))) return;
    this.problem.replaceChildren();
    try {
      await ask("DELETE", this.what.path(row));
      say("Done.");
      this.show();
    } catch (err) {
      this.problem.replaceChildren(failed(err));
    }
  }

  close() {}
}

export const part = encodeURIComponent;
