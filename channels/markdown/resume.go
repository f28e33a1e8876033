package markdown

import "strings"

// path is how far a place is inside lists and quotes: columns of indentation,
// then quote marks, then columns again.
type path struct {
	strip, quotes, inner int
}

func (p path) item(offset int) path {
	if p.quotes == 0 {
		p.strip += offset
	} else {
		p.inner += offset
	}
	return p
}

func (p path) quote() path {
	if p.inner == 0 {
		p.quotes++
	}
	return p
}

// lead is what begins a line at this place.
func (p path) lead() string {
	return strings.Repeat(" ", p.strip) + p.marks() + strings.Repeat(" ", p.inner)
}

func (p path) marks() string { return strings.Repeat("> ", p.quotes) }

// resume is what was open where a chunk ended and so has to be said again for
// the text after it to read as it did.
type resume struct {
	path
	prefix string // goes before the text: an open fence, a table's header, markers
	inLine bool   // the text goes on within a line
}

// view is the rest of a source as it reads on its own: its prefix said again
// and the indentation of containers that were left behind removed.
type view struct {
	text   string
	prefix int // length of what is not from the source
	pieces []piece
	until  int // where the removal of indentation ended
	from   resume
}

// piece says that text from v on is the source from s on.
type piece struct{ v, s int }

func newView(src string, from resume) *view {
	if from.prefix == "" && from.strip == 0 && from.inner == 0 {
		return &view{text: src, from: from}
	}
	v := &view{prefix: len(from.prefix), from: from}
	var b strings.Builder
	b.Grow(len(from.prefix) + len(src))
	b.WriteString(from.prefix)
	at := 0
	keep := func(end int) {
		if at < end {
			v.pieces = append(v.pieces, piece{b.Len(), at})
			b.WriteString(src[at:end])
		}
		at = end
	}
	inLine := from.inLine
	for at < len(src) && (from.strip > 0 || from.inner > 0) {
		end := at + strings.IndexByte(src[at:], '\n') + 1
		if end == at {
			end = len(src)
		}
		if !inLine && strings.TrimSpace(src[at:end]) != "" {
			skip, marks, inner, inside := from.measure(src[at:end])
			if !inside {
				if !from.beginsItem(src) {
					// What follows could not end a paragraph, as it ended the list.
					b.WriteString(strings.TrimRight(from.marks(), " ") + "\n")
				}
				break
			}
			at += skip
			keep(at + marks)
			at += inner
		}
		inLine = false
		keep(end)
	}
	v.until = b.Len()
	keep(len(src))
	v.text = b.String()
	return v
}

// beginsItem reports that src, which goes on here, begins with a list's item.
func (r resume) beginsItem(src string) bool {
	return !r.inLine && r.prefix == "" && listMarker(strings.TrimLeft(line(src, 0), " \t>")) != ""
}

// measure tells how many bytes of a line are indentation to drop, quote marks
// to keep, and indentation to drop; inside is false if the line does not belong
// to the containers any more.
func (p path) measure(line string) (skip, marks, inner int, inside bool) {
	skip, cols := indentation(line, p.strip)
	if cols < p.strip {
		return 0, 0, 0, false
	}
	rest := line[skip:]
	for range p.quotes {
		n, _ := indentation(rest[marks:], 3)
		if marks+n >= len(rest) || rest[marks+n] != '>' {
			return 0, 0, 0, false
		}
		marks += n + 1
		if marks < len(rest) && rest[marks] == ' ' {
			marks++
		}
	}
	inner, cols = indentation(rest[marks:], p.inner)
	if cols < p.inner && strings.TrimSpace(rest[marks:]) != "" {
		return 0, 0, 0, false
	}
	return skip, marks, inner, true
}

// indentation is the length in bytes and columns of the white space that line
// begins with, up to limit columns.
func indentation(line string, limit int) (bytes, cols int) {
	for bytes < len(line) && cols < limit {
		switch line[bytes] {
		case ' ':
			cols++
		case '\t':
			cols += 4 - cols%4
		default:
			return bytes, cols
		}
		bytes++
	}
	return bytes, cols
}

// source is the offset in the source of offset at in the view. At the
// beginning of a line it is before the indentation that was removed, unless the
// text goes on within the line.
func (v *view) source(at int, inLine bool) int {
	if v.pieces == nil {
		return max(at-v.prefix, 0)
	}
	s := 0
	for _, p := range v.pieces {
		if p.v > at || p.v == at && !inLine {
			return min(s, p.s)
		}
		s = p.s + at - p.v
	}
	return s
}

// then is r, found in the view at offset at, said in terms of the source.
func (v *view) then(at int, r resume) resume {
	if at < v.until {
		r.strip += v.from.strip
		r.inner += v.from.inner
	}
	return r
}
