package repair

import (
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"
)

// scanner reads a text that is still growing. Its methods wait for more text
// by suspending the coroutine that the parser runs in; they report false when
// what is there, or the end of the text, does not fit.
type scanner struct {
	text  []byte
	at    int
	ended bool
	wait  func() bool // suspends; false when the parser must give up
	// named is set once a call with a known name has been read.
	named bool
}

// section parses held text: one parse, fed delta by delta.
type section struct {
	scanner
	resume func() (struct{}, bool)
	stop   func()
	calls  []call
	// settled is set when the parser has returned; fits says with what.
	settled, fits bool
}

// newSection returns a section that begins with text, which it owns. whole says
// that nothing precedes it in the message, so that bare forms are allowed.
func newSection(known *toolset, whole bool, text []byte) *section {
	s := &section{scanner: scanner{text: text}}
	seq := iter.Seq[struct{}](func(yield func(struct{}) bool) {
		s.wait = func() bool { return yield(struct{}{}) }
		p := parser{scanner: &s.scanner, known: known, whole: whole}
		s.calls, s.fits = p.calls()
	})
	s.resume, s.stop = iter.Pull(seq)
	return s
}

// feed gives the parser more text and runs it as far as that goes.
func (s *section) feed(text string) {
	s.text = append(s.text, text...)
	s.run()
}

// end tells the parser that the text is complete.
func (s *section) end() {
	s.ended = true
	s.run()
}

func (s *section) run() {
	if s.settled {
		return
	}
	if _, waiting := s.resume(); !waiting {
		s.settled = true
	}
}

// peek returns the next byte; false at the end of the text.
func (s *scanner) peek() (byte, bool) {
	for s.at >= len(s.text) {
		if s.ended || !s.wait() {
			return 0, false
		}
	}
	return s.text[s.at], true
}

// atEnd reports whether the text has ended here.
func (s *scanner) atEnd() bool {
	_, more := s.peek()
	return !more
}

// space skips white space.
func (s *scanner) space() {
	for {
		c, ok := s.peek()
		if !ok || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return
		}
		s.at++
	}
}

// blanks skips spaces and tabs.
func (s *scanner) blanks() {
	for {
		c, ok := s.peek()
		if !ok || c != ' ' && c != '\t' {
			return
		}
		s.at++
	}
}

// one reads the longest of the words that stands here and returns its index,
// or -1. It stops at the first byte that none of them has and leaves the
// position there, so that a wrong guess is known as soon as it is made.
// Letters match in either case, and the wide bars and blocks of DeepSeek's
// tokens match | and _.
func (s *scanner) one(words ...string) int {
	alive := make([]int, 0, 32)
	for i := range words {
		alive = append(alive, i)
	}
	best, bestEnd := -1, s.at
	for n := 0; ; n++ {
		longer := alive[:0]
		for _, i := range alive {
			if len(words[i]) == n {
				best, bestEnd = i, s.at
			} else {
				longer = append(longer, i)
			}
		}
		if len(longer) == 0 {
			break
		}
		c, width, ok := s.symbol()
		alive = longer[:0]
		for _, i := range longer {
			if ok && lower(words[i][n]) == c {
				alive = append(alive, i)
			}
		}
		if len(alive) == 0 {
			break
		}
		s.at += width
	}
	if best >= 0 {
		s.at = bestEnd
	}
	return best
}

// word reads exactly w.
func (s *scanner) word(w string) bool { return s.one(w) == 0 }

// symbol returns the next character folded to one byte, and its width in the
// text; 0xFF stands for every character that no word contains.
func (s *scanner) symbol() (c byte, width int, ok bool) {
	c, ok = s.peek()
	if !ok {
		return 0, 0, false
	}
	if c < utf8.RuneSelf {
		return lower(c), 1, true
	}
	for !utf8.FullRune(s.text[s.at:]) && !s.ended {
		if !s.wait() {
			return 0, 0, false
		}
	}
	r, width := utf8.DecodeRune(s.text[s.at:])
	switch r {
	case '｜':
		return '|', width, true
	case '▁':
		return '_', width, true
	default:
		return 0xFF, width, true
	}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// name reads a tool's name: letters, digits and the bytes of extra.
func (s *scanner) name(extra string) string {
	start := s.at
	for s.at-start < maxName {
		c, ok := s.peek()
		if !ok || !isNameByte(c) && strings.IndexByte(extra, c) < 0 {
			break
		}
		s.at++
	}
	return string(s.text[start:s.at])
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// object reads one balanced JSON object that parses strictly, after control
// characters inside its strings have been escaped: models forget that, and
// only one thing can be meant. Integers keep their digits.
func (s *scanner) object() (json.RawMessage, bool) {
	if c, ok := s.peek(); !ok || c != '{' {
		return nil, false
	}
	raw, ok := s.balanced()
	return raw, ok
}

// balanced reads a JSON object or array.
func (s *scanner) balanced() (json.RawMessage, bool) {
	var out []byte
	depth, inString, escaped := 0, false, false
	for {
		c, ok := s.peek()
		if !ok {
			return nil, false
		}
		if inString && c < ' ' {
			out = appendEscaped(out, c)
		} else {
			out = append(out, c)
		}
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				if !json.Valid(out) {
					return nil, false
				}
				s.at++
				return out, true
			}
		}
		if depth == 1 && len(out) == 2 && !startsValue(out) {
			return nil, false
		}
		s.at++
	}
}

// startsValue reports whether the second byte of an object or array can stand
// there; it tells prose in brackets from JSON at once.
func startsValue(out []byte) bool {
	c := out[1]
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '"' {
		return true
	}
	if out[0] == '{' {
		return c == '}'
	}
	return c == ']' || c == '{' || c == '['
}

func appendEscaped(out []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '\n':
		return append(out, '\\', 'n')
	case '\t':
		return append(out, '\\', 't')
	case '\r':
		return append(out, '\\', 'r')
	default:
		return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
}
