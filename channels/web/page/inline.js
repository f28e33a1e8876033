// Inline Markdown (CommonMark's emphasis, code, links; GFM's strikethrough and
// bare addresses) as DOM nodes. Everything else, HTML too, is text. Every step
// is linear in the text, whatever it holds.

import { h } from "./dom.js";

const punctuation = /[\p{P}\p{S}]/u;
const maxDepth = 12;

// inline returns a fragment. With open, the text goes on: what is not closed
// yet reads as if it were.
export function inline(text, open = false, depth = 0) {
  const out = document.createDocumentFragment();
  append(out, emphasis(scan(text, open, depth), open));
  return out;
}

// safeLink returns the address if a person may be led there, else null.
export function safeLink(address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
}

function append(parent, nodes) {
  for (const n of nodes) {
    if (typeof n === "string") parent.append(n);
    else if (n.delim) parent.append(n.ch.repeat(n.n));
    else if (n.kids) {
      const el = n.el;
      append(el, n.kids);
      parent.append(el);
    } else parent.append(n.el);
  }
}

// scan cuts the text into strings, elements and emphasis marks.
function scan(s, open, depth) {
  const nodes = [];
  const ticks = codeRuns(s);
  const brackets = matchBrackets(s);
  let text = "";
  const flush = () => {
    if (text) nodes.push(text);
    text = "";
  };
  let i = 0;
  while (i < s.length) {
    const c = s[i];
    if (c === "\\" && i + 1 < s.length) {
      if (s[i + 1] === "\n") {
        flush();
        nodes.push({ el: h("br") });
        i += 2;
        continue;
      }
      if (/[!-/:-@[-`{-~]/.test(s[i + 1])) {
        text += s[i + 1];
        i += 2;
        continue;
      }
    } else if (c === "`") {
      const code = codeAt(s, i, ticks, open);
      if (code.el) {
        flush();
        nodes.push(code);
      } else text += s.slice(i, code.end);
      i = code.end;
      continue;
    } else if (c === "[" || (c === "!" && s[i + 1] === "[")) {
      const link = linkAt(s, i, brackets, open, depth);
      if (link) {
        flush();
        nodes.push(link);
        i = link.end;
        continue;
      }
    } else if (c === "<") {
      const auto = /<((?:https?:\/\/|mailto:)[^\s<>]*)>/iy;
      auto.lastIndex = i;
      const m = auto.exec(s);
      const href = m && safeLink(m[1]);
      if (href) {
        flush();
        nodes.push({ el: anchor(href, m[1]) });
        i = auto.lastIndex;
        continue;
      }
    } else if ((c === "h" || c === "H") && (i === 0 || !/[\p{L}\p{N}_]/u.test(s[i - 1]))) {
      const bare = bareAt(s, i);
      if (bare) {
        flush();
        nodes.push({ el: anchor(bare.href, bare.text) });
        i += bare.text.length;
        continue;
      }
    } else if (c === "&") {
      const m = /&(?:amp|lt|gt|quot|apos|nbsp|copy|mdash|ndash|hellip|rarr|larr|times|#\d{1,7}|#x[0-9a-f]{1,6});/iy;
      m.lastIndex = i;
      const e = m.exec(s);
      if (e) {
        text += entity(e[0]);
        i = m.lastIndex;
        continue;
      }
    } else if (c === "*" || c === "_" || c === "~") {
      let n = 1;
      while (s[i + n] === c) n++;
      // Marks at the very end: what they open has not come yet.
      if (open && i + n === s.length && n <= 3 && (i === 0 || /\s/.test(s[i - 1]))) break;
      const d = c === "~" && n !== 2 ? null : flanks(s, i, n, c);
      if (d) {
        flush();
        nodes.push(d);
      } else text += s.slice(i, i + n);
      i += n;
      continue;
    } else if (c === "\n") {
      text = text.replace(/[ \t]+$/, "");
      flush();
      nodes.push({ el: h("br") });
      i++;
      while (s[i] === " " || s[i] === "\t") i++;
      continue;
    }
    text += c;
    i++;
  }
  flush();
  return nodes;
}

const entities = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", mdash: "—", ndash: "–", hellip: "…", rarr: "→", larr: "←", times: "×" };

function entity(e) {
  const name = e.slice(1, -1);
  if (name[0] !== "#") return entities[name.toLowerCase()];
  const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : "\ufffd";
}

// codeRuns lists the runs of backticks by their length.
function codeRuns(s) {
  const runs = new Map();
  for (const m of s.matchAll(/`+/g)) {
    const list = runs.get(m[0].length);
    if (list) list.at.push(m.index);
    else runs.set(m[0].length, { at: [m.index], next: 0 });
  }
  return runs;
}

function codeAt(s, i, ticks, open) {
  let n = 1;
  while (s[i + n] === "`") n++;
  const runs = ticks.get(n);
  let close;
  if (runs) {
    while (runs.next < runs.at.length && runs.at[runs.next] <= i) runs.next++;
    close = runs.at[runs.next];
  }
  if (close === undefined) {
    if (!open || n > 2 || i + n >= s.length) return { end: i + n };
    close = s.length;
  }
  let code = s.slice(i + n, close).replace(/\n/g, " ");
  if (/^ .* $/.test(code) && code.trim()) code = code.slice(1, -1);
  return { el: h("code", null, code), end: Math.min(close + n, s.length) };
}

// matchBrackets finds the end of every "[" in one pass, code left out.
function matchBrackets(s) {
  const match = new Map();
  if (!s.includes("[")) return match;
  const stack = [];
  const token = /\\[\s\S]|(`+)|[[\]]/g;
  const ticks = codeRuns(s);
  let m;
  while ((m = token.exec(s))) {
    if (m[1]) {
      const end = codeAt(s, m.index, ticks, false).end;
      token.lastIndex = Math.max(end, token.lastIndex);
    } else if (m[0] === "[") stack.push(m.index);
    else if (m[0] === "]" && stack.length) match.set(stack.pop(), m.index);
  }
  return match;
}

// linkAt reads [text](address "title") and ![text](address); pictures are shown
// as links, since nothing is loaded from elsewhere.
function linkAt(s, i, brackets, open, depth) {
  const image = s[i] === "!";
  const start = image ? i + 1 : i;
  const close = brackets.get(start);
  if (close === undefined || s[close + 1] !== "(" || depth > maxDepth) return null;
  const dest = /\(\s{0,8}(?:<([^<>\n]{0,2000})>|((?:[^\s()\\]|\\[\s\S]|\([^\s()]{0,500}\)){0,2000}))(?:\s{1,8}(?:"[^"]{0,500}"|'[^']{0,500}'))?\s{0,8}\)/y;
  dest.lastIndex = close + 1;
  const m = dest.exec(s);
  const label = s.slice(start + 1, close);
  if (!m) {
    // An address that is still being written.
    const rest = s.length - close;
    if (!open || rest > 2000 || /[\s)]/.test(s.slice(close + 2))) return null;
    return { el: h("span"), kids: emphasis(scan(label, false, depth + 1), false), end: s.length };
  }
  const href = safeLink((m[1] ?? m[2]).replace(/\\([!-/:-@[-`{-~])/g, "$1"));
  const el = href ? anchor(href) : h("span");
  if (image) el.append("🖼 ");
  const kids = label || !href ? emphasis(scan(label, false, depth + 1).map(unlinked), false) : [href];
  return { el, kids, end: dest.lastIndex };
}

// unlinked takes the links out of a link's text.
function unlinked(n) {
  return n.el?.tagName === "A" ? (n.kids ? { el: h("span"), kids: n.kids } : n.el.textContent) : n;
}

function anchor(href, text) {
  return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, text ?? null);
}

function bareAt(s, i) {
  const address = /https?:\/\/[^\s<>"'`\\]{1,2000}/iy;
  address.lastIndex = i;
  let text = address.exec(s)?.[0];
  if (!text) return null;
  // Punctuation that ends a sentence, and brackets around the address, are not
  // part of it.
  for (;;) {
    const end = text.at(-1);
    if (/[.,;:!?*_~|\]}]/.test(end)) text = text.slice(0, -1);
    else if (end === ")" && count(text, ")") > count(text, "(")) text = text.slice(0, -1);
    else break;
  }
  const href = safeLink(text);
  return href ? { href, text } : null;
}

const count = (s, c) => s.split(c).length - 1;

// flanks decides whether a run of marks can open or close emphasis.
function flanks(s, i, n, c) {
  const before = charBefore(s, i);
  const after = s[i + n] === undefined ? " " : String.fromCodePoint(s.codePointAt(i + n));
  const spaceBefore = /\s/.test(before), spaceAfter = /\s/.test(after);
  const punctBefore = punctuation.test(before), punctAfter = punctuation.test(after);
  const left = !spaceAfter && (!punctAfter || spaceBefore || punctBefore);
  const right = !spaceBefore && (!punctBefore || spaceAfter || punctAfter);
  const d = { delim: true, ch: c, n, open: left, close: right };
  if (c === "_") {
    d.open = left && (!right || punctBefore);
    d.close = right && (!left || punctAfter);
  }
  return d.open || d.close ? d : null;
}

function charBefore(s, i) {
  if (i === 0) return " ";
  const c = s.charCodeAt(i - 1);
  return c >= 0xdc00 && c < 0xe000 && i > 1 ? s.slice(i - 2, i) : s[i - 1];
}

// emphasis pairs the marks. Openers wait on one stack per mark; a frame is what
// was read since an opener.
function emphasis(nodes, open) {
  const frames = [{ kids: [] }];
  const openCount = { "*": 0, _: 0, "~": 0 };
  const top = () => frames[frames.length - 1];
  // fold gives up the topmost opener: it is text.
  const fold = () => {
    const f = frames.pop();
    openCount[f.mark.ch]--;
    const kids = top().kids;
    kids.push(f.mark.ch.repeat(f.mark.n));
    for (const k of f.kids) kids.push(k);
  };
  const wrap = (n) => {
    const f = frames.pop();
    openCount[f.mark.ch]--;
    const tag = f.mark.ch === "~" ? "del" : n === 2 ? "strong" : "em";
    const wrapped = { el: h(tag), kids: f.kids };
    f.mark.n -= n;
    if (f.mark.n > 0) {
      frames.push({ mark: f.mark, kids: [wrapped] });
      openCount[f.mark.ch]++;
    } else top().kids.push(wrapped);
  };
  for (const node of nodes) {
    if (!node.delim) {
      top().kids.push(node);
      continue;
    }
    const d = { ...node };
    const whole = d.n;
    while (d.close && d.n > 0 && openCount[d.ch] > 0) {
      while (top().mark.ch !== d.ch) fold();
      const mark = top().mark;
      if ((mark.both || d.open) && (mark.whole + whole) % 3 === 0 && (mark.whole % 3 || whole % 3)) break;
      if (!top().kids.length) break;
      const n = d.n >= 2 && mark.n >= 2 ? 2 : 1;
      wrap(n);
      d.n -= n;
    }
    if (d.n === 0) continue;
    if (d.open && frames.length < 100) {
      frames.push({ mark: { ch: d.ch, n: d.n, whole, both: d.close }, kids: [] });
      openCount[d.ch]++;
    } else top().kids.push(d.ch.repeat(d.n));
  }
  while (frames.length > 1) {
    if (open && top().kids.length && top().mark.n <= 3) wrap(top().mark.n >= 2 ? 2 : 1);
    else fold();
  }
  return frames[0].kids;
}
