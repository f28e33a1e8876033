// What is remembered about people.

import { h, when } from "/assets/dom.js";
import { PeopleList, part } from "./people.js";
import { at } from "./sessions.js";

export default class Memory extends PeopleList {
  constructor(root, page) {
    super(root, page, {
      title: "Memory", address: "/admin/api/memory", action: "Forget",
      empty: "Nothing is remembered about anybody.",
      rows: (a) => a.people.flatMap((p) => (p.damaged ? [{ user: p.user, id: "", text: p.damaged }] : p.facts.map((f) => ({ user: p.user, ...f })))),
      key: (r) => r.user + " " + r.id,
      question: (r) => ["Forget " + r.id + " of " + r.user + "?", r.text, "Forget " + r.id],
      path: (r) => "/admin/api/memory/" + r.user.split("/").map(part).join("/") + "/" + part(r.id),
      columns: [
        { title: "Person", value: (r) => r.user, cell: (r) => r.user.replace("/", ":") },
        { title: "Fact", value: (r) => r.text, class: "wide", cell: (r) => r.text },
        { title: "Since", value: (r) => r.at ?? "", cell: (r) => (r.at ? when(h("time"), r.at) : "–") },
        { title: "Told in", value: (r) => r.session ?? "", cell: (r) => (r.session ? h("a", { href: at(r.session) }, r.session) : "–") },
      ],
    });
  }
}
