package markdown

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// grammar is built once; goldmark's parser is safe for concurrent use.
var grammar = sync.OnceValue(func() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
})

// parse returns the syntax tree of CommonMark with GFM. What no person writes is
// one paragraph of plain text: the parser's time grows with the square of what
// a paragraph leaves open, and of what is nested in a line.
func parse(src []byte) ast.Node {
	if tangled(src) {
		return plainTree(src)
	}
	return grammar().Parse(text.NewReader(src))
}

// The bounds of a text that is parsed: brackets and marks of one paragraph, and
// markers of blocks that a line begins with.
const (
	maxBrackets = 1500
	maxMarks    = 3000
	maxNested   = 64
)

// tangled reports whether a text is beyond the bounds. The cost is linear.
func tangled(src []byte) bool {
	brackets, marks := 0, 0
	for len(src) > 0 {
		line := src
		if i := bytes.IndexByte(src, '\n'); i >= 0 {
			line = src[:i+1]
		}
		src = src[len(line):]
		if len(bytes.TrimSpace(line)) == 0 {
			brackets, marks = 0, 0
			continue
		}
		if n := nested(line); n > maxNested {
			return true
		} else if n > 0 {
			brackets, marks = 0, 0 // a block of its own
		}
		for _, c := range line {
			switch c {
			case '[', ']', '(', '<', '@':
				brackets++
			case '*', '_', '~':
				marks++
			}
		}
		if brackets > maxBrackets || marks > maxMarks {
			return true
		}
	}
	return false
}

// nested counts the markers of quotes and lists that a line begins with.
func nested(line []byte) (n int) {
	for i, c := range line {
		switch c {
		case ' ', '\t', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		case '>', '-', '+', '.', ')':
			n++
		case '*':
			if i+1 < len(line) && line[i+1] != ' ' {
				return n
			}
			n++
		default:
			return n
		}
	}
	return n
}

// plainTree is a text whose paragraphs are nothing but text.
func plainTree(src []byte) ast.Node {
	doc := ast.NewDocument()
	var p *ast.Paragraph
	for at := 0; at < len(src); {
		end, next := len(src), len(src)
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			end, next = at+i, at+i+1
		}
		if len(bytes.TrimSpace(src[at:end])) == 0 {
			p, at = nil, next
			continue
		}
		if p == nil {
			p = ast.NewParagraph()
			doc.AppendChild(doc, p)
		} else if last, ok := p.LastChild().(*ast.Text); ok {
			last.SetSoftLineBreak(true)
		}
		t := ast.NewTextSegment(text.NewSegment(at, end))
		p.AppendChild(p, t)
		p.Lines().Append(text.NewSegment(at, next))
		at = next
	}
	return doc
}
