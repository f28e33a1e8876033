package pdftext

import (
	"bytes"
	"math"
	"slices"
)

// matrix is a transformation, [a b c d e f] as PDF writes it.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times applies m first, then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// state is the graphics state, as far as text depends on it.
type state struct {
	ctm     matrix
	font    *font
	size    float64
	char    float64 // between characters
	word    float64 // after spaces
	scale   float64 // across, 1 is none
	leading float64
	rise    float64
}

// run is the interpreter of one content stream.
type run struct {
	*file
	w         *layout
	resources dict
	depth     int

	state
	saved []state
	text  matrix // where the next character goes
	line  matrix // where the line began
	stack []object
	tags  []tag
}

// tag is a piece of marked content. If it is replaced, text stands for all that
// is drawn in it.
type tag struct {
	replaced bool
	text     string // until it was written
}

// maxStack bounds operands, saved states and marks.
const maxStack = 512

// run interprets a content stream (ISO 32000-1, 8 and 9).
func (f *file) run(content []byte, resources dict, ctm matrix, w *layout, depth int) {
	r := &run{file: f, w: w, resources: resources, depth: depth, text: identity, line: identity}
	r.ctm, r.scale = ctm, 1
	l := lexer{data: content, content: true, left: &f.ops}
	for n := 0; ; n++ {
		if n%1024 == 0 && f.ctx.Err() != nil || w.full() {
			return
		}
		o := l.next(0)
		word, ok := o.(op)
		switch {
		case !ok:
			if len(r.stack) < maxStack {
				r.stack = append(r.stack, o)
			}
			continue
		case word == endFile:
			return
		case word == "BI":
			skipImage(&l)
		default:
			r.do(word)
		}
		r.stack = r.stack[:0]
	}
}

// skipImage passes over an image that stands in the content.
func skipImage(l *lexer) {
	if i := bytes.Index(l.data[l.pos:], []byte("ID")); i >= 0 {
		l.pos += i + 2
	}
	for {
		i := bytes.Index(l.data[l.pos:], []byte("EI"))
		if i < 0 {
			l.pos = len(l.data)
			return
		}
		at := l.pos + i
		l.pos = at + 2
		if white(l.data[at-1]) && (l.pos == len(l.data) || white(l.data[l.pos])) {
			return
		}
	}
}

// num is the operand at i from the end, 0 if there is none.
func (r *run) num(i int) float64 {
	if i = len(r.stack) - i; i < 0 || i >= len(r.stack) {
		return 0
	}
	n, _ := r.stack[i].(float64)
	if math.IsInf(n, 0) || math.Abs(n) > 1e9 {
		return 0
	}
	return n
}

func (r *run) arg(i int) object {
	if i = len(r.stack) - i; i < 0 || i >= len(r.stack) {
		return nil
	}
	return r.stack[i]
}

func (r *run) six() matrix {
	return matrix{r.num(6), r.num(5), r.num(4), r.num(3), r.num(2), r.num(1)}
}

// do performs an operator; those that draw no text are left out.
func (r *run) do(word op) {
	switch word {
	case "q":
		if len(r.saved) < maxStack {
			r.saved = append(r.saved, r.state)
		}
	case "Q":
		if n := len(r.saved); n > 0 {
			r.state, r.saved = r.saved[n-1], r.saved[:n-1]
		}
	case "cm":
		r.ctm = r.six().times(r.ctm)
	case "BT":
		r.text, r.line = identity, identity
	case "Tf":
		n, _ := r.arg(2).(name)
		r.font, r.size = r.fontNamed(r.resources, n), r.num(1)
	case "Tc":
		r.char = r.num(1)
	case "Tw":
		r.word = r.num(1)
	case "Tz":
		r.scale = r.num(1) / 100
	case "TL":
		r.leading = r.num(1)
	case "Ts":
		r.rise = r.num(1)
	case "Td":
		r.move(r.num(2), r.num(1))
	case "TD":
		r.leading = -r.num(1)
		r.move(r.num(2), r.num(1))
	case "Tm":
		r.line = r.six()
		r.text = r.line
	case "T*":
		r.move(0, -r.leading)
	case "Tj", "TJ", "'", `"`:
		r.showing(word)
	case "Do":
		n, _ := r.arg(1).(name)
		r.form(n)
	case "BDC", "BMC", "EMC":
		r.mark(word)
	}
}

func (r *run) showing(word op) {
	switch word {
	case `"`:
		r.word, r.char = r.num(3), r.num(2)
		fallthrough
	case "'":
		r.move(0, -r.leading)
	}
	switch o := r.arg(1).(type) {
	case str:
		r.say(o)
	case array:
		for _, x := range o {
			switch x := x.(type) {
			case str:
				r.say(x)
			case float64:
				r.advance(-x / 1000 * r.size * r.scale)
			}
		}
	}
}

func (r *run) move(x, y float64) {
	r.line = matrix{1, 0, 0, 1, x, y}.times(r.line)
	r.text = r.line
}

func (r *run) advance(x float64) { r.text = matrix{1, 0, 0, 1, x, 0}.times(r.text) }

// say shows a string.
func (r *run) say(s str) {
	if r.font == nil {
		return
	}
	var t *tag
	if i := slices.IndexFunc(r.tags, func(t tag) bool { return t.replaced }); i >= 0 {
		t = &r.tags[i]
	}
	place := matrix{r.size * r.scale, 0, 0, r.size, 0, r.rise}
	for len(s) > 0 && !r.w.full() {
		if r.ops--; r.ops <= 0 {
			return
		}
		c, n := r.font.next(s)
		across := r.font.width(c)*r.size + r.char
		if n == 1 && c == ' ' {
			across += r.word
		}
		across *= r.scale
		at := place.times(r.text).times(r.ctm)
		r.advance(across)
		end := place.times(r.text).times(r.ctm)
		if t == nil {
			r.w.glyph(r.font.text(c, s[:n]), at, end)
		} else {
			r.w.glyph(t.text, at, end)
			r.w.moved(end)
			t.text = ""
		}
		s = s[n:]
	}
}

// form runs a form, a content stream within another.
func (r *run) form(n name) {
	forms, _ := r.dict(r.resources["XObject"])
	s, ok := r.resolve(forms[n]).(*stream)
	if !ok || r.file.name(s.dict["Subtype"]) != "Form" || r.depth >= maxForms {
		return
	}
	resources := r.resources
	if own, ok := r.dict(s.dict["Resources"]); ok {
		resources = own
	}
	ctm := r.ctm
	if m := r.array(s.dict["Matrix"]); len(m) == 6 {
		var own matrix
		for i := range own {
			own[i] = r.number(m[i])
		}
		ctm = own.times(ctm)
	}
	r.ops -= 500
	r.run(r.decode(s), resources, ctm, r.w, r.depth+1)
}

// mark takes a text in place of what is drawn for it.
func (r *run) mark(word op) {
	if word == "EMC" {
		if n := len(r.tags); n > 0 {
			r.tags = r.tags[:n-1]
		}
		return
	}
	t := tag{replaced: len(r.tags) > 0 && r.tags[len(r.tags)-1].replaced}
	if word == "BDC" && !t.replaced {
		properties, ok := r.arg(1).(dict)
		if n, named := r.arg(1).(name); named {
			all, _ := r.dict(r.resources["Properties"])
			properties, ok = r.dict(all[n])
		}
		if actual, given := properties["ActualText"].(str); ok && given && r.crypt == nil {
			t = tag{replaced: true, text: textString(actual)}
		}
	}
	if len(r.tags) < maxStack {
		r.tags = append(r.tags, t)
	}
}
