package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxQuery = 16 // words of a query
	// leastPrefix is how many letters a word must have to be found by them alone
	// at the beginning of longer ones: shorter ones begin half of all words.
	leastPrefix = 4
)

// Query is what is looked for: texts that have all its terms. The zero value
// finds nothing.
type Query struct {
	terms []piece
}

// Parse reads a query. Whatever it has beside words is passed over.
func Parse(text string) Query {
	var q Query
	for _, p := range pieces(clean(text)) {
		if !p.run {
			p.text = cut(p.text)
		}
		if len(q.terms) < maxQuery && !slices.ContainsFunc(q.terms, func(t piece) bool { return t.text == p.text }) {
			q.terms = append(q.terms, p)
		}
	}
	return q
}

// Empty reports whether there is no word in the query.
func (q Query) Empty() bool { return len(q.terms) == 0 }

// Term is what the words of a text that fits must have: this word, or one that
// begins with it.
type Term struct {
	Word   string
	Prefix bool
}

// Terms are necessary for a text to match, but not sufficient: its letters may
// stand in another order.
func (q Query) Terms() []Term {
	var out []Term
	for _, t := range q.terms {
		switch {
		case !t.run:
			out = append(out, Term{t.text, t.prefix()})
		case utf8.RuneCountInString(t.text) == 1:
			out = append(out, Term{t.text, true})
		default:
			for pair := range pairs(t.text) {
				out = append(out, Term{pair, false})
			}
		}
	}
	return out
}

func (t piece) prefix() bool {
	return len(t.text) < maxWord && utf8.RuneCountInString(t.text) >= leastPrefix
}

// in reports whether the term is in a piece of a text, and at which byte of the
// piece.
func (t piece) in(p piece) (int, bool) {
	switch {
	case t.run != p.run:
		return 0, false
	case t.run:
		i := strings.Index(p.text, t.text)
		return i, i >= 0
	case t.prefix():
		return 0, strings.HasPrefix(p.text, t.text)
	}
	return 0, cut(p.text) == t.text
}

// Match reports whether the text has all terms, and returns the passage around
// the first of them, of about size bytes, with an ellipsis where it was cut.
func (q Query) Match(text string, size int) (passage string, ok bool) {
	text = clean(text)
	all := pieces(text)
	first := len(text)
	for _, t := range q.terms {
		found := false
		for _, p := range all {
			var i int
			if i, found = t.in(p); found {
				first = min(first, p.at+i)
				break
			}
		}
		if !found {
			return "", false
		}
	}
	if q.Empty() {
		return "", false
	}
	return around(text, first, size), true
}

// around is the passage of a text that has the byte at a third of it.
func around(text string, at, size int) string {
	from := max(0, at-size/3)
	to := min(len(text), from+size)
	from = max(0, min(from, to-size))
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	passage := strings.Join(strings.Fields(text[from:to]), " ")
	if from > 0 {
		passage = "…" + passage
	}
	if to < len(text) {
		passage += "…"
	}
	return passage
}
