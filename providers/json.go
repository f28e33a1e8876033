package providers

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf8"
)

// errJSON is what a Decoder fails with.
var errJSON = errors.New("malformed JSON")

// maxDepth bounds nesting.
const maxDepth = 1000

// Decoder pulls values out of one JSON document without building it, so that a
// streamed chunk costs only the strings that are used. It is a value; the zero
// value reads nothing. Errors are sticky: after the first, every method
// returns zero values, and Err says that the document was malformed.
//
// A value of another type than the method asks for is skipped and reads as
// zero, for servers send null, numbers and strings where others are promised.
//
//	for d.Object(); d.Key(&key); {
//		switch string(key) {
//		case "text":
//			text = d.String()
//		default:
//			d.Skip()
//		}
//	}
//
// A loop over an object or array must run to its end.
type Decoder struct {
	data  []byte
	pos   int
	depth int
	first [2]uint64 // a bit per depth: nothing read in this container yet
	open  [2]uint64 // a bit per depth: the container at this depth is real
	err   error
}

// maxOpen bounds how deep Object and Array may be nested by a caller.
const maxOpen = 128

// NewDecoder returns a decoder of data, which it only reads.
func NewDecoder(data []byte) Decoder { return Decoder{data: data} }

// Err returns nil as long as what was read is JSON.
func (d *Decoder) Err() error { return d.err }

// End fails unless nothing but white space is left.
func (d *Decoder) End() error {
	if d.peek() != 0 || d.pos < len(d.data) {
		d.fail()
	}
	return d.err
}

// Object enters an object; it reports false, and Key will too, if the value is
// something else, which is skipped.
func (d *Decoder) Object() bool { return d.enter('{') }

// Array enters an array, as Object does.
func (d *Decoder) Array() bool { return d.enter('[') }

func (d *Decoder) enter(open byte) bool {
	if d.depth+1 >= maxOpen {
		d.fail()
		return false
	}
	real := d.peek() == open
	if real {
		d.pos++
	} else {
		d.Skip()
	}
	d.depth++
	word, bit := d.depth/64, uint64(1)<<(d.depth%64)
	d.first[word] |= bit
	d.open[word] &^= bit
	if real && d.err == nil {
		d.open[word] |= bit
	}
	return real && d.err == nil
}

// Key moves to the next member of the object last entered and sets key to its
// name, which is valid until the next call. At the end it leaves the object and
// reports false.
func (d *Decoder) Key(key *[]byte) bool {
	if !d.next('}') {
		return false
	}
	if d.peek() != '"' {
		return d.fail()
	}
	*key = d.rawString()
	if bytes.IndexByte(*key, '\\') >= 0 {
		*key = appendUnquoted(nil, *key)
	}
	if d.peek() != ':' {
		return d.fail()
	}
	d.pos++
	return d.err == nil
}

// More moves to the next element of the array last entered; at the end it
// leaves the array and reports false.
func (d *Decoder) More() bool { return d.next(']') }

func (d *Decoder) next(closing byte) bool {
	word, bit := d.depth/64, uint64(1)<<(d.depth%64)
	if d.err != nil || d.open[word]&bit == 0 {
		d.depth = max(d.depth-1, 0)
		return false
	}
	c := d.peek()
	switch {
	case c == closing:
		d.pos++
		d.depth--
		return false
	case d.first[word]&bit != 0:
		d.first[word] &^= bit
	case c == ',':
		d.pos++
	default:
		return d.fail()
	}
	return true
}

