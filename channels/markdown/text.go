package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// UTF16Len is the length of s in UTF-16 code units, in which Telegram and
// Discord count. An invalid byte counts as the replacement character.
func UTF16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n++
		if r > 0xFFFF {
			n++
		}
		i += size
	}
	return n
}

// Clean makes s valid UTF-8 with newlines as line ends and no other control
// character but the tab, as every renderer does first.
func Clean(s string) string {
	dirty := false
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c == 0x7F || c >= 0xC2 {
			dirty = true
			break
		} else if c >= utf8.RuneSelf {
			dirty = true
			break
		}
	}
	if !dirty {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, control) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case control(r):
			return -1
		}
		return r
	}, s)
}

// control reports what has no place in a message: control characters, and the
// marks that reorder the text around them.
func control(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ' || r >= 0x7F && r < 0xA0:
		return true
	case r >= 0x202A && r <= 0x202E: // bidirectional overrides
		return true
	}
	return r == '\u2028' || r == '\u2029' || r == '\uFEFF'
}

// Blank reports whether s shows nothing: a platform refuses such a message.
func Blank(s string) bool {
	for _, r := range s {
		if !invisible(r) {
			return false
		}
	}
	return true
}

func invisible(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7F
	}
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800, 0x034F:
		return true
	}
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Z, unicode.Variation_Selector)
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// Escape returns Markdown that shows s as it is, without any decoration.
func Escape(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	fresh := true // at the beginning of a line
	for _, r := range Clean(s) {
		switch {
		case fresh && (r == ' ' || r == '\t'):
			r = '\u00a0' // would make a code block
		case r < utf8.RuneSelf && isPunct(r):
			b.WriteByte('\\')
			fresh = false
		default:
			if fresh && r >= '0' && r <= '9' {
				b.WriteString(zeroWidth) // no list
			}
			fresh = r == '\n'
		}
		b.WriteRune(r)
	}
	return b.String()
}
