// Block Markdown as DOM nodes, also while it is still being written: closed
// blocks are drawn once and left alone, only the last, open one is drawn again,
// and an open code block only grows.

import { h, copyButton } from "./dom.js";
import { inline } from "./inline.js";

const fence = /^( {0,3})(`{3,}|~{3,})[ \t]*([^`\n]*)$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const quote = /^ {0,3}>[ ]?/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const tableRule = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const maxDepth = 10;

const blank = (line) => line.trim() === "";
const indent = (line) => detab(/^[ \t]*/.exec(line)[0]).length;
// A tab counts as four spaces where blocks are told apart; code keeps it.
const detab = (line) => line.replaceAll("\t", "    ");

// render replaces the content of el by the Markdown text.
export function render(el, text) {
  const writer = new Writer(el);
  writer.add(text);
  writer.end();
}

// Writer draws Markdown that arrives in pieces.
export class Writer {
  constructor(el) {
    this.el = el;
    el.replaceChildren();
    this.rest = ""; // source of the open block
    this.open = null; // its nodes
    this.held = "";
    this.code = null; // the open code block at top level
  }

  add(delta) {
    delta = this.held + delta;
    this.held = delta.endsWith("\r") ? "\r" : ""; // its \n may be in the next piece
    this.rest += (this.held ? delta.slice(0, -1) : delta).replace(/\r\n?/g, "\n");
    this.draw(false);
  }

  // end closes what is open.
  end() {
    this.draw(true);
  }

  draw(done) {
    if (this.code && !this.grow(done)) return;
    this.clearOpen();
    const lines = this.rest.split("\n");
    let i = 0, offset = 0, last = null;
    while (i < lines.length) {
      if (blank(lines[i])) {
        i++;
        continue;
      }
      const unit = next(lines, i, 0);
      if (!done && !isClosed(unit, lines)) {
        last = unit;
        offset = i;
        break;
      }
      this.put(unit, false);
      i = unit.end;
    }
    this.rest = last ? lines.slice(offset).join("\n") : lines[lines.length - 1].trim() === "" ? lines[lines.length - 1] : "";
    if (done) {
      this.rest = "";
      return;
    }
    if (!last) return;
    if (last.type === "code" && last.fence && last.open && lines.length > offset + 1) this.begin(last);
    else this.open = this.put(last, true);
  }

  // put draws a unit and returns what to take away to undo it.
  put(unit, open) {
    if (unit.type !== "li") {
      const node = build(unit, open, 0);
      this.el.append(node);
      return node;
    }
    const li = build(unit, open, 0);
    let list = this.el.lastElementChild;
    if (!list || list.dataset.kind !== unit.kind) {
      list = newList(unit);
      this.el.append(list);
    }
    list.append(li);
    return li;
  }

  clearOpen() {
    if (!this.open) return;
    const list = this.open.parentElement;
    this.open.remove();
    if (list !== this.el && !list.childElementCount) list.remove();
    this.open = null;
  }

  // begin opens a code block that grows from now on.
  begin(unit) {
    const block = codeBlock(unit.info, "");
    this.el.append(block.el);
    this.code = { ...block, fence: unit.fence, indent: unit.indent, first: true };
    const cut = this.rest.indexOf("\n");
    this.rest = cut < 0 ? "" : this.rest.slice(cut + 1);
    this.grow(false);
  }

