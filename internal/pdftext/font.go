package pdftext

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// font says what codes mean and how wide they are.
type font struct {
	wide    bool // codes have two bytes or what codes says
	codes   *cmap
	unicode *cmap // the font's own table to Unicode
	utf16   bool  // codes are UTF-16
	simple  *[256]string
	widths  map[int]float64 // in thousandths of the size
	base    []float64       // of a simple font
	from    int             // the first code of base
	usual   float64
	scale   float64
}

// fontNamed finds a font of the resources.
func (f *file) fontNamed(resources dict, n name) *font {
	fonts, _ := f.dict(resources["Font"])
	o := fonts[n]
	id, isRef := o.(ref)
	if known := f.fonts[id]; isRef && known != nil {
		return known
	}
	d, ok := f.dict(o)
	if !ok {
		return nil
	}
	made := f.makeFont(d)
	f.ops -= 50
	if isRef {
		f.fonts[id] = made
	}
	return made
}

func (f *file) makeFont(d dict) *font {
	out := &font{scale: 0.001, usual: 500}
	if s, ok := f.resolve(d["ToUnicode"]).(*stream); ok {
		out.unicode = f.cmap(s, 0)
	}
	if f.name(d["Subtype"]) == "Type0" {
		f.composite(out, d)
		return out
	}
	simple := f.encoding(d)
	out.simple = &simple
	out.from = int(f.number(d["FirstChar"]))
	for _, w := range f.array(d["Widths"]) {
		out.base = append(out.base, f.number(w))
		if len(out.base) == 256 {
			break
		}
	}
	descriptor, _ := f.dict(d["FontDescriptor"])
	if n := f.number(descriptor["MissingWidth"]); n > 0 {
		out.usual = n
	}
	if m := f.array(d["FontMatrix"]); f.name(d["Subtype"]) == "Type3" && len(m) == 6 {
		if n := f.number(m[0]); n > 0 && n < 10 {
			out.scale = n
		}
	}
	if strings.Contains(string(f.name(d["BaseFont"])), "Courier") {
		out.usual = 600
	}
	return out
}

// composite reads a font whose codes have several bytes.
func (f *file) composite(out *font, d dict) {
	out.wide, out.usual = true, 1000
	switch o := f.resolve(d["Encoding"]).(type) {
	case *stream:
		out.codes = f.cmap(o, 0)
	case name:
		out.utf16 = strings.Contains(string(o), "UCS2") || strings.Contains(string(o), "UTF16")
	}
	list := f.array(d["DescendantFonts"])
	if len(list) == 0 {
		return
	}
	below, _ := f.dict(list[0])
	if n, ok := f.resolve(below["DW"]).(float64); ok {
		out.usual = n
	}
	out.widths = map[int]float64{}
	w := f.array(below["W"])
	for i := 0; i+1 < len(w) && len(out.widths) < 1<<16; {
		first := int(f.number(w[i]))
		if each, ok := f.resolve(w[i+1]).(array); ok {
			for j, x := range each {
				out.widths[first+j] = f.number(x)
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			break
		}
		last := min(int(f.number(w[i+1])), first+1<<16)
		for code, x := first, f.number(w[i+2]); code <= last && len(out.widths) < 1<<16; code++ {
			out.widths[code] = x
		}
		i += 3
	}
}

// next reads the code that a string begins with, and how many bytes it has.
func (t *font) next(s str) (code, n int) {
	if !t.wide {
		return int(s[0]), 1
	}
	n = 2
	if t.codes != nil {
		n = t.codes.length(s)
	} else if t.unicode != nil && len(t.unicode.spaces) > 0 {
		n = t.unicode.length(s)
	}
	n = min(n, len(s))
	for _, c := range s[:n] {
		code = code<<8 | int(c)
	}
	return code, n
}

// width is a share of the font's size.
func (t *font) width(code int) float64 {
	if t.wide {
		if t.codes != nil {
			code = t.codes.cid(code)
		}
		if w, ok := t.widths[code]; ok {
			return w * t.scale
		}
		return t.usual * t.scale
	}
	if i := code - t.from; i >= 0 && i < len(t.base) {
		return t.base[i] * t.scale
	}
	if len(t.base) == 0 && t.usual == 500 && code < 256 {
		return guess(t.simple[code])
	}
	return t.usual * t.scale
}

// guess is about how wide a character of a font is whose widths a file may
// leave out, being one that every reader has.
func guess(s string) float64 {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case strings.ContainsRune(" ijl.,:;'!|ftI/[]()`-", r):
		return 0.29
	case strings.ContainsRune("mwMWOQG@%", r):
		return 0.8
	case r >= 'A' && r <= 'Z':
		return 0.67
	}
	return 0.54
}

// text is what a code says.
func (t *font) text(code int, raw str) string {
	if t.unicode != nil {
		if s, ok := t.unicode.find(code); ok {
			return tidy(s)
		}
	}
	switch {
	case t.utf16:
		return tidy(utf16BE(raw))
	case t.simple != nil && code < 256:
		return tidy(t.simple[code])
	}
	return ""
}

// tidy undoes what is for looks alone: ligatures and soft hyphens.
func tidy(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n != len(s) || r < 0x80 {
		return strings.ReplaceAll(s, "\x00", "")
	}
	switch r {
	case 0xFB00:
		return "ff"
	case 0xFB01:
		return "fi"
	case 0xFB02:
		return "fl"
	case 0xFB03:
		return "ffi"
	case 0xFB04:
		return "ffl"
	case 0xFB05, 0xFB06:
		return "st"
	case 0xAD:
		return "-"
	case 0xA0:
		return " "
	case utf8.RuneError, 0xFEFF:
		return ""
	}
	return s
}

func utf16BE(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i])<<8 | uint16(b[2*i+1])
	}
	return string(utf16.Decode(units))
}

// textString is a string that is not drawn: UTF-16 with a mark, UTF-8 with one,
// or nearly Latin-1.
func textString(s str) string {
	switch {
	case len(s) >= 2 && s[0] == 0xFE && s[1] == 0xFF:
		return utf16BE(s[2:])
	case len(s) >= 3 && s[0] == 0xEF && s[1] == 0xBB && s[2] == 0xBF:
		return string(s[3:])
	}
	out := make([]rune, len(s))
	for i, c := range s {
		out[i] = rune(c)
	}
	return string(out)
}
