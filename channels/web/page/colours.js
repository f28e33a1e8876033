// The switch of colours: as the system, light, dark.

import { $, setIcon, storage } from "./dom.js";

const words = { auto: "as the system", light: "light", dark: "dark" };

function show(value) {
  if (value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  setIcon($("theme"), value);
  $("theme").title = "Colours: " + words[value];
  $("theme").setAttribute("aria-label", $("theme").title);
}

// colours makes the page's button switch them.
export function colours() {
  const now = () => document.documentElement.dataset.theme ?? "auto";
  show(now());
  $("theme").addEventListener("click", () => {
    const all = Object.keys(words), value = all[(all.indexOf(now()) + 1) % all.length];
    storage.set("clawbot.theme", value === "auto" ? "" : value);
    show(value);
  });
}
