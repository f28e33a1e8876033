package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

func (w *walker) inlines(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			c = w.textRun(t)
		} else {
			w.inline(c)
		}
	}
}

// textRun writes t and the text right after it as one, since a mention may
// have been parsed as two, and returns the last node written.
func (w *walker) textRun(t *ast.Text) ast.Node {
	var s strings.Builder
	for {
		part := string(t.Segment.Value(w.src))
		if !t.IsRaw() {
			part = unescape(part)
		}
		s.WriteString(part)
		if t.SoftLineBreak() || t.HardLineBreak() {
			w.literalText(s.String())
			w.gap(1)
			return t
		}
		next, ok := t.NextSibling().(*ast.Text)
		if !ok {
			w.literalText(s.String())
			return t
		}
		t = next
	}
}

func (w *walker) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.String:
		w.literalText(string(n.Value))
	case *ast.CodeSpan:
		if s := spanText(n, w.src); strings.TrimSpace(s) != "" {
			w.d.code(w, s)
		}
	case *ast.Emphasis:
		s := italic
		if n.Level > 1 {
			s = bold
		}
		w.styled(s, n)
	case *east.Strikethrough:
		w.styled(strike, n)
	case *ast.Link:
		w.link(n, string(n.Destination))
	case *ast.Image:
		w.link(n, string(n.Destination))
	case *ast.AutoLink:
		w.d.bare(w, string(n.Label(w.src)))
	case *ast.RawHTML:
		w.rawHTML(n)
	case *east.TaskCheckBox: // is the item's marker
	default:
		w.inlines(n)
	}
}

// literalText writes text whose entities may have brought newlines.
func (w *walker) literalText(s string) {
	if strings.IndexByte(s, '\n') >= 0 {
		w.lines(s)
	} else if s != "" {
		w.d.text(w, s)
	}
}

func (w *walker) styled(s style, n ast.Node) {
	w.styledBy(s, func() { w.inlines(n) })
}

func (w *walker) styledBy(s style, content func()) {
	if w.active[s] {
		content()
		return
	}
	w.active[s] = true
	w.d.begin(w, s)
	content()
	w.d.end(w, s)
	w.active[s] = false
}

func (w *walker) rawHTML(n *ast.RawHTML) {
	var b strings.Builder
	for i := range n.Segments.Len() {
		s := n.Segments.At(i)
		b.Write(s.Value(w.src))
	}
	w.literalText(breakTags.Replace(b.String()))
}

// link writes a link or an image, as a link if it is an honest one.
func (w *walker) link(n ast.Node, dest string) {
	label := strings.TrimSpace(plain(n, w.src))
	target, verdict := checkLink(label, dest)
	switch {
	case Blank(label) && verdict == linkDrop:
	case Blank(label):
		w.d.bare(w, target)
	case verdict == linkOK && !w.inLink:
		w.inLink = true
		w.d.link(w, target, func() { w.inlines(n) })
		w.inLink = false
	case verdict == linkShow:
		w.inlines(n)
		w.raw(" (")
		w.d.bare(w, target)
		w.raw(")")
	default:
		w.inlines(n)
	}
}

// spanText is a code span's content.
func spanText(n ast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(src))
		}
	}
	return strings.TrimSuffix(strings.ReplaceAll(b.String(), "\n", " "), "\n")
}

// plain is the text under n without any decoration.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.WriteString(unescape(string(c.Segment.Value(src))))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.CodeSpan:
			b.WriteString(spanText(c, src))
		case *ast.AutoLink:
			b.Write(c.Label(src))
		default:
			b.WriteString(plain(c, src))
		}
	}
	return b.String()
}

// unescape resolves backslash escapes and character references in one pass, so
// that neither sees what the other made.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 && strings.IndexByte(s, '&') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
		case s[i] == '&':
			n := referenceLen(s[i:])
			b.WriteString(reference(s[i : i+n]))
			i += n
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

// referenceLen is the length of the character reference that s begins with, or
// 1 if it begins with none.
func referenceLen(s string) int {
	end := strings.IndexByte(s[:min(len(s), 40)], ';')
	if end < 2 {
		return 1
	}
	for i := 1; i < end; i++ {
		if !util.IsAlphaNumeric(s[i]) && (i > 1 || s[i] != '#') {
			return 1
		}
	}
	return end + 1
}

func reference(s string) string {
	if len(s) == 1 {
		return s
	}
	var out string
	if s[1] == '#' {
		out = string(util.ResolveNumericReferences([]byte(s)))
	} else {
		out = string(util.ResolveEntityNames([]byte(s)))
	}
	return Clean(out)
}
