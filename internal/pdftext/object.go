package pdftext

import (
	"bytes"
	"strconv"
)

// An object is nil, a bool, a float64, a name, a str, an array, a dict, a ref
// or a *stream; within content streams an op, too.
type object any

type (
	name  string
	str   []byte
	op    string
	array []object
	dict  map[name]object
	ref   struct{ num, gen int }
)

// stream is a dictionary with data, which is still encoded.
type stream struct {
	dict dict
	data []byte
	id   ref // whose key it is encrypted with
}

// lexer reads objects of a text.
type lexer struct {
	data []byte
	pos  int
	// content says that this is a page's content, which has operators and no
	// references.
	content bool
	left    *int // how many objects may be read; nil is no bound
}

// The tokens that end an array or a dictionary.
const (
	endArray op = "]"
	endDict  op = ">>"
	endFile  op = "\x00"
)

func white(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func delimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func (l *lexer) skip() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case white(c):
			l.pos++
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

// next reads an object; at the end it returns endFile.
func (l *lexer) next(depth int) object {
	l.skip()
	if l.left != nil {
		if *l.left--; *l.left < 0 {
			l.pos = len(l.data)
		}
	}
	if l.pos >= len(l.data) {
		return endFile
	}
	switch c := l.data[l.pos]; c {
	case '/':
		l.pos++
		return l.name()
	case '(':
		l.pos++
		return l.literal()
	case '[':
		l.pos++
		return l.array(depth)
	case '<':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == '<' {
			l.pos += 2
			return l.dict(depth)
		}
		l.pos++
		return l.hex()
	case '>':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == '>' {
			l.pos += 2
			return endDict
		}
		l.pos++
		return op(">")
	case ']', '{', '}', ')':
		l.pos++
		return op(l.data[l.pos-1 : l.pos])
	}
	return l.word()
}

// regular reads up to a delimiter or white space.
func (l *lexer) regular() []byte {
	from := l.pos
	for l.pos < len(l.data) && !white(l.data[l.pos]) && !delimiter(l.data[l.pos]) {
		l.pos++
	}
	return l.data[from:l.pos]
}

func (l *lexer) name() name {
	word := l.regular()
	if bytes.IndexByte(word, '#') < 0 {
		return name(word)
	}
	out := make([]byte, 0, len(word))
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) {
			if hi, lo := nibble(word[i+1]), nibble(word[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, word[i])
	}
	return name(out)
}

func nibble(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// word reads a number, a reference, a keyword or an operator.
func (l *lexer) word() object {
	w := l.regular()
	if c := w[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		n, ok := number(w)
		if !ok {
			return op(w)
		}
		if !l.content && c >= '0' && c <= '9' {
			if r, ok := l.reference(int(n)); ok {
				return r
			}
		}
		return n
	}
	switch string(w) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	return op(w)
}

// number reads what PDF calls one; files have "--5" and "1.2.3", too.
func number(w []byte) (float64, bool) {
	if len(w) > 64 {
		return 0, false
	}
	n, whole, at := 0.0, true, 0.1
	negative := false
	for i, c := range w {
		switch {
		case c >= '0' && c <= '9' && whole:
			n = n*10 + float64(c-'0')
		case c >= '0' && c <= '9':
			n += float64(c-'0') * at
			at /= 10
		case c == '.' && whole:
			whole = false
		case c == '-' && i == 0:
			negative = true
		case c == '+' && i == 0, c == '-':
		default:
			return 0, false
		}
	}
	if negative {
		n = -n
	}
	return n, true
}

// reference reads the rest of "12 0 R" after its first number.
func (l *lexer) reference(num int) (ref, bool) {
	from := l.pos
	l.skip()
	if gen, err := strconv.Atoi(string(l.regular())); err == nil && gen >= 0 {
		l.skip()
		if l.pos < len(l.data) && l.data[l.pos] == 'R' && (l.pos+1 == len(l.data) || white(l.data[l.pos+1]) || delimiter(l.data[l.pos+1])) {
			l.pos++
			return ref{num, gen}, true
		}
	}
	l.pos = from
	return ref{}, false
}

func (l *lexer) literal() str {
	out, open := []byte{}, 1
	for ; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				l.pos++
				return out
			}
		case '\\':
			if c, ok := l.escape(); ok {
				out = append(out, c)
			}
			continue
		}
		out = append(out, c)
	}
	return out
}

// escape reads what follows a backslash, and stands on its last byte.
func (l *lexer) escape() (byte, bool) {
	if l.pos++; l.pos >= len(l.data) {
		return 0, false
	}
	switch c := l.data[l.pos]; c {
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case '\r':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == '\n' {
			l.pos++
		}
		return 0, false
	case '\n':
		return 0, false
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := int(c - '0')
		for i := 0; i < 2 && l.pos+1 < len(l.data) && l.data[l.pos+1] >= '0' && l.data[l.pos+1] <= '7'; i++ {
			l.pos++
			n = n<<3 | int(l.data[l.pos]-'0')
		}
		return byte(n), true
	default:
		return c, true
	}
}

func (l *lexer) hex() str {
	out, half := []byte{}, -1
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		if c == '>' {
			break
		}
		n := nibble(c)
		switch {
		case n < 0:
		case half < 0:
			half = n
		default:
			out = append(out, byte(half<<4|n))
			half = -1
		}
	}
	if half >= 0 {
		out = append(out, byte(half<<4))
	}
	return out
}

func (l *lexer) array(depth int) object {
	out := array{}
	if depth >= maxDepth {
		l.pos = len(l.data)
		return out
	}
	for {
		o := l.next(depth + 1)
		if mark, ok := o.(op); ok && (mark == endArray || mark == endFile) {
			return out
		} else if ok && mark == endDict {
			continue
		}
		out = append(out, o)
	}
}

func (l *lexer) dict(depth int) object {
	out := dict{}
	if depth >= maxDepth {
		l.pos = len(l.data)
		return out
	}
	for {
		key := l.next(depth + 1)
		if ends(key) {
			return out
		}
		k, ok := key.(name)
		if !ok {
			continue
		}
		value := l.next(depth + 1)
		if ends(value) {
			return out
		}
		out[k] = value
	}
}

// ends reports whether o ends a dictionary. Objects are not all comparable.
func ends(o object) bool {
	mark, ok := o.(op)
	return ok && (mark == endDict || mark == endFile)
}
