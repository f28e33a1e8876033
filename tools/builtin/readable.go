package builtin

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readable returns the title of an HTML page and its text as simple Markdown:
// headings, list items, links with absolute addresses. Scripts, styles, forms
// and navigation are left out.
func readable(page string, base *url.URL) (title, text string) {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return "", page
	}
	r := &reader{base: base}
	r.walk(root, 0)
	return r.title, strings.TrimSpace(r.out.String())
}

// maxDepth bounds how deep a page is followed; real pages stay far below.
const maxDepth = 500

type reader struct {
	base  *url.URL
	title string
	out   strings.Builder
	pre   int
	// breaks is how many line breaks are due before the next text.
	breaks int
	space  bool
}

func (r *reader) walk(n *html.Node, depth int) {
	if depth > maxDepth {
		return
	}
	switch n.Type {
	case html.TextNode:
		r.text(n.Data)
		return
	case html.ElementNode:
		if r.skip(n) {
			return
		}
	}
	before, after := around(n)
	r.lineBreaks(before)
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.raw(strings.Repeat("#", int(n.Data[1]-'0')) + " ")
	case atom.Li:
		r.raw("- ")
	case atom.Pre:
		r.raw("```\n")
		r.pre++
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		r.walk(child, depth+1)
	}
	switch n.DataAtom {
	case atom.Pre:
		r.pre--
		r.raw("\n```")
	case atom.A:
		r.link(n)
	case atom.Td, atom.Th:
		r.raw(" | ")
	}
	r.lineBreaks(after)
}

func (r *reader) skip(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Nav, atom.Form, atom.Iframe, atom.Button, atom.Select:
		return true
	case atom.Title:
		if n.FirstChild != nil && r.title == "" {
			r.title = strings.Join(strings.Fields(n.FirstChild.Data), " ")
		}
		return true
	}
	for _, a := range n.Attr {
		if a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" {
			return true
		}
	}
	return false
}

// around is how many line breaks stand before and after an element.
func around(n *html.Node) (before, after int) {
	switch n.DataAtom {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Pre, atom.Blockquote, atom.Table, atom.Ul, atom.Ol, atom.Article, atom.Section:
		return 2, 2
	case atom.Div, atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Main, atom.Header, atom.Footer, atom.Figure:
		return 1, 1
	case atom.Br:
		return 0, 1
	default:
		return 0, 0
	}
}

func (r *reader) lineBreaks(n int) {
	r.breaks = max(r.breaks, n)
	r.space = r.space && n == 0
}

func (r *reader) raw(s string) {
	if r.out.Len() > 0 {
		r.out.WriteString(strings.Repeat("\n", r.breaks))
	}
	r.breaks, r.space = 0, false
	r.out.WriteString(s)
}

func (r *reader) text(s string) {
	if r.pre > 0 {
		r.raw(s)
		return
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		r.space = r.space || s != ""
		return
	}
	lead := r.space || s[0] == ' ' || s[0] == '\n' || s[0] == '\t'
	if lead && r.breaks == 0 && r.out.Len() > 0 {
		r.out.WriteByte(' ')
	}
	r.raw(strings.Join(words, " "))
	last := s[len(s)-1]
	r.space = last == ' ' || last == '\n' || last == '\t'
}

// link writes where a link leads, after its text.
func (r *reader) link(n *html.Node) {
	for _, a := range n.Attr {
		if a.Key != "href" || strings.HasPrefix(a.Val, "#") {
			continue
		}
		target, err := r.base.Parse(a.Val)
		if err == nil && (target.Scheme == "http" || target.Scheme == "https") {
			space := r.space
			r.raw(" (" + target.String() + ")")
			r.space = space
		}
	}
}
