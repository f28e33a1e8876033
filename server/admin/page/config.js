// The configuration as it holds, with where each value came from.

import { h } from "/assets/dom.js";
import { ask } from "/assets/api.js";
import { Table, heading, nothing, failed, filter, choice, keepInAddress, fromAddress } from "./table.js";

export default class Config {
  constructor(root) {
    this.q = fromAddress("q");
    this.only = fromAddress("only");
    this.table = new Table("Configuration", [
      { title: "Key", value: (s) => s.key, cell: (s) => h("span", { class: "mono" }, s.key) },
      { title: "Value", value: (s) => s.value, class: "wide", cell: (s) => h("span", { class: s.secret ? "mono quiet" : "mono" }, s.value || "not set") },
      { title: "From", value: (s) => s.from ?? "", cell: (s) => (s.default ? h("span", { class: "quiet" }, "default") : s.from) },
    ], (s) => s.key);
    this.note = h("div");
    root.append(heading("Configuration", filter("Search keys and values", this.q, (q) => this.change({ q })),
      choice("Which", [["", "all keys"], ["set", "only what is set"]], this.only, (only) => this.change({ only }))),
    h("p", { class: "quiet" }, "As this replica loaded it. Secrets are not shown, and it can’t be changed here: edit the file."), this.table.el, this.note);
  }

  async show() {
    try {
      this.settings = (await ask("GET", "/admin/api/config")).settings;
      this.draw();
    } catch (err) {
      this.note.replaceChildren(failed(err));
    }
  }

  change(what) {
    Object.assign(this, what);
    keepInAddress({ q: this.q, only: this.only });
    this.draw();
  }

  draw() {
    const words = this.q.toLowerCase().split(/\s+/).filter(Boolean);
    const fit = (this.settings ?? []).filter((s) => (!this.only || !s.default) && words.every((w) => (s.key + " " + s.value).toLowerCase().includes(w)));
    this.table.show(fit);
    this.note.replaceChildren(...(fit.length ? [] : [nothing("No key has that.")]));
  }

  close() {}
}
