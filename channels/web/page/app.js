// The page: its bar, its addresses, and the view that an address names. A view
// beside the chat gets a line in routes.

import { $ } from "./dom.js";
import { colours } from "./colours.js";
import { api } from "./api.js";
import { Chat } from "./chat.js";
import { Sidebar } from "./sidebar.js";

let name = "clawbot";

const sidebar = new Sidebar((id, event) => follow(event, "/c/" + id));
const chat = new Chat({
  created: (id) => {
    history.pushState(null, "", "/c/" + id);
    sidebar.select(id);
  },
  changed: () => sidebar.refresh(),
});

const routes = [
  [/^\/c\/([A-Za-z0-9_-]{1,64})$/, (id) => chat.show(id)],
  [/^\//, () => chat.show("")],
];

// route shows what the address names.
function route() {
  for (const [pattern, show] of routes) {
    const m = pattern.exec(location.pathname);
    if (!m) continue;
    sidebar.select(m[1] ?? "");
    show(m[1] ?? "");
    break;
  }
  title();
}

function go(path) {
  if (location.pathname !== path) history.pushState(null, "", path);
  route();
}

// follow opens a link inside the page, unless it is asked for elsewhere.
function follow(event, path) {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button > 0) return;
  event.preventDefault();
  sidebar.drawer(false);
  go(path);
  if (matchMedia("(pointer: fine)").matches) $("box").focus();
}

function title() {
  const what = sidebar.title(chat.id);
  document.title = what ? what + " · " + name : name;
}

for (const id of ["new", "home"]) $(id).addEventListener("click", (e) => follow(e, "/"));
addEventListener("popstate", route);
addEventListener("focus", () => sidebar.refresh());
new MutationObserver(title).observe($("list"), { childList: true, subtree: true, characterData: true });
addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
    e.preventDefault();
    sidebar.drawer(true);
    $("search").focus();
  } else if (e.altKey && e.code === "KeyN") {
    e.preventDefault();
    sidebar.drawer(false);
    go("/");
    $("box").focus();
  }
});

async function boot() {
  colours();
  route();
  sidebar.refresh(0);
  if (matchMedia("(pointer: fine)").matches) $("box").focus();
  try {
    const info = await api.info();
    name = info.name;
    $("home").textContent = name;
    $("model").textContent = info.model ?? "";
    $("sign-out").hidden = !info.signed_in;
    chat.setInfo(info);
    title();
  } catch { /* the stream shows that the bot is away, and comes back */ }
}

boot();
