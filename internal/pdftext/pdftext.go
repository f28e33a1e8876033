package pdftext

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Why a file gives no text.
var (
	// ErrProtected: the file can be opened with a password only.
	ErrProtected = errors.New("pdftext: the file is protected by a password")
	// ErrNoText: there is no text in it, as in a scan.
	ErrNoText = errors.New("pdftext: the file holds no text")
	// ErrDamaged: it is no PDF, or too damaged.
	ErrDamaged = errors.New("pdftext: the file is damaged")
)

// Bounds of one file.
const (
	maxDecoded = 96 << 20 // bytes of all decoded streams
	maxStream  = 24 << 20 // bytes of one
	maxObjects = 400_000
	maxPages   = 5_000
	maxOps     = 2_000_000 // operators and operands of all pages
	maxDepth   = 64
	maxForms   = 12 // forms within forms
)

// Text is what a file says.
type Text struct {
	Text  string // pages are separated by a line "[page N]"
	Pages int    // how many there are
	Cut   bool   // there is more
}

// Extract returns the text of a PDF file, at most max bytes of it. It is
// bounded in memory by some ten times the file's size, and in time by ctx.
func Extract(ctx context.Context, data []byte, max int) (out Text, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = Text{}, fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	return extract(ctx, data, max)
}

func extract(ctx context.Context, data []byte, max int) (Text, error) {
	f := &file{ctx: ctx, data: data, left: maxDecoded, ops: maxOps}
	if err := f.open(); err != nil {
		return Text{}, err
	}
	pages := f.pages()
	if err := context.Cause(ctx); err != nil {
		return Text{}, err
	}
	if len(pages) == 0 {
		return Text{}, ErrDamaged
	}
	w := &layout{max: max}
	for i, p := range pages {
		if len(pages) > 1 {
			w.page(i + 1)
		}
		f.show(p, w)
		if err := context.Cause(ctx); err != nil {
			return Text{}, err
		}
		if w.full() || f.ops <= 0 {
			break
		}
	}
	text := w.text()
	if strings.TrimSpace(w.said.String()) == "" {
		return Text{Pages: len(pages)}, ErrNoText
	}
	return Text{Text: text, Pages: len(pages), Cut: w.full() || f.ops <= 0}, nil
}
