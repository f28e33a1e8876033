package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// cut is a place where a text may be divided.
type cut struct {
	at    int    // offset of what comes after
	rank  int    // the lower the better
	close string // ends what is open before it
	next  resume // and begins it again after it
}

// Ranks of cuts. Between blocks it is the depth of nesting.
const (
	rankRow  = 3
	rankPart = 4 // code after an empty line
	rankCode = 5
	rankLine = 6
	rankBad  = 7 // separates what belongs together
)

type leafKind uint8

const (
	leafText leafKind = iota
	leafFence
	leafOther
)

// leaf is a block without blocks in it.
type leaf struct {
	start int // of its first line
	body  int // of its own text in it
	stop  int // where its text ends, if before the next block; 0 if not
	kind  leafKind
	path  path
	open  string // fence: the line that opens it; text: a heading's marker
	close string // fence: its marker
}

// outline is what a view consists of.
type outline struct {
	src    string
	cuts   []cut
	leaves []leaf
	last   ast.Node
}

func newOutline(src string) *outline {
	o := &outline{src: src}
	o.blocks(parse([]byte(src)), place{})
	return o
}

// place is where a block stands: outer is the nesting at the start of its
// line, path that of its later lines.
type place struct {
	outer, path path
	depth       int // of the outermost block that begins in the same line
	nested      int
}

func (o *outline) blocks(n ast.Node, p place) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		q := p
		if c != n.FirstChild() {
			q.outer, q.depth = p.path, p.nested
		}
		o.block(c, q)
	}
}

func (o *outline) block(n ast.Node, p place) {
	inner := p
	inner.nested++
	switch n := n.(type) {
	case *ast.List:
		o.blocks(n, inner)
	case *ast.ListItem:
		inner.path = p.path.item(n.Offset)
		if n.HasChildren() {
			o.blocks(n, inner)
			return
		}
		o.leaf(n, p)
	case *ast.Blockquote:
		inner.path = p.path.quote()
		o.blocks(n, inner)
	default:
		o.leaf(n, p)
	}
}

// leaf adds a block and the cut before it.
func (o *outline) leaf(n ast.Node, p place) {
	pos := n.Pos()
	if pos < 0 {
		return
	}
	start := lineStart(o.src, pos)
	l := leaf{start: start, body: pos, path: p.path, kind: leafOther}
	if start > 0 {
		o.add(cut{at: start, rank: o.rank(n, p.depth), next: resume{path: p.outer}})
	}
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		l.kind, l.open = leafFence, strings.TrimSpace(line(o.src, pos))
		l.close = l.open[:len(l.open)-len(strings.TrimLeft(l.open, l.open[:1]))]
		if lines := n.Lines(); lines.Len() > 0 {
			l.stop = lines.At(lines.Len() - 1).Stop
		}
		o.fenceLines(n, l)
	case *ast.CodeBlock:
		for i := 1; i < n.Lines().Len(); i++ {
			at := lineStart(o.src, n.Lines().At(i).Start)
			o.add(cut{at: at, rank: rankCode, next: resume{path: p.path}})
		}
	case *east.Table:
		o.rows(n, l)
	case *ast.Heading:
		l.kind, l.open = leafText, strings.Repeat("#", n.Level)+" "
	case *ast.Paragraph, *ast.TextBlock:
		l.kind = leafText
		o.textLines(n, l)
	}
	o.leaves = append(o.leaves, l)
	o.last = n
}

func (o *outline) add(c cut) {
	if len(o.cuts) == 0 || o.cuts[len(o.cuts)-1].at < c.at {
		o.cuts = append(o.cuts, c)
	}
}

// rank of a cut before n: a heading, or a line that announces what follows, is
// not left alone.
func (o *outline) rank(n ast.Node, depth int) int {
	switch last := o.last.(type) {
	case *ast.Heading:
		return rankBad
	case *ast.Paragraph, *ast.TextBlock:
		if s := last.Lines(); s.Len() > 0 && n.Kind() != ast.KindParagraph {
			end := s.At(s.Len() - 1)
			if strings.HasSuffix(strings.TrimSpace(o.src[end.Start:end.Stop]), ":") {
				return min(depth, 1) + rankPart
			}
		}
	}
	return min(depth, rankRow)
}

func (o *outline) fenceLines(n *ast.FencedCodeBlock, l leaf) {
	for i := 1; i < n.Lines().Len(); i++ {
		at := lineStart(o.src, n.Lines().At(i).Start)
		before := n.Lines().At(i - 1)
		rank := rankCode
		if strings.TrimSpace(o.src[before.Start:before.Stop]) == "" {
			rank = rankPart
		}
		c := l.fenceCut(at)
		c.rank = rank
		o.add(c)
	}
}

// fenceCut divides a code block: closed before, opened again after.
func (l leaf) fenceCut(at int) cut {
	return cut{
		at: at, close: "\n" + l.path.lead() + l.close,
		next: resume{path: l.path, prefix: l.path.marks() + l.open + "\n"},
	}
}

// rows adds a cut before each row but the first, which says the header again.
func (o *outline) rows(n *east.Table, l leaf) {
	body := n.FirstChild().NextSibling()
	if body == nil {
		return
	}
	first := line(o.src, l.body)
	second := line(o.src, l.body+len(first)+1)
	prefix := ""
	if _, marks, _, inside := l.path.measure(second); inside {
		second = strings.TrimLeft(second, " \t")
		second = strings.TrimSpace(second[min(marks, len(second)):])
		prefix = l.path.marks() + strings.TrimSpace(first) + "\n" + l.path.marks() + second + "\n"
	}
	for r := body.NextSibling(); r != nil; r = r.NextSibling() {
		o.add(cut{at: lineStart(o.src, r.Pos()), rank: rankRow, next: resume{path: l.path, prefix: prefix}})
	}
}

// textLines adds a cut before each line of a paragraph but the first.
func (o *outline) textLines(n ast.Node, l leaf) {
	if n.Lines().Len() < 2 {
		return
	}
	end := n.Lines().At(n.Lines().Len() - 1).Stop
	spans := scanInline(o.src[l.body:end]).spans
	for i := 1; i < n.Lines().Len(); i++ {
		c := l.textCut(n.Lines().At(i).Start, spans)
		c.rank = rankLine
		o.add(c)
	}
}

// textCut divides a paragraph: decorations are closed before and opened again
// after. spans are relative to the leaf's body.
func (l leaf) textCut(at int, spans []inlineSpan) cut {
	var opened, closed string
	for _, s := range spans {
		if s.start+len(s.marker) < at-l.body && at-l.body <= s.end && s.marker != "" {
			opened += s.marker
			closed = s.marker + closed
		}
	}
	prefix := l.path.marks() + l.open + opened
	return cut{at: at, close: closed, next: resume{path: l.path, prefix: prefix, inLine: true}}
}

func lineStart(s string, at int) int {
	return strings.LastIndexByte(s[:min(at, len(s))], '\n') + 1
}

// line is the line of s from at on, without its end.
func line(s string, at int) string {
	s = s[min(at, len(s)):]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i]
	}
	return s
}
