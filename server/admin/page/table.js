// Tables that sort, and views that ask again and again while they are seen.

import { h } from "/assets/dom.js";

// Table draws rows. A column is {title, cell(row), value(row), class}: cell gives
// nodes or text, value what it is sorted by; without value it does not sort.
export class Table {
  constructor(label, columns, key, sort = "", down = false) {
    Object.assign(this, { columns, key, sort, down, rows: [] });
    this.body = h("tbody", { role: "rowgroup" });
    // Where there is little room, a row of many columns is drawn as a block. The
    // roles say what it is all the same.
    const stacks = columns.length > 4;
    this.heads = columns.map((c) => h("th", { scope: "col", role: "columnheader", class: c.class },
      c.value ? h("button", { type: "button", class: "sort", onclick: () => this.by(c.title) }, c.title) : c.title));
    this.el = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
      h("table", { class: stacks ? "list-table stacks" : "list-table", role: "table" }, h("caption", { class: "unseen" }, label), h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, this.heads)), this.body));
    this.mark();
  }

  by(title) {
    this.down = this.sort === title ? !this.down : false;
    this.sort = title;
    this.mark();
    this.draw();
  }

  mark() {
    this.columns.forEach((c, i) => {
      if (c.title === this.sort) this.heads[i].setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else this.heads[i].removeAttribute("aria-sort");
    });
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  // also shows rows that never change, and returns the element.
  also(rows) {
    this.show(rows);
    return this.el;
  }

  draw() {
    const column = this.columns.find((c) => c.title === this.sort);
    const rows = [...this.rows];
    if (column) rows.sort((a, b) => order(column.value(a), column.value(b)) * (this.down ? -1 : 1));
    const held = this.body.contains(document.activeElement) ? document.activeElement.closest("tr")?.dataset.key : null;
    this.body.replaceChildren(...rows.map((row) => h("tr", { "data-key": this.key(row), role: "row" },
      this.columns.map((c, i) => h(i ? "td" : "th", { class: c.class, scope: i ? null : "row", role: i ? "cell" : "rowheader", "data-title": c.title }, c.cell(row))))));
    if (held) this.body.querySelector(`[data-key="${CSS.escape(held)}"] a, [data-key="${CSS.escape(held)}"] button`)?.focus({ preventScroll: true });
  }
}

function order(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a ?? "").localeCompare(String(b ?? ""), undefined, { numeric: true });
}

// Repeat calls fn now and every ms while the page is seen, never twice at once.
export class Repeat {
  constructor(fn, ms) {
    this.fn = fn;
    this.ms = ms;
    this.seen = () => document.hidden || this.now();
    document.addEventListener("visibilitychange", this.seen);
    this.now();
  }

  async now() {
    clearTimeout(this.timer);
    const mine = (this.turn = (this.turn ?? 0) + 1);
    try {
      await this.fn(() => !this.closed && mine === this.turn);
    } finally {
      if (!this.closed && mine === this.turn && !document.hidden) this.timer = setTimeout(() => this.now(), this.ms);
    }
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
  }
}

export const heading = (title, ...more) => h("div", { class: "heading" }, h("h1", null, title), ...more);

export const nothing = (text) => h("p", { class: "nothing" }, text);

export function failed(err) {
  return h("p", { class: "card bad", role: "alert" }, err.message);
}

// filter is a labelled search box; changed is called with what is in it.
export function filter(label, value, changed) {
  const input = h("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false" });
  input.value = value;
  input.addEventListener("input", () => changed(input.value));
  return input;
}

export function choice(label, options, value, changed) {
  const select = h("select", { "aria-label": label }, options.map(([v, text]) => h("option", { value: v }, text)));
  select.value = value;
  select.addEventListener("change", () => changed(select.value));
  return select;
}

// keepInAddress puts what is looked for into the address, so that it can be
// shared and survives a reload.
export function keepInAddress(values) {
  const query = new URLSearchParams(location.search);
  for (const [k, v] of Object.entries(values)) v ? query.set(k, v) : query.delete(k);
  history.replaceState(null, "", location.pathname + (query.size ? "?" + query : "") + location.hash);
}

export const fromAddress = (name) => new URLSearchParams(location.search).get(name) ?? "";

export function count(n) {
  return n < 10000 ? String(n ?? 0) : n < 1e6 ? Math.round(n / 1000) + "k" : (n / 1e6).toFixed(1) + "M";
}

export function usd(n) {
  return !n ? "–" : n < 0.0001 ? "< $0.0001" : "$" + (n < 1 ? n.toFixed(4).replace(/0{1,2}$/, "") : n.toFixed(2));
}
