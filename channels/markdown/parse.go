package markdown

import (
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

// parse returns the syntax tree of CommonMark with GFM.
func parse(src []byte) ast.Node {
	return grammar().Parse(text.NewReader(src))
}