  // grow moves finished lines into the open code block, and as much of the
  // last one as can't be its end. It reports whether the block was closed.
  grow(done) {
    const c = this.code;
    let text = "";
    for (;;) {
      const cut = this.rest.indexOf("\n");
      if (cut < 0 && !done) {
        const held = c.mid ? false : /^ {0,3}(`*|~*)[ \t]*$/.test(this.rest) || c.indent > 0;
        if (!held && this.rest) {
          text += (c.mid || c.first ? "" : "\n") + this.rest;
          c.mid = true;
          c.first = false;
          this.rest = "";
        }
        break;
      }
      const line = cut < 0 ? this.rest : this.rest.slice(0, cut);
      this.rest = cut < 0 ? "" : this.rest.slice(cut + 1);
      if (!c.mid && closes(line, c.fence)) {
        c.text.appendData(text);
        this.code = null;
        return true;
      }
      if (cut < 0 && line === "") break;
      text += (c.mid || c.first ? "" : "\n") + (c.mid ? line : strip(line, c.indent));
      c.mid = false;
      c.first = false;
      if (cut < 0) break;
    }
    c.text.appendData(text);
    if (done) this.code = null;
    return done;
  }
}

// isClosed reports whether no further text can change the unit. The last line
// is still being written.
function isClosed(unit, lines) {
  const last = lines.length - 1;
  switch (unit.type) {
    case "h":
    case "hr":
      return unit.end <= last;
    case "code":
      if (unit.fence) return !unit.open && unit.end <= last;
      break;
    case "li":
      break;
    default:
      return unit.end < last;
  }
  for (let i = unit.end; i < last; i++) if (!blank(lines[i])) return true;
  return false;
}

// strip takes up to n columns of white space off a line.
function strip(line, n) {
  if (n === 0) return line;
  const lead = /^[ \t]*/.exec(line)[0];
  return detab(lead).slice(n) + line.slice(lead.length);
}

function closes(line, mark) {
  const m = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line);
  return m !== null && m[1][0] === mark[0] && m[1].length >= mark.length;
}

// interrupts reports whether a line ends a paragraph.
function interrupts(line) {
  if (fence.test(line) || heading.test(line) || quote.test(line) || rule.test(line)) return true;
  const m = item.exec(line);
  return m !== null && line.length > m[0].length && (!/\d/.test(m[2]) || /^0*1[.)]/.test(m[2]));
}

// next reads the block that begins at line i: {type, end, …}, end being the
// line after it. open marks a code block without its end.
function next(lines, i, depth) {
  const line = /^[ \t]/.test(lines[i]) ? strip(" " + lines[i], 1) : lines[i];
  let m;
  if ((m = fence.exec(line)) && !(m[2][0] === "`" && m[3].includes("`"))) return fenced(lines, i, m);
  if ((m = heading.exec(line))) return { type: "h", level: m[1].length, text: m[2] ?? "", end: i + 1 };
  if (rule.test(line)) return { type: "hr", end: i + 1 };
  if (depth < maxDepth) {
    if (quote.test(line)) return quoted(lines, i);
    const marked = line.replace(/^( {0,3}(?:[-*+]|\d{1,9}[.)]))\t/, "$1    ");
    if ((m = item.exec(marked))) return listItem(lines, i, m, marked);
  }
  if (line.includes("|") && i + 1 < lines.length && tableRule.test(lines[i + 1]) &&
    cells(line).length === cells(lines[i + 1]).length) return table(lines, i);
  if (indent(line) >= 4) return indented(lines, i);
  return paragraph(lines, i);
}

function fenced(lines, i, m) {
  let end = i + 1;
  while (end < lines.length && !closes(lines[end], m[2])) end++;
  const open = end === lines.length;
  const code = lines.slice(i + 1, end).map((l) => strip(l, m[1].length));
  if (open && code.at(-1) === "") code.pop();
  return { type: "code", fence: m[2], indent: m[1].length, info: m[3].trim(), text: code.join("\n"), open, end: open ? end : end + 1 };
}

function indented(lines, i) {
  let end = i;
  while (end < lines.length && (blank(lines[end]) || indent(lines[end]) >= 4)) end++;
  while (blank(lines[end - 1])) end--;
  return { type: "code", info: "", text: lines.slice(i, end).map((l) => strip(l, 4)).join("\n"), end };
}

function quoted(lines, i) {
  const inner = [];
  let end = i;
  while (end < lines.length && (quote.test(lines[end]) || (!blank(lines[end]) && !blank(inner.at(-1) ?? "") && !interrupts(lines[end])))) {
    inner.push(lines[end].replace(quote, ""));
    end++;
  }
  return { type: "quote", lines: inner, end };
}

// listItem reads one item. Nested lists may be indented by two spaces whatever
// the marker's width: models write them so.
function listItem(lines, i, m, line) {
  const pad = m[3].length > 4 || m[3] === "" ? 1 : m[3].length;
  const width = m[1].length + m[2].length + pad;
  const inner = [line.slice(Math.min(width, line.length))];
  let end = i + 1, loose = false, mark = null;
  for (let at = end; at < lines.length; at++) {
    const line = lines[at];
    const code = fence.exec(strip(line, width));
    if (mark) {
      if (closes(strip(line, width), mark)) mark = null;
    } else if (blank(line)) {
      inner.push("");
      continue;
    } else if (indent(line) >= width || (indent(line) >= 2 && item.test(line.trimStart()))) {
      if (code) mark = code[2];
    } else if (blank(lines[at - 1]) || interrupts(line) || item.test(line)) break;
    if (blank(lines[at - 1]) && !mark) loose = true;
    inner.push(strip(line, width));
    end = at + 1;
  }
  inner.length = end - i;
  const ordered = /\d/.test(m[2]);
  const unit = { type: "li", kind: (ordered ? "ol" : "ul") + m[2].at(-1), lines: inner, loose, end, start: ordered ? parseInt(m[2], 10) : 0 };
  const task = /^\[([ xX])\][ ]+/.exec(inner[0]);
  if (task) {
    unit.task = task[1] === " " ? "open" : "done";
    inner[0] = inner[0].slice(task[0].length);
  }
  return unit;
}

// cells splits a table row at bars that are neither escaped nor in code.
function cells(line) {
  const row = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  const out = [];
  let cell = "";
  for (const m of row.matchAll(/\\\||`[^`]*`|\||[^\\|`]+|[\\`]/g)) {
    if (m[0] === "|") {
      out.push(cell.trim());
      cell = "";
    } else cell += m[0] === "\\|" ? "|" : m[0].replace(/\\\|/g, "|");
  }
  out.push(cell.trim());
  return out;
}

function table(lines, i) {
  const align = cells(lines[i + 1]).map((c) => (c.endsWith(":") ? (c.startsWith(":") ? "center" : "right") : null));
  let end = i + 2;
  while (end < lines.length && !blank(lines[end]) && !interrupts(lines[end])) end++;
  return { type: "table", head: cells(lines[i]), align, rows: lines.slice(i + 2, end).map(cells), end };
}

function paragraph(lines, i) {
  let end = i + 1;
  for (; end < lines.length && !blank(lines[end]); end++) {
    const under = /^ {0,3}(=+|-+)[ \t]*$/.exec(lines[end]);
    if (under) return { type: "h", level: under[1][0] === "=" ? 1 : 2, text: lines.slice(i, end).join("\n"), end: end + 1 };
    if (interrupts(lines[end])) break;
    if (lines[end].includes("|") && end + 1 < lines.length && tableRule.test(lines[end + 1]) &&
      cells(lines[end]).length === cells(lines[end + 1]).length) break;
  }
  return { type: "p", text: lines.slice(i, end).join("\n").trim(), end };
}

// build makes the node of a unit.
function build(unit, open, depth) {
  switch (unit.type) {
    case "h":
      // The page has its own h1; a message's headings stay below it.
      return h("h" + Math.min(unit.level + 1, 6), null, inline(unit.text, open));
    case "hr":
      return h("hr");
    case "code":
      return codeBlock(unit.info, unit.text).el;
    case "quote":
      return blocks(h("blockquote"), unit.lines, open, depth + 1, true);
    case "li": {
      const li = blocks(h("li"), unit.lines, open, depth + 1, unit.loose);
      if (unit.task) {
        li.classList.add("task");
        li.prepend(h("input", { type: "checkbox", disabled: true, checked: unit.task === "done", "aria-label": unit.task }));
      }
      return li;
    }
    case "table":
      return tableNode(unit, open);
    default:
      return h("p", null, inline(unit.text, open));
  }
}

// blocks draws lines into el. Paragraphs of a tight list item stand without <p>.
function blocks(el, lines, open, depth, loose) {
  let i = 0, list = null;
  while (i < lines.length) {
    if (blank(lines[i])) {
      i++;
      continue;
    }
    const unit = next(lines, i, depth);
    i = unit.end;
    const last = open && i >= lines.length;
    if (unit.type === "li") {
      if (!list || list.dataset.kind !== unit.kind) {
        list = newList(unit);
        el.append(list);
      }
      list.append(build(unit, last, depth));
      continue;
    }
    list = null;
    if (unit.type === "p" && !loose) el.append(inline(unit.text, last));
    else el.append(build(unit, last, depth));
  }
  return el;
}

function newList(unit) {
  const ordered = unit.kind.startsWith("ol");
  return h(ordered ? "ol" : "ul", { "data-kind": unit.kind, start: ordered && unit.start !== 1 ? unit.start : null });
}

function tableNode(unit, open) {
  const row = (tag, line) => h("tr", null, unit.align.map((align, n) =>
    h(tag, { class: align }, inline(line[n] ?? "", open))));
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" },
    h("table", null, h("thead", null, row("th", unit.head)), h("tbody", null, unit.rows.map((r) => row("td", r)))));
}

// codeBlock returns its element and the text node that holds the code.
function codeBlock(info, code) {
  const text = document.createTextNode(code);
  const language = info.split(/[\s{,]/)[0];
  const el = h("div", { class: "code" },
    h("div", { class: "code-head" }, h("span", null, language || "text"), copyButton(() => text.data)),
    h("pre", { tabindex: "0", "aria-label": language ? "Code, " + language : "Code" }, h("code", null, text)));
  return { el, text };
}
