package markdown

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Chunk is a part of a text that stands on its own.
type Chunk struct {
	// Text is the Markdown to show: the source from Start to End, where a code
	// block, a table or a decoration that was cut is closed at the end and
	// opened again at the beginning of the next chunk.
	Text string
	// Start and End are byte offsets in the source. Chunks follow each other
	// without a gap.
	Start, End int

	next resume
}

// Split divides src into chunks whose measure is at most limit, at the best
// boundary that leaves no chunk much smaller than it has to be: between blocks,
// then list items, table rows, lines, sentences, words, graphemes. measure
// gets Markdown and returns its length as shown, in the unit of limit; nil
// counts UTF-16 units of the Markdown itself.
//
// The sources of the chunks make up src. None is over limit unless a single
// character is. A src that shows nothing gives no chunks.
func Split(src string, limit int, measure func(string) int) []Chunk {
	return SplitAfter(Chunk{}, src, limit, measure)
}

// SplitAfter is Split of a text whose earlier part ended with chunk last: src
// begins where last ended, and what was open there is opened again. Offsets are
// in src. The cost does not depend on what came before.
func SplitAfter(last Chunk, src string, limit int, measure func(string) int) []Chunk {
	if measure == nil {
		measure = UTF16Len
	}
	s := splitter{limit: max(limit, 1), measure: measure}
	var chunks []Chunk
	from, at, start := last.next, 0, 0
	for at < len(src) {
		c := s.next(src[at:], from)
		at, from = at+c.End, c.next
		if Blank(c.Text) { // goes with what comes before or after
			if n := len(chunks); n > 0 {
				chunks[n-1].End, chunks[n-1].next, start = at, from, at
			}
			continue
		}
		c.Start, c.End, start = start, at, at
		chunks = append(chunks, c)
	}
	return chunks
}

type splitter struct {
	limit   int
	measure func(string) int
}

// next returns the first chunk of src; offsets are relative to src.
func (s *splitter) next(src string, from resume) Chunk {
	for window := 2*s.limit + 1024; ; window *= 2 {
		rest := src
		whole := window >= len(src)
		if !whole {
			rest = src[:window+strings.IndexByte(src[window:], '\n')+1]
			if len(rest) <= window {
				rest = src[:window]
			}
			whole = len(rest) == len(src)
		}
		v := newView(rest, from)
		if blankRest(rest, from) && whole {
			return Chunk{End: len(src)}
		}
		text := finish(v.text, "")
		size := UTF16Len(text)
		if whole {
			if size = s.measure(text); size <= s.limit {
				return Chunk{Text: text, End: len(src)}
			}
		}
		c, filled, ok := s.search(v, size)
		if !whole && filled < s.limit/2 && c.at > len(v.text)/2 {
			continue // much of the source is not shown: there is room for more
		}
		if !ok && from.prefix != "" {
			return s.next(src, resume{path: from.path, inLine: from.inLine})
		}
		text = finish(v.text[:c.at], c.close)
		switch {
		case Blank(v.text[v.prefix:c.at]):
			text = ""
		case !ok:
			text = strings.TrimSpace(text) // no room for indentation
		}
		return Chunk{Text: text, End: v.source(c.at, c.next.inLine), next: v.then(c.at, c.next)}
	}
}

// blankRest reports that nothing is left to show: white space, or the line
// that closes a code block.
func blankRest(rest string, from resume) bool {
	if from.prefix != "" {
		rest = strings.Trim(rest, "`~> \t\r\n")
	}
	return Blank(rest)
}

// finish trims empty lines around text and appends what closes it.
func finish(text, closing string) string {
	text = strings.TrimRight(text, " \t\r\n")
	for {
		first, rest, found := strings.Cut(text, "\n")
		if !found || strings.TrimSpace(first) != "" {
			return text + closing
		}
		text = rest
	}
}

// fit measures a chunk that ends at c.
func (s *splitter) fit(v *view, c cut) (size int, ok bool) {
	if c.at <= v.prefix || Blank(v.text[v.prefix:c.at]) {
		return 0, true
	}
	size = s.measure(finish(v.text[:c.at], c.close))
	return size, size <= s.limit
}

