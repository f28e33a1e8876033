// Drawing without a library.

const ns = "http://www.w3.org/2000/svg";

export function s(tag, props, ...kids) {
  const el = document.createElementNS(ns, tag);
  for (const [name, value] of Object.entries(props ?? {})) if (value !== null && value !== undefined) el.setAttribute(name, value);
  el.append(...kids.flat().filter((k) => k !== null && k !== undefined));
  return el;
}

export const titled = (text) => s("title", null, text);
