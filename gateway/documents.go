package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"clawbot/agentcore"
	"clawbot/internal/pdftext"
)

const (
	// textTime bounds how long the text of one document is looked for, and
	// textsAtOnce how many are looked through at a time: a large one takes
	// memory.
	textTime    = 10 * time.Second
	textsAtOnce = 2
)

// text is what a document is to a model that does not take it: what it says,
// as far as that can be taken out of it and is not too long, or why not.
func (c *media) text(ctx context.Context, f *file) (string, error) {
	found, err := c.extract(ctx, f.Ref)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	name := displayName(f.Name)
	switch {
	case errors.Is(err, pdftext.ErrProtected):
		return unreadDocument(name, "it is protected by a password"), nil
	case errors.Is(err, pdftext.ErrNoText):
		return unreadDocument(name, fmt.Sprintf("its %d pages hold pictures and no text, as of a scan, and the model that I use does not take such files", found.Pages)), nil
	case err != nil:
		agentcore.LoggerOf(ctx, c.log).Info("a document's text was not found", "blob", f.Ref, "err", err)
		return unreadDocument(name, "it is damaged, or of a kind that no text can be taken out of"), nil
	}
	if found.Cut {
		found.Text += fmt.Sprintf("\n[only the first %d kB are shown; the file has %d pages]", maxInline>>10, found.Pages)
	}
	return f.quoted(found.Text), nil
}

// unreadDocument stands for a document that says nothing to a model.
func unreadDocument(name, why string) string {
	return fmt.Sprintf("%syou can't see %s: %s. Tell the user so%s", markOpen, name, why, markClose)
}

// extract takes the text out of a stored document.
func (c *media) extract(ctx context.Context, ref string) (pdftext.Text, error) {
	c.mu.Lock()
	if c.texts == nil {
		c.texts = make(chan struct{}, textsAtOnce)
	}
	c.mu.Unlock()
	select {
	case c.texts <- struct{}{}:
		defer func() { <-c.texts }()
	case <-ctx.Done():
		return pdftext.Text{}, context.Cause(ctx)
	}
	body, err := c.blobs.Open(ctx, ref)
	if err != nil {
		return pdftext.Text{}, err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, maxFile))
	if err != nil {
		return pdftext.Text{}, err
	}
	short, cancel := context.WithTimeout(ctx, textTime)
	defer cancel()
	return pdftext.Extract(short, data, maxInline)
}

// decodeText reads a text file: UTF-8, UTF-16 with a byte order mark (which
// spreadsheets write), else the Western European letters of Windows.
func decodeText(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return utf16Text(data[2:], 0, 1)
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return utf16Text(data[2:], 1, 0)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if mostlyUTF8(data) {
		return string(data) // what is broken in it is mended by whoever cleans it
	}
	var b strings.Builder
	for _, c := range data {
		if c >= 0x80 && c < 0xA0 {
			b.WriteRune(windowsLetters[c-0x80])
			continue
		}
		b.WriteRune(rune(c))
	}
	return b.String()
}

// mostlyUTF8 reports whether more of what is not ASCII is UTF-8 than is not.
func mostlyUTF8(data []byte) bool {
	valid, broken := 0, 0
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && n == 1:
			broken++
		case n > 1:
			valid++
		}
		data = data[n:]
	}
	return valid >= broken
}

// windowsLetters are the codes from 80 to 9F of Windows-1252.
var windowsLetters = [32]rune{
	'€', 0xFFFD, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0xFFFD, 'Ž', 0xFFFD,
	0xFFFD, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0xFFFD, 'ž', 'Ÿ',
}

func utf16Text(data []byte, low, high int) string {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = uint16(data[2*i+low]) | uint16(data[2*i+high])<<8
	}
	return string(utf16.Decode(units))
}
