// The tools, visible and hidden with the reason, as somebody sees them.

import { h } from "/assets/dom.js";
import { ask } from "/assets/api.js";
import { Table, heading, nothing, failed, filter, choice, keepInAddress, fromAddress } from "./table.js";

const people = [["", "an owner"], ["guest=1", "a guest"]];
const places = [["", "in a direct conversation"], ["room=1", "in a room"]];

export default class Tools {
  constructor(root) {
    this.who = fromAddress("who");
    this.where = fromAddress("where");
    this.channel = fromAddress("channel");
    this.q = fromAddress("q");
    this.table = new Table("Tools", [
      { title: "Tool", value: (t) => t.name, cell: (t) => h("span", { class: "mono" }, t.name) },
      { title: "State", value: (t) => (t.visible ? 0 : 1), cell: (t) => h("span", { class: "state", "data-level": t.visible ? "good" : "" }, h("span", { class: "dot", "aria-hidden": "true" }), t.visible ? "visible" : "hidden") },
      { title: "Source", value: (t) => t.source, cell: (t) => t.source },
      { title: "Instead of", value: (t) => (t.overrides ?? []).join(), cell: (t) => (t.overrides ?? []).join(", ") || "–" },
      { title: "Asks for approval", value: (t) => t.approval, cell: (t) => t.approval || "–" },
      { title: "Hidden because", value: (t) => (t.hidden ?? []).join(), class: "wide", cell: (t) => (t.hidden ?? []).join("; ") || "–" },
    ], (t) => t.name);
    this.note = h("div");
    root.append(heading("Tools", filter("Search tools", this.q, (q) => {
      this.q = q;
      this.keep();
      this.draw();
    })), h("p", { class: "choices" }, "As ", choice("Who", people, this.who, (v) => this.change({ who: v })), " sees them ",
      choice("Where", places, this.where, (v) => this.change({ where: v })), " on ",
      h("input", { type: "text", "aria-label": "Channel or channel:room", placeholder: "any channel", value: this.channel, onchange: (e) => this.change({ channel: e.target.value.trim() }) })),
    this.table.el, this.note);
  }

  show() {
    this.read();
  }

  change(what) {
    Object.assign(this, what);
    this.keep();
    this.read();
  }

  keep() {
    keepInAddress({ who: this.who, where: this.where, channel: this.channel, q: this.q });
  }

  async read() {
    try {
      this.tools = (await ask("GET", "/admin/api/tools?" + [this.who, this.where, this.channel && "channel=" + encodeURIComponent(this.channel)].filter(Boolean).join("&"))).tools;
      this.draw();
    } catch (err) {
      this.note.replaceChildren(failed(err));
    }
  }

  draw() {
    const words = this.q.toLowerCase().split(/\s+/).filter(Boolean);
    const fit = (this.tools ?? []).filter((t) => words.every((w) => JSON.stringify(t).toLowerCase().includes(w)));
    this.table.show(fit);
    this.note.replaceChildren(...(fit.length ? [] : [nothing(this.tools?.length ? "No tool has that." : "There are no tools: see tools.enabled in the configuration.")]));
  }

  close() {}
}
