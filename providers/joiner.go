package providers

import (
	"strings"
	"unicode/utf8"
)

// Joiner completes characters that a server split between two chunks of one
// text: the bytes of a rune, or the halves of a surrogate pair. What it returns
// is always valid UTF-8, however the text was cut. The zero value is ready.
type Joiner struct{ tail string }

// Next returns delta with what was held back before it and without an
// unfinished character at its end, which is held back.
func (j *Joiner) Next(delta string) string {
	if delta == "" {
		return ""
	}
	if j.tail != "" {
		delta = j.tail + delta
		j.tail = ""
	} else if delta[len(delta)-1] < utf8.RuneSelf && utf8.ValidString(delta) {
		return delta
	}
	if n := unfinished(delta); n > 0 {
		delta, j.tail = delta[:len(delta)-n], strings.Clone(delta[len(delta)-n:])
	}
	return Clean(delta)
}

// Flush returns what is still held back; an unfinished character becomes U+FFFD.
func (j *Joiner) Flush() string {
	tail := j.tail
	j.tail = ""
	return Clean(tail)
}

// unfinished returns how many bytes at the end of s may be the beginning of a
// character.
func unfinished(s string) int {
	for n := 1; n <= min(5, len(s)); n++ {
		c := s[len(s)-n]
		switch {
		case c < utf8.RuneSelf:
			return 0
		case c < 0xC0:
			continue
		case c >= 0xF0 && n < 4, c >= 0xE0 && c < 0xF0 && n < 3, c < 0xE0 && n < 2:
			return min(n+highBefore(s[:len(s)-n], c), len(s))
		case c == 0xED && n == 3 && s[len(s)-2] >= 0xA0 && s[len(s)-2] < 0xB0:
			return 3
		}
		return 0
	}
	return 0
}

// highBefore returns 3 if s ends in the first half of a surrogate pair of which
// c may begin the second.
func highBefore(s string, c byte) int {
	if c == 0xED && len(s) >= 3 && s[len(s)-3] == 0xED && s[len(s)-2] >= 0xA0 && s[len(s)-2] < 0xB0 {
		return 3
	}
	return 0
}

// Clean returns s as valid UTF-8: a surrogate pair in two three-byte forms
// becomes its character, half a pair is dropped, and any other bytes that are
// no UTF-8 become U+FFFD.
func Clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	dst := make([]byte, 0, len(s))
	for len(s) > 0 {
		if r, size := utf8.DecodeRuneInString(s); r != utf8.RuneError || size > 1 {
			dst = append(dst, s[:size]...)
			s = s[size:]
			continue
		}
		high, ok := surrogate(s)
		if !ok {
			dst = utf8.AppendRune(dst, utf8.RuneError)
			s = skipInvalid(s)
			continue
		}
		s = s[3:]
		if low, ok := surrogate(s); ok && isHigh(high) && isLow(low) {
			dst = utf8.AppendRune(dst, ((high-0xD800)<<10|(low-0xDC00))+0x10000)
			s = s[3:]
		}
	}
	return string(dst)
}

// skipInvalid skips the first byte of s and the continuation bytes that belong
// to it.
func skipInvalid(s string) string {
	n := 1
	for n < len(s) && n < 4 && s[n] >= 0x80 && s[n] < 0xC0 && s[0] >= 0xC0 {
		n++
	}
	return s[n:]
}

func surrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2] < 0x80 || s[2] > 0xBF {
		return 0, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}
