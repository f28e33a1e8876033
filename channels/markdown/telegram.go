package markdown

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Entity is a decoration of a Telegram text, as the Bot API's MessageEntity:
// Offset and Length count UTF-16 code units. Type is one of bold, italic,
// strikethrough, code, pre, text_link, blockquote, expandable_blockquote.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

const (
	maxEntities = 100
	// A longer quote is collapsed until the reader opens it.
	longQuote      = 600
	longQuoteLines = 8
)

// Telegram renders src as a text with entities. The text has no white space at
// its ends; it is empty only if src shows nothing. Entities are in order,
// nested or apart, never empty, and have no white space at their ends; code and
// pre contain no other and are in none but a quote; there are at most 100,
// decorations of words going first.
func Telegram(src string) (text string, entities []Entity) {
	src = Clean(src)
	d := &telegram{}
	w := render(src, d)
	if Blank(string(w.out)) && !Blank(src) {
		d.spans = nil
		w.plainOnly(src)
	}
	out := string(w.out)
	text = strings.TrimRightFunc(out, unicode.IsSpace)
	lead := len(text)
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	lead -= len(text)
	if Blank(text) {
		return "", nil
	}
	return text, d.entities(text, lead)
}

// span is an entity at byte offsets of the output.
type span struct {
	kind       string
	start, end int
	arg        string // the URL or the language
}

type telegram struct {
	spans   []span
	open    []span // decorations of words that have begun
	inQuote bool
}

var telegramStyle = [styles]string{bold: "bold", italic: "italic", strike: "strikethrough"}

func (d *telegram) text(w *walker, s string) { w.raw(inertAt(w.before(), s)) }

func (d *telegram) begin(w *walker, s style) {
	d.open = append(d.open, span{kind: telegramStyle[s], start: len(w.out)})
}

func (d *telegram) end(w *walker, _ style) { d.pop(w) }

func (d *telegram) pop(w *walker) {
	last := len(d.open) - 1
	s := d.open[last]
	d.open = d.open[:last]
	s.end = len(w.out)
	d.spans = append(d.spans, s)
}

// code interrupts the decorations around it, which it can't be part of.
func (d *telegram) code(w *walker, s string) {
	if w.inLink {
		w.raw(s)
		return
	}
	for _, o := range d.open {
		o.end = len(w.out)
		d.spans = append(d.spans, o)
	}
	start := len(w.out)
	w.raw(s)
	d.spans = append(d.spans, span{kind: "code", start: start, end: len(w.out)})
	for i := range d.open {
		d.open[i].start = len(w.out)
	}
}

func (d *telegram) fence(w *walker, lang, code string) {
	start := len(w.out)
	w.verbatim(code)
	d.spans = append(d.spans, span{kind: "pre", start: start, end: len(w.out), arg: lang})
}

func (d *telegram) heading(w *walker, _ int, content func()) {
	w.styledBy(bold, content)
}

func (d *telegram) link(w *walker, url string, label func()) {
	d.open = append(d.open, span{kind: "text_link", start: len(w.out), arg: url})
	label()
	d.pop(w)
}

func (d *telegram) bare(w *walker, url string) { w.raw(url) }

// quote is an entity; quotes in quotes, which Telegram refuses, are marked in
// the text.
func (d *telegram) quote(w *walker, content func()) {
	if d.inQuote {
		w.nested("> ", true, func() { w.mark("> "); content() })
		return
	}
	if w.pending == 0 {
		w.gap(1)
	}
	d.inQuote = true
	start := len(w.out)
	content()
	d.inQuote = false
	body := strings.TrimSpace(string(w.out[start:]))
	kind := "blockquote"
	if UTF16Len(body) > longQuote || strings.Count(body, "\n") >= longQuoteLines {
		kind = "expandable_blockquote"
	}
	d.spans = append(d.spans, span{kind: kind, start: start, end: len(w.out)})
}

func (d *telegram) rule(w *walker) { w.raw("———") }

func (d *telegram) bullet() string { return "• " }

// entities turns spans of the output into entities of text, which begins at
// byte lead of it.
func (d *telegram) entities(text string, lead int) []Entity {
	spans := d.spans[:0]
	for _, s := range d.spans {
		s.start, s.end = max(s.start-lead, 0), min(max(s.end-lead, 0), len(text))
		if s.start >= s.end {
			continue
		}
		body := text[s.start:s.end]
		s.start += len(body) - len(strings.TrimLeftFunc(body, unicode.IsSpace))
		s.end -= len(body) - len(strings.TrimRightFunc(body, unicode.IsSpace))
		if s.start < s.end && !Blank(text[s.start:s.end]) {
			spans = append(spans, s)
		}
	}
	spans = capSpans(spans)
	slices.Reverse(spans) // what contains another ended after it
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	return toUTF16(text, spans)
}

// capSpans drops what is over the limit: styles first, from the end.
func capSpans(spans []span) []span {
	for _, minor := range []bool{true, false} {
		for i := len(spans) - 1; i >= 0 && len(spans) > maxEntities; i-- {
			switch k := spans[i].kind; {
			case !minor, k == "bold", k == "italic", k == "strikethrough":
				spans = slices.Delete(spans, i, i+1)
			}
		}
	}
	return spans
}

// toUTF16 converts the byte offsets of spans, in order of their starts, in one
// pass over text.
func toUTF16(text string, spans []span) []Entity {
	if len(spans) == 0 {
		return nil
	}
	type edge struct {
		at  int
		out *int
	}
	entities := make([]Entity, len(spans))
	ends := make([]int, len(spans))
	edges := make([]edge, 0, 2*len(spans))
	for i, s := range spans {
		e := Entity{Type: s.kind}
		switch s.kind {
		case "text_link":
			e.URL = s.arg
		case "pre":
			e.Language = s.arg
		}
		entities[i] = e
		edges = append(edges, edge{s.start, &entities[i].Offset}, edge{s.end, &ends[i]})
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at - b.at })
	at, units := 0, 0
	for _, e := range edges {
		units += UTF16Len(text[at:e.at])
		at = e.at
		*e.out = units
	}
	for i := range entities {
		entities[i].Length = ends[i] - entities[i].Offset
	}
	return entities
}

// zeroWidth keeps a platform from seeing a mention without showing anything.
const zeroWidth = "\u200b"

// addressed reports that an @ after prev is an e-mail address's.
func addressed(prev rune) bool { return prev < utf8.RuneSelf && isWord(prev) }

// inertAt makes @names in s inert; prev is the character before s. Addresses such
// as a@b.example stay.
func inertAt(prev rune, s string) string {
	if strings.IndexByte(s, '@') < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		b.WriteRune(r)
		if r == '@' && !addressed(prev) {
			next, _ := utf8.DecodeRuneInString(s[i+1:])
			if i+1 == len(s) || isWord(next) {
				b.WriteString(zeroWidth)
			}
		}
		prev = r
	}
	return b.String()
}
