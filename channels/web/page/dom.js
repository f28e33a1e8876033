// Building the page. Text only ever becomes text nodes: there is no way from a
// string to markup in here.

// h makes an element. Props that begin with "on" are listeners, the rest are
// attributes; false and null leave one out.
export function h(tag, props, ...kids) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? "" : value);
  }
  el.append(...kids.flat().filter((k) => k !== null && k !== undefined));
  return el;
}

const svgNS = "http://www.w3.org/2000/svg";

export function icon(name, title) {
  const svg = document.createElementNS(svgNS, "svg");
  const use = document.createElementNS(svgNS, "use");
  use.setAttribute("href", "#i-" + name);
  svg.append(use);
  if (title) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", title);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  return svg;
}

export function setIcon(el, name) {
  el.querySelector("use").setAttribute("href", "#i-" + name);
}

export const $ = (id) => document.getElementById(id);

// say tells screen readers what others see.
export function say(text) {
  $("say").textContent = text;
}

// storage is localStorage where there is one.
export const storage = {
  get(key) {
    try { return localStorage.getItem(key); } catch { return null; }
  },
  set(key, value) {
    try {
      if (value) localStorage.setItem(key, value);
      else localStorage.removeItem(key);
    } catch { /* full or switched off: what is typed lives as long as the page */ }
  },
};

// newID returns 26 random letters and digits.
export function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(26));
  return Array.from(bytes, (b) => "abcdefghijklmnopqrstuvwxyz234567"[b & 31]).join("");
}

// copy puts text on the clipboard; the clipboard interface needs https or
// loopback.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// copyButton copies what text() returns and says that it did.
export function copyButton(text, label = "Copy") {
  const words = h("span", null, label);
  const button = h("button", { type: "button", class: "copy" }, icon("copy"), words);
  let timer;
  button.addEventListener("click", async () => {
    const done = await copy(text());
    setIcon(button, done ? "check" : "cross");
    words.textContent = done ? "Copied" : "Not copied";
    say(words.textContent);
    clearTimeout(timer);
    timer = setTimeout(() => {
      setIcon(button, "copy");
      words.textContent = label;
    }, 1600);
  });
  return button;
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" });

// when fills a <time> element: relative, with the exact time on hover.
export function when(el, at, now = Date.now()) {
  const t = new Date(at);
  if (isNaN(t) || t.getFullYear() < 2000) return el;
  el.dateTime = t.toISOString();
  el.title = exact.format(t);
  const minutes = Math.round((t - now) / 60000);
  if (minutes >= 0) el.textContent = "now";
  else if (minutes > -60) el.textContent = ago.format(minutes, "minute");
  else if (minutes > -60 * 24) el.textContent = ago.format(Math.round(minutes / 60), "hour");
  else if (minutes > -60 * 24 * 7) el.textContent = ago.format(Math.round(minutes / 60 / 24), "day");
  else el.textContent = day.format(t);
  return el;
}

export const timeOfDay = (at) => clock.format(new Date(at));
export const exactTime = (at) => exact.format(new Date(at));

// duration is "12 ms", "1.2 s", "12 s" or "2 min 5 s".
export function duration(ms) {
  ms = Math.max(ms, 0);
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 9950) return (ms / 1000).toFixed(1) + " s";
  const s = Math.round(ms / 1000);
  if (s < 60) return s + " s";
  return Math.floor(s / 60) + " min " + (s % 60) + " s";
}

export function bytes(n) {
  if (n < 1000) return n + " bytes";
  if (n < 1e6) return Math.round(n / 1000) + " kB";
  return (n / 1e6).toFixed(1) + " MB";
}