// String returns a string. Half a surrogate pair becomes its three-byte form,
// and bytes that are no UTF-8 are kept, so that a [Joiner] can complete
// characters that were split between chunks.
func (d *Decoder) String() string {
	if d.peek() != '"' {
		d.Skip()
		return ""
	}
	raw := d.rawString()
	if d.err != nil {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	return string(appendUnquoted(make([]byte, 0, len(raw)), raw))
}

// Int returns an integer; a fraction is cut off.
func (d *Decoder) Int() int64 {
	raw := d.Raw()
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != f || f > 1<<62 || f < -(1<<62) {
		return 0
	}
	return int64(f)
}

// Bool returns a boolean.
func (d *Decoder) Bool() bool { return string(d.Raw()) == "true" }

// Null skips the value and reports true if it is null; otherwise it does
// nothing.
func (d *Decoder) Null() bool {
	if d.peek() != 'n' {
		return false
	}
	d.Skip()
	return true
}

// Is reports whether the next value begins with c, one of `{["tfn` or '0' for a
// number.
func (d *Decoder) Is(c byte) bool {
	p := d.peek()
	if c == '0' {
		return p == '-' || p >= '0' && p <= '9'
	}
	return p == c
}

// Raw returns the bytes of the next value, a slice of the document.
func (d *Decoder) Raw() []byte {
	d.peek()
	start := d.pos
	d.Skip()
	if d.err != nil {
		return nil
	}
	return d.data[start:d.pos]
}

// Holds reads past a value and reports whether it says anything: null, false and
// what is empty don't.
func (d *Decoder) Holds() bool {
	switch string(d.Raw()) {
	case "null", "false", `""`, "{}", "[]", "":
		return false
	}
	return true
}

// Skip reads over the next value. It looks for where the value ends, and does
// not check all that is in it.
func (d *Decoder) Skip() {
	depth := 0
	for d.err == nil {
		switch c := d.peek(); c {
		case '"':
			d.rawString()
		case '{', '[':
			d.pos++
			if depth++; depth > maxDepth {
				d.fail()
				return
			}
			if next := d.peek(); next != '}' && next != ']' {
				continue
			}
		case 0:
			d.fail()
			return
		default:
			d.literal()
		}
		for depth > 0 && d.err == nil {
			c := d.peek()
			if c != '}' && c != ']' {
				break
			}
			d.pos++
			depth--
		}
		if depth == 0 {
			return
		}
		if c := d.peek(); c == ',' || c == ':' {
			d.pos++
		} else {
			d.fail()
		}
	}
}

func (d *Decoder) literal() {
	start := d.pos
	for d.pos < len(d.data) {
		switch c := d.data[d.pos]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '-', c == '+', c == '.', c == 'E', c == 'N', c == 'I':
			d.pos++
			continue
		}
		break
	}
	if d.pos == start {
		d.fail()
	}
}

// rawString returns what is between the quotes.
func (d *Decoder) rawString() []byte {
	d.pos++
	start := d.pos
	for {
		at := bytes.IndexByte(d.data[d.pos:], '"')
		if at < 0 {
			d.fail()
			return nil
		}
		at += d.pos
		d.pos = at + 1
		slashes := 0
		for i := at - 1; i >= start && d.data[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			return d.data[start:at]
		}
	}
}

func (d *Decoder) peek() byte {
	if d.err != nil {
		return 0
	}
	for d.pos < len(d.data) {
		switch c := d.data[d.pos]; c {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return c
		}
	}
	return 0
}

func (d *Decoder) fail() bool {
	if d.err == nil {
		d.err = errJSON
	}
	return false
}

// appendUnquoted appends the value of a JSON string's inside.
func appendUnquoted(dst, raw []byte) []byte {
	for len(raw) > 0 {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:at]...)
		raw = raw[at+1:]
		if len(raw) == 0 {
			return append(dst, '\\')
		}
		c := raw[0]
		raw = raw[1:]
		switch c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			var r rune
			r, raw = unquoteRune(raw)
			dst = appendWide(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func unquoteRune(raw []byte) (rune, []byte) {
	r, ok := hex4(raw)
	if !ok {
		return utf8.RuneError, raw
	}
	raw = raw[4:]
	if isHigh(r) && len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
		if low, ok := hex4(raw[2:]); ok && isLow(low) {
			return ((r-0xD800)<<10 | (low - 0xDC00)) + 0x10000, raw[6:]
		}
	}
	return r, raw
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func isHigh(r rune) bool { return r >= 0xD800 && r < 0xDC00 }
func isLow(r rune) bool  { return r >= 0xDC00 && r < 0xE000 }

// appendWide appends r in UTF-8, half a surrogate pair in the three bytes that
// UTF-8 would use for it if it could.
func appendWide(dst []byte, r rune) []byte {
	if r >= 0xD800 && r < 0xE000 {
		return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(dst, r)
}
