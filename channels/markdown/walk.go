package markdown

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// maxPrefix bounds how much decoration nested quotes and lists put before each
// line, so that absurd nesting does not make absurd output.
const maxPrefix = 32

// walker writes one document in a dialect.
type walker struct {
	src []byte
	out []byte
	d   dialect

	prefix  string // before each new line: quote marks and indentation
	quotes  string // the quote marks among them alone
	pending int    // newlines to write before the next content
	blank   string // what empty lines among them show
	active  [styles]bool
	inLink  bool
	after   string // goes before the next content if that is a word's
}

// render walks src in dialect d and returns the walker with its output.
func render(src string, d dialect) *walker {
	w := &walker{src: []byte(src), d: d, out: make([]byte, 0, len(src)+len(src)/8+16)}
	w.blocks(parse(w.src), 2)
	return w
}

// plainOnly replaces the output by src as literal text: for a source of which
// the grammar leaves nothing to see, link definitions alone for example.
func (w *walker) plainOnly(src string) {
	w.out, w.pending = w.out[:0], 0
	w.prefix, w.quotes = "", ""
	w.lines(strings.TrimSpace(src))
}

// mark writes a line's first decoration unless a new line is due, which will
// bring it as its prefix.
func (w *walker) mark(s string) {
	if w.pending == 0 {
		w.raw(s)
	}
}

// raw writes s as it is, after the newlines that are due.
func (w *walker) raw(s string) {
	if s == "" {
		return
	}
	if w.after != "" {
		if r, _ := utf8.DecodeRuneInString(s); w.pending == 0 && isWord(r) {
			w.out = append(w.out, w.after...)
		}
		w.after = ""
	}
	w.flush()
	w.out = append(w.out, s...)
}

// before is the character before what comes next; a newline at the beginning
// of a line.
func (w *walker) before() rune {
	if w.pending > 0 || len(w.out) == 0 {
		return '\n'
	}
	r, _ := utf8.DecodeLastRune(w.out)
	return r
}

// lineStart reports that what comes next begins a line, but for its prefix.
func (w *walker) lineStart() bool {
	if w.pending > 0 {
		return true
	}
	last := w.out[bytes.LastIndexByte(w.out, '\n')+1:]
	return len(bytes.Trim(last, " >")) == 0
}

// closeMark writes a closing marker, before the white space that would keep it
// from closing.
func (w *walker) closeMark(marker string) {
	if w.pending > 0 {
		w.out = append(w.out, marker...)
		return
	}
	n := len(w.out) - len(bytes.TrimRight(w.out, " "))
	space := string(w.out[len(w.out)-n:])
	w.out = append(w.out[:len(w.out)-n], marker...)
	w.out = append(w.out, space...)
}

// quoted writes a quote whose lines begin with a mark.
func (w *walker) quoted(content func()) {
	w.ownLine()
	w.nested("> ", true, func() { w.mark("> "); content() })
}

func (w *walker) flush() {
	if w.pending == 0 {
		return
	}
	if len(w.out) > 0 {
		for i := w.pending; i > 0; i-- {
			w.out = append(w.out, '\n')
			if i > 1 {
				w.out = append(w.out, w.blank...)
			}
		}
	}
	w.out = append(w.out, w.prefix...)
	w.pending = 0
}

// gap asks for n newlines before the next content. Empty lines among them
// belong to what asks last.
func (w *walker) gap(n int) {
	if len(w.out) > 0 {
		w.pending = max(w.pending, n)
		w.blank = strings.TrimRight(w.prefix, " ")
	}
}

// newLine ends a line, empty ones too.
func (w *walker) newLine() {
	if len(w.out) > 0 {
		w.pending++
		w.blank = strings.TrimRight(w.prefix, " ")
	}
}

// nested runs content with more before each line.
func (w *walker) nested(prefix string, quote bool, content func()) {
	p, q := w.prefix, w.quotes
	if len(w.prefix)+len(prefix) <= maxPrefix {
		w.prefix += prefix
		if quote {
			w.quotes += prefix
		}
	}
	content()
	w.prefix, w.quotes = p, q
}

// verbatim writes lines that keep their own indentation: after quote marks
// alone, and beginning on a line of their own.
func (w *walker) verbatim(s string) {
	p := w.prefix
	w.prefix = w.quotes
	w.prefixed(s)
	w.prefix = p
}

// prefixed writes text line by line, each behind the prefix.
func (w *walker) prefixed(s string) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.newLine()
		}
		w.raw(line)
	}
}

// ownLine makes sure that what comes next begins a line, even after a list
// marker.
func (w *walker) ownLine() {
	if w.pending == 0 {
		w.gap(1)
	}
}

// blocks writes the children of n with gap newlines between them.
func (w *walker) blocks(n ast.Node, gap int) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c != n.FirstChild() {
			w.gap(gap)
		}
		w.block(c)
	}
}

func (w *walker) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		w.d.heading(w, n.Level, func() { w.inlines(n) })
	case *ast.ThematicBreak:
		w.d.rule(w)
	case *ast.CodeBlock:
		w.fence("", n)
	case *ast.FencedCodeBlock:
		w.fence(language(string(n.Language(w.src))), n)
	case *ast.Blockquote:
		w.d.quote(w, func() { w.blocks(n, 2) })
	case *ast.List:
		w.list(n)
	case *ast.HTMLBlock:
		w.literal(n)
	case *east.Table:
		w.table(n)
	case *ast.LinkReferenceDefinition:
	default:
		w.inlines(n)
	}
}

func (w *walker) list(n *ast.List) {
	number := n.Start
	gap := 2
	if n.IsTight {
		gap = 1
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c != n.FirstChild() {
			w.gap(gap)
		}
		marker := w.d.bullet()
		if n.IsOrdered() {
			marker = strconv.Itoa(number) + ". "
			number++
		} else if box, ok := checkbox(c); ok {
			marker = box
		}
		w.raw(marker)
		indent := strings.Repeat(" ", len([]rune(marker)))
		w.nested(indent, false, func() { w.blocks(c, gap) })
	}
}

// checkbox returns the marker of a task list's item.
func checkbox(item ast.Node) (string, bool) {
	if item.FirstChild() == nil {
		return "", false
	}
	box, ok := item.FirstChild().FirstChild().(*east.TaskCheckBox)
	if !ok {
		return "", false
	}
	if box.IsChecked {
		return "☑ ", true
	}
	return "☐ ", true
}

// fence writes the lines of a code block.
func (w *walker) fence(lang string, n ast.Node) {
	var code strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		code.Write(s.Value(w.src))
	}
	text := strings.TrimRight(code.String(), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	w.ownLine()
	w.d.fence(w, lang, text)
}

// literal writes the lines of an HTML block as the text that they are.
func (w *walker) literal(n *ast.HTMLBlock) {
	var text strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		text.Write(s.Value(w.src))
	}
	if n.HasClosure() {
		text.Write(n.ClosureLine.Value(w.src))
	}
	w.lines(strings.TrimRight(breakTags.Replace(text.String()), "\n"))
}

// lines writes literal text of several lines.
func (w *walker) lines(s string) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.newLine()
		}
		if line != "" {
			w.d.text(w, line)
		}
	}
}

var breakTags = strings.NewReplacer("<br>", "\n", "<br/>", "\n", "<br />", "\n")

// language keeps of a fence's info string what names a language.
func language(info string) string {
	end := strings.IndexFunc(info, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("`{}\"'<>&,;:*_~|\\", r)
	})
	if end >= 0 {
		info = info[:end]
	}
	return info[:min(len(info), 32)]
}
