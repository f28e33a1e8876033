package pdftext

import (
	"cmp"
	"slices"
	"unicode/utf16"
)

// cmap maps codes to texts or to numbers of glyphs (ISO 32000-1, 9.7.5 and
// 9.10.3).
type cmap struct {
	spaces []span // which codes there are
	texts  []span
	glyphs []span
}

// span is a range of codes.
type span struct {
	low, high int
	bytes     int
	text      []uint16 // what low is; the last unit counts up
	glyph     int
}

// maxSpans and maxSpaces bound a table.
const (
	maxSpans  = 100_000
	maxSpaces = 64
)

func (f *file) cmap(s *stream, depth int) *cmap {
	m := &cmap{}
	if base, ok := f.resolve(s.dict["UseCMap"]).(*stream); ok && depth < 3 {
		m = f.cmap(base, depth+1)
	}
	l := lexer{data: f.decode(s), content: true, left: &f.ops}
	for len(m.texts)+len(m.glyphs)+len(m.spaces) < maxSpans && f.ctx.Err() == nil {
		word, ok := l.next(0).(op)
		switch {
		case !ok:
		case word == endFile:
			m.sort()
			return m
		case word == "begincodespacerange":
			m.read(&l, 2, func(o []object) { m.space(o) })
		case word == "beginbfchar":
			m.read(&l, 2, func(o []object) { m.char(o[0], o[0], o[1]) })
		case word == "beginbfrange":
			m.read(&l, 3, func(o []object) { m.char(o[0], o[1], o[2]) })
		case word == "begincidchar":
			m.read(&l, 2, func(o []object) { m.cidRange(o[0], o[0], o[1]) })
		case word == "begincidrange":
			m.read(&l, 3, func(o []object) { m.cidRange(o[0], o[1], o[2]) })
		}
	}
	m.sort()
	return m
}

// read reads groups of n objects up to the next operator.
func (m *cmap) read(l *lexer, n int, take func([]object)) {
	var group []object
	for range maxSpans * 3 {
		o := l.next(0)
		if _, ends := o.(op); ends {
			return
		}
		if group = append(group, o); len(group) == n {
			take(group)
			group = group[:0]
		}
	}
}

func codeOf(o object) (code, bytes int, ok bool) {
	s, ok := o.(str)
	if !ok || len(s) == 0 || len(s) > 4 {
		return 0, 0, false
	}
	for _, c := range s {
		code = code<<8 | int(c)
	}
	return code, len(s), true
}

func (m *cmap) space(o []object) {
	low, n, ok1 := codeOf(o[0])
	high, _, ok2 := codeOf(o[1])
	if ok1 && ok2 && len(m.spaces) < maxSpaces {
		m.spaces = append(m.spaces, span{low: low, high: high, bytes: n})
	}
}

func (m *cmap) char(from, to, text object) {
	low, _, ok1 := codeOf(from)
	high, _, ok2 := codeOf(to)
	if !ok1 || !ok2 || high < low || len(m.texts) >= maxSpans {
		return
	}
	switch text := text.(type) {
	case str:
		m.texts = append(m.texts, span{low: low, high: high, text: units(text)})
	case array:
		for i, each := range text {
			if s, ok := each.(str); ok && low+i <= high && len(m.texts) < maxSpans {
				m.texts = append(m.texts, span{low: low + i, high: low + i, text: units(s)})
			}
		}
	}
}

func units(s str) []uint16 {
	if len(s) == 1 {
		return []uint16{uint16(s[0])}
	}
	out := make([]uint16, min(len(s)/2, 64))
	for i := range out {
		out[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return out
}

func (m *cmap) cidRange(from, to, glyph object) {
	low, n, ok1 := codeOf(from)
	high, _, ok2 := codeOf(to)
	first, ok3 := glyph.(float64)
	if ok1 && ok2 && ok3 {
		m.glyphs = append(m.glyphs, span{low: low, high: high, bytes: n, glyph: int(first)})
	}
}

func (m *cmap) sort() {
	byLow := func(a, b span) int { return cmp.Compare(a.low, b.low) }
	slices.SortStableFunc(m.texts, byLow)
	slices.SortStableFunc(m.glyphs, byLow)
}

// at finds the last span that begins at or before a code.
func at(spans []span, code int) *span {
	i, found := slices.BinarySearchFunc(spans, code, func(s span, code int) int { return cmp.Compare(s.low, code) })
	if !found {
		i--
	}
	for ; found && i+1 < len(spans) && spans[i+1].low == code; i++ { // the later one counts
	}
	if i < 0 || code > spans[i].high {
		return nil
	}
	return &spans[i]
}

// find returns what a code says.
func (m *cmap) find(code int) (string, bool) {
	s := at(m.texts, code)
	if s == nil {
		return "", false
	}
	if len(s.text) == 0 {
		return "", true
	}
	text := s.text
	if more := code - s.low; more > 0 {
		text = slices.Clone(text)
		text[len(text)-1] += uint16(more)
	}
	return string(utf16.Decode(text)), true
}

// cid is the number of a code's glyph.
func (m *cmap) cid(code int) int {
	if s := at(m.glyphs, code); s != nil {
		return s.glyph + code - s.low
	}
	return code
}

// length is how many bytes the code has that a string begins with.
func (m *cmap) length(s str) int {
	code, least := 0, 4
	for n := 1; n <= min(len(s), 4); n++ {
		code = code<<8 | int(s[n-1])
		for i := range m.spaces {
			if c := &m.spaces[i]; c.bytes == n && code >= c.low && code <= c.high {
				return n
			}
		}
	}
	for i := range m.spaces {
		least = min(least, m.spaces[i].bytes)
	}
	if len(m.spaces) == 0 {
		return 2
	}
	return least
}
