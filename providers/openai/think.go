package openai

import "strings"

// tagField marks thinking that came in tags and is not sent back.
const tagField = "tags"

// thinkTags takes thinking that a model wrote in tags at the beginning of its
// text out of it, as servers without a reasoning parser leave it there. Tags
// further on are text: a model may well write about them.
type thinkTags struct {
	native bool // the server sends thinking apart: tags are text then
	passed bool // the text has begun: nothing is looked at any more
	inside string
	held   string
}

var thinkNames = []string{"think", "thinking", "thought", "reasoning", "antthinking", "mm:think", "antml:thinking"}

// next takes content and returns what of it is text and what is thinking.
func (t *thinkTags) next(content string) (text, thought string) {
	if t.native {
		t.passed = true
		return content, ""
	}
	t.held += content
	if t.inside == "" {
		trimmed := strings.TrimLeft(t.held, " \t\r\n")
		name, maybe := openTag(trimmed)
		switch {
		case name != "":
			t.inside = name
			t.held = trimmed[len(name)+2:]
		case maybe:
			return "", ""
		default:
			t.passed = true
			text, t.held = t.held, ""
			return text, ""
		}
	}
	return t.within()
}

// within passes thinking on until its closing tag, of which a part may be held
// back.
func (t *thinkTags) within() (text, thought string) {
	closing := "</" + t.inside + ">"
	if before, after, found := strings.Cut(t.held, closing); found {
		t.passed, t.held = true, ""
		return strings.TrimLeft(after, "\r\n"), before
	}
	keep := 0
	for n := min(len(closing)-1, len(t.held)); n > 0; n-- {
		if strings.HasSuffix(t.held, closing[:n]) {
			keep = n
			break
		}
	}
	thought, t.held = t.held[:len(t.held)-keep], t.held[len(t.held)-keep:]
	return "", thought
}

// openTag returns the tag that s begins with, or whether it may become one.
func openTag(s string) (name string, maybe bool) {
	if s == "" {
		return "", true
	}
	for _, n := range thinkNames {
		tag := "<" + n + ">"
		if strings.HasPrefix(s, tag) {
			return n, false
		}
		maybe = maybe || strings.HasPrefix(tag, s)
	}
	return "", maybe
}

// end returns what is still held back.
func (t *thinkTags) end() (text, thought string) {
	if t.inside != "" && !t.passed {
		thought, t.held = t.held, ""
		return "", thought
	}
	text, t.held = t.held, ""
	return text, ""
}