// search finds the cut of v, whose measure is about size, and how full it makes
// the chunk at most. ok is false if only something that is over the limit was
// found.
func (s *splitter) search(v *view, size int) (c cut, filled int, ok bool) {
	o := newOutline(v.text)
	cuts := o.cuts
	for len(cuts) > 0 && Blank(v.text[min(v.prefix, cuts[0].at):cuts[0].at]) {
		cuts = cuts[1:]
	}
	i, filled := s.last(v, listed(cuts), size)
	if i >= 0 && filled >= s.limit/3 {
		return s.best(v, listed(cuts), i), filled, true
	}
	begin, end := v.prefix, len(v.text)
	if i >= 0 {
		begin = cuts[i].at
	}
	if i+1 < len(cuts) {
		end = cuts[i+1].at
	}
	if c, filled, ok := s.within(v, o, begin, end, size); ok {
		return c, filled, true
	}
	if i >= 0 {
		return s.best(v, listed(cuts), i), filled, true
	}
	c, ok = s.smallest(v, o)
	return c, s.limit, ok
}

// candidates are places to cut, in order.
type candidates struct {
	n    int
	at   func(i int) int
	rank func(i int) int
	cut  func(i int) cut
}

func listed(cuts []cut) candidates {
	return candidates{
		n:    len(cuts),
		at:   func(i int) int { return cuts[i].at },
		rank: func(i int) int { return cuts[i].rank },
		cut:  func(i int) cut { return cuts[i] },
	}
}

// last finds the index of the last candidate that fits, or one that nearly
// fills the limit, and what it measures; -1 if none fits. It guesses from the
// density so far, since measuring is what costs.
func (s *splitter) last(v *view, cs candidates, size int) (index, filled int) {
	lo, hi, filled := -1, cs.n, 0
	at, total := 0, max(size, 1)
	length := len(v.text)
	for try := 0; hi-lo > 1; try++ {
		i := (lo + hi) / 2
		if try%3 != 2 {
			guess := at + (s.limit-filled)*length/total
			i = sort.Search(cs.n, func(k int) bool { return cs.at(k) > guess }) - 1
			i = min(max(i, lo+1), hi-1)
		}
		n, ok := s.fit(v, cs.cut(i))
		if n > 0 {
			length, total = cs.at(i), n
		}
		if !ok {
			hi = i
			continue
		}
		lo, filled, at = i, n, cs.at(i)
		if filled >= s.limit-s.limit/8 {
			break
		}
	}
	for lo >= 0 && lo+1 < cs.n && strings.Trim(v.text[cs.at(lo):cs.at(lo+1)], " \t\r\n") == "" {
		if _, ok := s.fit(v, cs.cut(lo+1)); !ok {
			break
		}
		lo++ // white space at the end is not shown
	}
	return lo, filled
}

// best is the best boundary in the second half of what fits, which ends with
// candidate last.
func (s *splitter) best(v *view, cs candidates, last int) cut {
	found := last
	half := v.prefix + (cs.at(last)-v.prefix)/2
	for i := last; i >= 0 && cs.at(i) >= half; i-- {
		if cs.rank(i) < cs.rank(found) {
			found = i
		}
	}
	if found != last {
		if _, ok := s.fit(v, cs.cut(found)); !ok {
			found = last
		}
	}
	return cs.cut(found)
}

// within cuts a block between two offsets: after a sentence, a word or a
// grapheme.
func (s *splitter) within(v *view, o *outline, begin, end, size int) (c cut, filled int, ok bool) {
	l, to, spans := o.leafAt(begin)
	reach := (s.limit*len(v.text)/max(size, 1))*3/2 + 64
	all, free := graphemes(v.text, begin, min(end, to, begin+reach), l, spans)
	for _, way := range []struct {
		bounds []int
		bare   bool
	}{{free, false}, {all, false}, {all, true}} {
		if way.bare && begin > v.prefix {
			break // what comes before fits on its own
		}
		cs := candidates{
			n:    len(way.bounds),
			at:   func(i int) int { return way.bounds[i] },
			rank: func(i int) int { return boundary(v.text, way.bounds[i]) },
			cut:  func(i int) cut { return l.innerCut(way.bounds[i], spans, way.bare) },
		}
		if i, filled := s.last(v, cs, size); i >= 0 {
			return s.best(v, cs, i), filled, true
		}
	}
	return cut{}, 0, false
}

