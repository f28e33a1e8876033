// The operator's page: its bar, its addresses, and the view that an address
// names. Views are loaded when they are first looked at.

import { $, h } from "/assets/dom.js";
import { ask } from "/assets/api.js";
import { colours } from "/assets/colours.js";

const every = 5000; // how often the state is asked for while the page is seen

// views by name: the title, and the module that draws it. A module's default
// export is a class: new View(root, page), then show(rest of the path), close().
const views = [
  ["sessions", "Sessions", () => import("./sessions.js")],
  ["approvals", "Approvals", () => import("./approvals.js")],
  ["replicas", "Channels and replicas", () => import("./replicas.js")],
  ["spend", "Spend", () => import("./spend.js"), true],
  ["schedules", "Schedules", () => import("./schedules.js")],
  ["memory", "Memory", () => import("./memory.js")],
  ["tools", "Tools", () => import("./tools.js"), true],
  ["config", "Configuration", () => import("./config.js"), true],
  ["log", "Log", () => import("./log.js"), true],
];

// page is what a view may ask of the page.
const page = {
  state: null,
  go,
  // replica names a replica for people.
  replica(id) {
    const r = page.state?.replicas.find((r) => r.replica === id);
    if (!r) return id.slice(-6);
    return r.self ? "this one" : r.host + ":" + r.pid;
  },
  title(text) {
    document.title = text + " · " + (page.state?.name ?? "clawbot");
  },
  confirm,
};

let view, shown = "", turn = 0;

async function route() {
  const mine = ++turn;
  const [, name, rest] = /^\/admin\/?([^/]*)\/?(.*)$/.exec(location.pathname) ?? [];
  const known = views.find(([n]) => n === (name || "sessions"));
  for (const a of $("tabs").children) {
    if (a.dataset.view === known?.[0]) {
      a.setAttribute("aria-current", "page");
      a.scrollIntoView({ block: "nearest", inline: "center" });
    } else a.removeAttribute("aria-current");
  }
  if (!known) return missing();
  let module;
  try {
    module = await known[2]();
  } catch {
    if (mine === turn) notice("This view could not be loaded. Reload the page when the bot is back.");
    return;
  }
  if (mine !== turn) return;
  const detail = decodeURIComponent(rest);
  const kind = detail && module.Detail ? module.Detail : module.default;
  page.title(known[1]);
  if (detail && view instanceof kind && view.id === detail) return view.show(detail); // another place in it
  view?.close();
  shown = known[0];
  $("main").replaceChildren();
  $("main").scrollTop = 0;
  view = new kind($("main"), page);
  view.show(detail);
}

function missing() {
  view?.close();
  view = null;
  page.title("Not found");
  notice("There is no such view.");
}

function notice(text) {
  $("main").replaceChildren(h("p", { class: "nothing" }, text));
}

function go(path) {
  if (location.pathname + location.search !== path) history.pushState(null, "", path);
  route();
  $("main").focus({ preventScroll: true });
}

// Links to views stay inside the page, unless they are asked for elsewhere.
addEventListener("click", (e) => {
  const a = e.target.closest?.("a[href^='/admin']");
  if (!a || a.download || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || e.button > 0) return;
  e.preventDefault();
  go(a.getAttribute("href"));
});
addEventListener("popstate", route);

// confirm asks once, by name, and returns whether the answer was yes.
function confirm(title, text, action) {
  // A dialog of its own: the end of the one before may still be on its way.
  const dialog = h("dialog", { id: "ask", class: "ask", "aria-labelledby": "ask-title" });
  $("ask").replaceWith(dialog);
  const yes = h("button", { class: "button danger", value: "yes" }, action);
  const no = h("button", { class: "button", value: "no", autofocus: true }, "Cancel");
  dialog.replaceChildren(h("form", { method: "dialog" },
    h("h2", { id: "ask-title" }, title), h("p", null, text), h("div", { class: "buttons" }, no, yes)));
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}

function tabs(state) {
  const has = views.filter(([name, , , optional]) => !optional || state.views.includes(name));
  const names = has.map(([n]) => n).join();
  if ($("tabs").dataset.has !== names) {
    $("tabs").dataset.has = names;
    $("tabs").replaceChildren(...has.map(([name, title]) =>
      h("a", { href: "/admin/" + name, "data-view": name }, title, name === "approvals" ? h("span", { class: "count", hidden: true }) : null)));
    const now = /^\/admin\/?([^/]*)/.exec(location.pathname)?.[1] || "sessions";
    const tab = $("tabs").querySelector(`[data-view="${CSS.escape(now)}"]`);
    tab?.setAttribute("aria-current", "page");
    tab?.scrollIntoView({ block: "nearest", inline: "center" });
  }
  const count = $("tabs").querySelector(".count");
  count.textContent = state.pending;
  count.hidden = !state.pending;
}

// dots show each channel and replica: green, amber, red, with the reason.
function dots(state) {
  const all = [];
  const names = new Set(state.replicas.flatMap((r) => r.channels.map((c) => c.name)));
  for (const name of names) {
    const here = state.replicas.filter((r) => !r.gone).flatMap((r) => r.channels.filter((c) => c.name === name));
    const failed = here.find((c) => c.state === "failed");
    const on = here.some((c) => c.state === "connected");
    const trouble = here.find((c) => c.trouble && Date.now() - Date.parse(c.trouble_at) < 300000);
    if (failed && !on) all.push([name, "bad", failed.error]);
    else if (!on) all.push([name, "warn", "not received by any replica"]);
    else all.push([name, trouble || failed ? "warn" : "good", trouble?.trouble ?? failed?.error ?? "connected"]);
  }
  if (state.replicas.length > 1) for (const r of state.replicas) all.push([page.replica(r.replica), r.gone ? "bad" : "good", r.gone ? "does not answer" : "answers"]);
  $("dots").replaceChildren(...all.map(([name, level, why]) => h("span", { class: "state", "data-level": level, title: name + ": " + why },
    h("span", { class: "dot", "aria-hidden": "true" }), h("span", { class: "dot-name" }, name), h("span", { class: "unseen" }, ": " + why))));
}

async function look() {
  clearTimeout(look.timer);
  try {
    const state = await ask("GET", "/admin/api/state");
    page.state = state;
    $("home").textContent = state.name;
    $("model").textContent = [state.model, state.store].filter(Boolean).join(" · ");
    $("sign-out").hidden = !state.signed_in;
    tabs(state);
    dots(state);
    view?.stated?.(state);
  } catch (err) {
    $("dots").replaceChildren(h("span", { class: "state", "data-level": "bad", title: err.message }, h("span", { class: "dot", "aria-hidden": "true" }), "Offline"));
  }
  if (!document.hidden) look.timer = setTimeout(look, every);
}

document.addEventListener("visibilitychange", () => document.hidden ? clearTimeout(look.timer) : look());
colours();
look();
route();
