// The list of conversations: a column, or a drawer where there is no room.

import { $, h, when } from "./dom.js";
import { api } from "./api.js";

export class Sidebar {
  constructor(open) {
    this.open = open; // open(id, event): a conversation was chosen
    this.items = new Map();
    this.current = "";
    this.next = "";
    $("search").addEventListener("input", () => this.filter());
    $("search").addEventListener("keydown", (e) => {
      if (e.key === "Escape" && $("search").value) {
        e.stopPropagation();
        $("search").value = "";
        this.filter();
      }
      if (e.key === "ArrowDown" || e.key === "Enter") {
        const first = $("list").querySelector("li:not([hidden]) a");
        if (!first) return;
        e.preventDefault();
        if (e.key === "Enter") first.click();
        else first.focus();
      }
    });
    $("list").addEventListener("keydown", (e) => this.arrows(e));
    $("more").addEventListener("click", () => this.older());
    $("menu").addEventListener("click", () => this.drawer(!this.isOpen));
    $("scrim").addEventListener("click", () => this.drawer(false));
    addEventListener("keydown", (e) => {
      if (e.key === "Escape" && this.isOpen) this.drawer(false);
    });
    this.narrow = matchMedia("(max-width: 820px)");
    this.narrow.addEventListener("change", () => this.drawer(false));
    this.drawer(false);
    setInterval(() => this.times(), 60000);
  }

  get isOpen() {
    return $("side").classList.contains("shown");
  }

  // drawer opens or closes the list where it covers the page.
  drawer(shown) {
    const was = this.isOpen;
    shown = shown && this.narrow.matches;
    $("side").classList.toggle("shown", shown);
    $("side").inert = this.narrow.matches && !shown;
    $("scrim").hidden = !shown;
    $("menu").setAttribute("aria-expanded", String(shown));
    if (shown) $("new").focus();
    else if (was && this.narrow.matches) $("menu").focus();
  }

  arrows(e) {
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    const links = [...$("list").querySelectorAll("li:not([hidden]) a")];
    const i = links.indexOf(document.activeElement) + (e.key === "ArrowDown" ? 1 : -1);
    e.preventDefault();
    if (i < 0) $("search").focus();
    else links[i]?.focus();
  }

  // refresh reads the latest conversations again; soon, and once for many asks.
  refresh(soon = 150) {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      try {
        const answer = await api.conversations();
        if (!this.paged) this.next = answer.next ?? "";
        this.show(answer.conversations);
      } catch { /* the list stays as it is; the stream shows that the bot is away */ }
    }, soon);
  }

  async older() {
    this.paged = true;
    try {
      const answer = await api.conversations(this.next);
      this.next = answer.next ?? "";
      this.show(answer.conversations);
    } catch { /* the button is still there */ }
  }

  show(list) {
    for (const c of list) {
      let item = this.items.get(c.id);
      if (!item) {
        item = this.item(c.id);
        this.items.set(c.id, item);
      }
      item.at = new Date(c.last_active).getTime();
      item.title.textContent = c.title || "New conversation";
      when(item.time, c.last_active);
      item.el.classList.toggle("running", Boolean(c.running));
      item.state.textContent = c.running ? "running" : "";
    }
    const order = [...this.items.values()].sort((a, b) => b.at - a.at);
    const focused = document.activeElement;
    order.forEach((item, i) => {
      if ($("list").children[i] !== item.el) $("list").insertBefore(item.el, $("list").children[i] ?? null);
    });
    if (focused !== document.activeElement && $("list").contains(focused)) focused.focus();
    $("more").hidden = !this.next;
    this.mark();
    this.filter();
  }

  item(id) {
    const title = h("span", { class: "item-title" }), time = h("time"), state = h("span", { class: "unseen" });
    const link = h("a", { href: "/c/" + id, onclick: (e) => this.open(id, e) }, title, state, time);
    return { el: h("li", { "data-id": id }, link), link, title, time, state, at: 0 };
  }

  select(id) {
    this.current = id;
    this.mark();
  }

  mark() {
    for (const [id, item] of this.items) {
      if (id === this.current) item.link.setAttribute("aria-current", "page");
      else item.link.removeAttribute("aria-current");
    }
  }

  title(id) {
    return this.items.get(id)?.title.textContent ?? "";
  }

  filter() {
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of this.items.values()) {
      const title = item.title.textContent.toLowerCase();
      item.el.hidden = !words.every((w) => title.includes(w));
    }
  }

  times() {
    for (const item of this.items.values()) when(item.time, item.at);
  }
}
