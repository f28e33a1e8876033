package repair

import "strings"

// maxHeld bounds the text that is held back for one section, in bytes.
const maxHeld = 256_000

// filter parts the text of one message into what may be shown and what is held
// back because it may be calls. Everything that is shown is shown in order.
type filter struct {
	known *toolset
	code  code
	// blank is leading white space, held until it is known what follows.
	blank string
	begun bool // something has been shown
	// section is the held text, if any.
	section *section
	// dropping is set when a section grew too long: the rest of the text is
	// part of a call that nobody can run.
	dropping bool
}

func newFilter(known *toolset) *filter { return &filter{known: known, code: newCode()} }

// holds reports whether text is being held back.
func (f *filter) holds() bool { return f.section != nil }

// add takes the next piece of text and returns what may be shown now.
func (f *filter) add(text string) string {
	if f.dropping {
		return ""
	}
	if f.section == nil && f.begun {
		// The common case: prose without a trigger costs one look at each byte
		// and no copy.
		i := trigger(&f.code, text)
		if i == len(text) {
			return text
		}
		return string(f.consume([]byte(text[:i]), []byte(text[i:])))
	}
	if f.section == nil {
		rest := strings.TrimLeft(text, " \t\r\n")
		f.blank += text[:len(text)-len(rest)]
		if rest == "" {
			return ""
		}
		return string(f.consume(nil, []byte(rest)))
	}
	f.section.feed(text)
	return string(f.settle(nil))
}

// consume opens a section at the beginning of text and appends to shown what
// may be shown of it. It owns text.
func (f *filter) consume(shown, text []byte) []byte {
	f.section = newSection(f.known, !f.begun, text)
	f.section.run()
	return f.settle(shown)
}

// settle looks at what the section's parser made of the text so far. Text that
// turns out to be no section is shown as far as the parser had read it, and the
// rest is looked at from there, so that each byte is read once.
func (f *filter) settle(shown []byte) []byte {
	for f.section != nil {
		s := f.section
		switch {
		case s.settled: // the text goes on although the parser is done
		case len(s.text) <= maxHeld:
			return shown
		case s.named:
			f.close()
			f.dropping = true
			return shown
		}
		read := max(s.at, 1)
		text := s.text
		f.close()
		shown = append(append(shown, f.blank...), text[:read]...)
		f.show(text[:read])
		rest := text[read:]
		i := trigger(&f.code, rest)
		shown = append(shown, rest[:i]...)
		if i < len(rest) {
			f.section = newSection(f.known, false, rest[i:])
			f.section.run()
		}
	}
	return shown
}

// close stops the section's parser.
func (f *filter) close() {
	if f.section != nil {
		f.section.stop()
		f.section = nil
	}
}

// show notes text that is shown.
func (f *filter) show(text []byte) {
	f.begun, f.blank = true, ""
	for _, c := range text {
		f.code.add(c)
	}
}

// trigger returns where in prose something that may be a call begins, len(text)
// if nowhere, and moves the code state past what precedes it.
func trigger[T string | []byte](state *code, text T) int {
	for i := range len(text) {
		c := text[i]
		if (c == '<' || c == '[' || c == '{') && !state.inside() && (c != '{' || state.atLineStart()) &&
			(i+1 == len(text) || mayFollow(c, text[i+1])) {
			return i
		}
		state.add(c)
	}
	return len(text)
}

// mayFollow reports whether next can stand after an opening byte in one of the
// forms that may follow prose.
func mayFollow(opening, next byte) bool {
	switch opening {
	case '<':
		return isNameByte(next) || next == '|' || next == "｜"[0]
	case '[':
		return lower(next) == 't'
	default:
		return next == '"' || next == ' ' || next == '\n' || next == '\r' || next == '\t'
	}
}

// end says that the text is complete and returns the calls that the held part
// is, or else the text to show.
func (f *filter) end() (calls []call, shown string) {
	defer f.close()
	if f.section != nil {
		f.section.end()
		if f.section.fits {
			return f.section.calls, ""
		}
	}
	return nil, f.flush()
}

// flush shows all that is held, as it is.
func (f *filter) flush() string {
	shown := []byte(f.blank)
	if f.section != nil {
		shown = append(shown, f.section.text...)
		f.close()
	}
	f.show(shown)
	return string(shown)
}