// smallest cuts anywhere between graphemes or, if a single one is too long,
// between its characters.
func (s *splitter) smallest(v *view, o *outline) (cut, bool) {
	begin := v.prefix + len(v.text[v.prefix:]) - len(strings.TrimLeft(v.text[v.prefix:], " \t\r\n"))
	bounds, _ := graphemes(v.text, begin, min(len(v.text), begin+4*s.limit+64), leaf{}, nil)
	l, _, _ := o.leafAt(begin)
	plainCut := func(at int) cut { return cut{at: at, next: resume{path: l.path, inLine: true}} }
	cs := candidates{n: len(bounds), at: func(i int) int { return bounds[i] }, cut: func(i int) cut { return plainCut(bounds[i]) }}
	if i, _ := s.last(v, cs, s.limit); i >= 0 {
		return plainCut(bounds[i]), true
	}
	end := begin
	for i, r := range v.text[begin:] {
		next := begin + i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size := utf8.DecodeRuneInString(v.text[begin+i:])
			next = begin + i + size
		}
		if _, ok := s.fit(v, plainCut(next)); !ok && end > begin {
			break
		} else if end = next; !ok {
			break
		}
	}
	return plainCut(end), false
}

// leafAt is the block at an offset, where it ends, and its decorations.
func (o *outline) leafAt(at int) (l leaf, end int, spans []inlineSpan) {
	i := sort.Search(len(o.leaves), func(k int) bool { return o.leaves[k].start > at }) - 1
	end = len(o.src)
	if i+1 < len(o.leaves) {
		end = o.leaves[i+1].start
	}
	if i < 0 {
		return leaf{kind: leafOther}, end, nil
	}
	l = o.leaves[i]
	if l.kind == leafText {
		spans = scanInline(o.src[l.body:end]).spans
	}
	return l, end, spans
}

// innerCut is a cut at any place of a block; bare does not open again what was
// open, for when there is no room for it.
func (l leaf) innerCut(at int, spans []inlineSpan, bare bool) cut {
	switch {
	case bare || l.kind == leafOther:
		return cut{at: at, next: resume{path: l.path, prefix: l.path.marks(), inLine: true}}
	case l.kind == leafFence:
		c := l.fenceCut(at)
		c.next.prefix += l.path.marks()
		c.next.inLine = true
		return c
	default:
		return l.textCut(at, spans)
	}
}

// graphemes lists where text can be cut between two offsets, between graphemes,
// and those among them that are free: in no marker and no link.
func graphemes(text string, begin, end int, l leaf, spans []inlineSpan) (all, free []int) {
	begin = max(begin, l.body)
	if l.stop > 0 {
		end = min(end, l.stop-1)
	}
	if l.kind == leafFence && begin < l.body+len(l.open) {
		begin = min(l.body+len(l.open)+1, end)
	}
	if begin >= end {
		return nil, nil
	}
	state, rest := -1, text[begin:end]
	for at := begin; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(cluster)
		if at >= len(text) || at == end && rest == "" && end < len(text) && begin+4 < end {
			break
		}
		if strings.TrimSpace(text[begin:at]) == "" {
			continue
		}
		all = append(all, at)
		if uncut(spans, at-l.body) {
			free = append(free, at)
		}
	}
	return all, free
}

// uncut reports that offset at is in no link and no marker.
func uncut(spans []inlineSpan, at int) bool {
	for _, s := range spans {
		if s.marker == "" && s.start < at && at < s.end ||
			s.marker != "" && (s.start < at && at <= s.start+len(s.marker) || s.end <= at && at < s.end+len(s.marker)) {
			return false
		}
	}
	return true
}

// boundary ranks a place in a text: after a line, a sentence, a word, within.
func boundary(text string, at int) int {
	before := text[:at]
	if !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, "\n") {
		if strings.HasSuffix(before, "。") || strings.HasSuffix(before, "！") || strings.HasSuffix(before, "？") {
			return 1
		}
		return 3
	}
	word := strings.TrimRight(before[max(0, len(before)-8):], " ")
	if strings.HasSuffix(word, "\n") {
		return 0
	}
	if word != "" && strings.IndexByte(".!?:;", word[len(word)-1]) >= 0 {
		return 1
	}
	return 2
}
