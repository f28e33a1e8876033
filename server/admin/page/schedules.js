// Reminders and recurring tasks of everybody.

import { h, when, exactTime } from "/assets/dom.js";
import { PeopleList, part } from "./people.js";
import { at } from "./sessions.js";

export default class Schedules extends PeopleList {
  constructor(root, page) {
    super(root, page, {
      title: "Schedules", address: "/admin/api/schedules", action: "Cancel",
      empty: "Nothing is scheduled. People ask the bot for reminders and recurring tasks.",
      rows: (a) => a.schedules, key: (r) => [r.channel, r.user, r.id].join(" "),
      question: (r) => ["Cancel " + r.id + " of " + (r.name || r.user) + "?", r.text, "Cancel " + r.id],
      path: (r) => "/admin/api/schedules/" + [r.channel, r.user, r.id].map(part).join("/"),
      columns: [
        { title: "Next", value: (r) => r.next, cell: (r) => h("time", { datetime: r.next, title: r.when }, exactTime(r.next)) },
        { title: "What", value: (r) => r.text, class: "wide", cell: (r) => r.text },
        { title: "For", value: (r) => r.name || r.user, cell: (r) => (r.name ? r.name + " (" : "") + r.channel + ":" + r.user.replace(r.channel + ":", "") + (r.name ? ")" : "") },
        { title: "Where", value: (r) => r.session, cell: (r) => h("a", { href: at(r.session) }, r.room || r.session) },
        { title: "Repeats", value: (r) => r.cron ?? "", cell: (r) => (r.cron ? h("span", { class: "mono", title: r.when }, r.cron + " " + r.zone) : "once") },
        { title: "Last", value: (r) => r.last ?? "", cell: (r) => (r.last ? when(h("time"), r.last) : "–") },
      ],
    });
  }
}
