package markdown

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// inlineSpan is a decorated stretch: from its opening marker's first byte to
// its closing marker's first byte. A link has no marker and must not be cut.
type inlineSpan struct {
	start, end int
	marker     string

	run  int  // length of the run that opened it
	both bool // that run could close, too
}

// inlineScan is what a paragraph's markers mean.
type inlineScan struct {
	spans []inlineSpan // in order of their starts
	// open are the markers that nothing closes, in order.
	open []inlineSpan
	// link is the start of a link that has begun and not ended; -1 if none.
	link int
}

// scanInline finds the decorations of one paragraph. It follows CommonMark's
// rules for what opens and closes closely enough to close and open them again
// where a text is cut; what it mistakes is shown as it was written.
func scanInline(s string) inlineScan {
	r := inlineScan{link: -1}
	var brackets []int
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\\':
			i += 2
		case '`':
			i = r.codeSpan(s, i)
		case '*', '_', '~':
			i = r.delimiter(s, i)
		case '[':
			brackets = append(brackets, i)
			i++
		case ']':
			if len(brackets) == 0 {
				i++
				break
			}
			begin := brackets[len(brackets)-1]
			brackets = brackets[:len(brackets)-1]
			i = r.destination(s, begin, i+1)
		case '<':
			i = r.angle(s, i)
		default:
			i++
		}
	}
	if len(brackets) > 0 {
		r.hold(brackets[len(brackets)-1])
	}
	if r.link > 0 && s[r.link-1] == '!' {
		r.link--
	}
	slices.SortStableFunc(r.spans, func(a, b inlineSpan) int {
		return cmp.Or(a.start-b.start, b.end-a.end)
	})
	return r
}

// runLen is the length of the run of the byte at i.
func runLen(s string, i int) int {
	n := 1
	for i+n < len(s) && s[i+n] == s[i] {
		n++
	}
	return n
}

func (r *inlineScan) codeSpan(s string, i int) int {
	n := runLen(s, i)
	marker := s[i : i+n]
	for j := i + n; j < len(s); {
		if s[j] != '`' {
			j++
			continue
		}
		m := runLen(s, j)
		if m == n {
			r.spans = append(r.spans, inlineSpan{start: i, end: j, marker: marker})
			return j + m
		}
		j += m
	}
	// Nothing closes it here. While a text streams, all of it is code.
	r.open = append(r.open, inlineSpan{start: i, end: len(s), marker: marker})
	return i + n
}

// destination reads what follows a label that began at begin.
func (r *inlineScan) destination(s string, begin, i int) int {
	if i >= len(s) {
		r.hold(begin)
		return i
	}
	if s[i] != '(' {
		return i
	}
	depth := 0
	for j := i; j < min(len(s), i+2*maxURL); j++ {
		switch s[j] {
		case '\\':
			j++
		case '(':
			depth++
		case ')':
			depth--
			if depth == 0 {
				r.spans = append(r.spans, inlineSpan{start: begin, end: j + 1})
				for len(r.open) > 0 && r.open[len(r.open)-1].start > begin {
					r.open = r.open[:len(r.open)-1]
				}
				if r.link > begin {
					r.link = -1
				}
				return j + 1
			}
		case '\n':
			if j+1 < len(s) && s[j+1] == '\n' {
				return i
			}
		}
	}
	if len(s)-i < 2*maxURL {
		r.hold(begin)
	}
	return i
}

// angle reads an autolink or a tag.
func (r *inlineScan) angle(s string, i int) int {
	for j := i + 1; j < min(len(s), i+maxURL); j++ {
		switch s[j] {
		case '>':
			r.spans = append(r.spans, inlineSpan{start: i, end: j + 1})
			return j + 1
		case ' ', '\n', '<':
			return i + 1
		}
	}
	if len(s)-i < maxURL {
		r.hold(i)
	}
	return i + 1
}

// hold notes a link that has begun at an offset and not ended.
func (r *inlineScan) hold(at int) {
	if r.link < 0 || at < r.link {
		r.link = at
	}
}

// delimiter reads a run of *, _ or ~.
func (r *inlineScan) delimiter(s string, i int) int {
	n := runLen(s, i)
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	opens, closes := flanking(s[i], before, after, i == 0, i+n == len(s))
	if s[i] == '~' && n > 2 {
		return i + n
	}
	left := n
	for closes && left > 0 {
		k := r.opener(s[i], n, opens)
		if k < 0 {
			break
		}
		o := r.open[k]
		use := min(len(o.marker), left)
		if s[i] == '~' && use != len(o.marker) {
			break
		}
		use = min(use, 2)
		r.spans = append(r.spans, inlineSpan{start: o.start + len(o.marker) - use, end: i + n - left, marker: o.marker[:use]})
		left -= use
		r.open = r.open[:k]
		if rest := len(o.marker) - use; rest > 0 {
			o.marker = o.marker[:rest]
			r.open = append(r.open, o)
		}
	}
	if opens && left > 0 {
		r.open = append(r.open, inlineSpan{start: i + n - left, end: len(s), marker: s[i : i+left], run: n, both: closes})
	}
	return i + n
}

// opener is the index of the last open marker that a run of n characters c
// closes, -1 if none. both says that the run could open, too.
func (r *inlineScan) opener(c byte, n int, both bool) int {
	for k, o := range slices.Backward(r.open) {
		if o.marker[0] != c {
			continue
		}
		if c != '~' && (both || o.both) && (o.run+n)%3 == 0 && (o.run%3 != 0 || n%3 != 0) {
			continue
		}
		return k
	}
	return -1
}

// flanking tells whether a run of c between two runes can open and close.
func flanking(c byte, before, after rune, first, last bool) (opens, closes bool) {
	spaceBefore, spaceAfter := first || unicode.IsSpace(before), last || unicode.IsSpace(after)
	punctBefore, punctAfter := isPunct(before), isPunct(after)
	left := !spaceAfter && (!punctAfter || spaceBefore || punctBefore)
	right := !spaceBefore && (!punctBefore || spaceAfter || punctAfter)
	if c == '_' {
		return left && (!right || punctBefore), right && (!left || punctAfter)
	}
	return left, right
}

func isPunct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
