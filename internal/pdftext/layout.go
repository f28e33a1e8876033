package pdftext

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// layout makes text of characters that stand somewhere on a page: a gap is a
// space, a step down is a line.
type layout struct {
	max  int
	out  strings.Builder
	said strings.Builder // the beginning of what pages say, without their numbers
	any  bool            // on this page
	x, y float64         // where the last character ended
	size float64         // its height
}

// page begins a page.
func (w *layout) page(number int) {
	if w.out.Len() > 0 {
		w.out.WriteString("\n\n")
	}
	fmt.Fprintf(&w.out, "[page %d]\n", number)
	w.any = false
}

func (w *layout) full() bool { return w.out.Len() >= w.max }

// text is all of it, at most max bytes.
func (w *layout) text() string {
	s := w.out.String()
	if len(s) > w.max {
		s = s[:w.max]
		for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
			s = s[:len(s)-1]
		}
	}
	return strings.TrimSpace(s)
}

// glyph adds a character that stands at one place and ends at another. Both
// map the square of its size to the page.
func (w *layout) glyph(text string, at, end matrix) {
	size := math.Hypot(at[2], at[3])
	across := math.Hypot(at[0], at[1])
	if text == "" || size == 0 || across == 0 {
		return
	}
	blank := strings.TrimFunc(text, unicode.IsSpace) == ""
	if w.any {
		// Along the line, and away from it.
		ux, uy := at[0]/across, at[1]/across
		dx, dy := at[4]-w.x, at[5]-w.y
		along, away := dx*ux+dy*uy, dy*ux-dx*uy
		high := max(size, w.size)
		switch {
		case math.Abs(away) > 1.7*high && !blank:
			w.gap("\n\n")
		case math.Abs(away) > 0.45*high && !blank:
			w.gap("\n")
		case math.Abs(away) > 0.45*high:
			w.gap("\n")
			return
		case along > 0.16*across || along < -0.5*across:
			w.gap(" ")
		}
	}
	if blank {
		w.gap(" ")
	} else {
		w.out.WriteString(text)
		if w.said.Len() < 64 {
			w.said.WriteString(text)
		}
	}
	w.any = true
	w.x, w.y, w.size = end[4], end[5], size
}

// moved notes where something ended that was written already.
func (w *layout) moved(end matrix) {
	if w.any {
		w.x, w.y = end[4], end[5]
	}
}

// gap ends a word or a line; what is ended already needs no more.
func (w *layout) gap(with string) {
	s := w.out.String()
	if with == " " && (s == "" || s[len(s)-1] == ' ' || s[len(s)-1] == '\n') {
		return
	}
	for len(with) > 0 && strings.HasSuffix(s, "\n") && with[0] == '\n' {
		s, with = s[:len(s)-1], with[1:]
	}
	w.out.WriteString(with)
}
