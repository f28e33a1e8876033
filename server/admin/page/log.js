// The end of this replica's log, followed.

import { h, exactTime } from "/assets/dom.js";
import { heading, nothing, filter, choice, keepInAddress, fromAddress } from "./table.js";
import { Tail } from "./tail.js";

const most = 500; // lines drawn
const kept = 2000; // lines remembered for another filter
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const rank = { DEBUG: 0, INFO: 1, WARN: 2, ERROR: 3 };

export default class Log {
  constructor(root) {
    this.root = root;
    this.level = fromAddress("level") || "DEBUG";
    this.q = fromAddress("q");
    this.all = [];
    this.list = h("ol", { class: "log", role: "log", "aria-live": "off", "aria-label": "Log" });
    this.link = h("span", { class: "state quiet" });
    this.note = h("div");
    root.append(heading("Log", filter("Search the log", this.q, (q) => this.change({ q })),
      choice("Least level", [["DEBUG", "every level"], ["INFO", "info and up"], ["WARN", "warnings and up"], ["ERROR", "errors"]], this.level, (level) => this.change({ level })), this.link),
    h("p", { class: "quiet" }, "What this replica still has of its log in memory, without secrets."), this.note, this.list);
  }

  show() {
    this.tail ??= new Tail("/admin/api/log/events", 0, {
      lines: ({ lines }) => this.add(lines),
      state: (s) => {
        this.link.textContent = { open: "Live", connecting: "Connecting…", offline: "Offline; reconnecting…" }[s];
        this.link.dataset.level = { open: "good", connecting: "warn", offline: "bad" }[s];
      },
    });
  }

  change(what) {
    Object.assign(this, what);
    keepInAddress({ level: this.level === "DEBUG" ? "" : this.level, q: this.q });
    this.list.replaceChildren();
    this.draw(this.all);
  }

  add(lines) {
    this.all.push(...lines);
    this.all.splice(0, this.all.length - kept);
    this.draw(lines);
  }

  fits(line) {
    const level = rank[(line.level ?? "").split(/[+-]/)[0]] ?? 1;
    return level >= rank[this.level] && (!this.q || JSON.stringify(line).toLowerCase().includes(this.q.toLowerCase()));
  }

  draw(lines) {
    const atEnd = this.root.scrollHeight - this.root.clientHeight - this.root.scrollTop < 80;
    this.list.append(...lines.filter((l) => this.fits(l)).slice(-most).map(row));
    while (this.list.childElementCount > most) this.list.firstElementChild.remove();
    this.note.replaceChildren(...(this.list.childElementCount ? [] : [nothing("No line of the log has that.")]));
    if (atEnd || !this.drawn) this.root.scrollTop = this.root.scrollHeight;
    this.drawn = true;
  }

  close() {
    this.tail?.close();
  }
}

function row(line) {
  return h("li", { "data-level": line.level ?? "" }, h("time", { title: line.time ? exactTime(line.time) : "", datetime: line.time }, line.time ? clock.format(new Date(line.time)) : ""),
    h("b", { class: "level" }, line.level ?? ""), h("span", { class: "log-text" }, line.msg, ...(line.fields ?? []).flatMap((f) => [" ", h("span", { class: "field" }, h("i", null, f.key + "="), f.value)])));
}
