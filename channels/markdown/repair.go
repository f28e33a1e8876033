package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxHold is the longest unfinished link, in bytes, that is held back: what is
// longer is no link but a bracket.
const maxHold = 1000

// Repair makes the beginning of a text that is still being written presentable.
// It closes an open code block and open decorations, and holds back what would
// be shown as something else than it will be: an unfinished link, a fence, a
// list marker, a row of a table. The cost is linear.
func Repair(prefix string) string {
	prefix = trimRune(prefix)
	if tangled([]byte(prefix)) {
		return visibleOr(prefix) // shown as plain text
	}
	if f := openFence(prefix); f.marker != "" {
		return repairFence(prefix, f)
	}
	prefix = holdLine(prefix)
	begin := paragraph(prefix)
	head, text := prefix[:begin], prefix[begin:]
	if held, ok := holdTable(text); ok {
		return visibleOr(head + held)
	}
	if r := scanInline(text); r.link >= 0 && len(text)-r.link <= maxHold {
		text = text[:r.link]
	}
	return visibleOr(head + closeInline(text))
}

func visibleOr(s string) string {
	if Blank(s) {
		return ""
	}
	return s
}

// trimRune drops a character that is not complete yet.
func trimRune(s string) string {
	for i := 1; i <= 3 && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// fence is a code block that nothing has closed.
type fence struct {
	start  int    // of its first line
	body   int    // of its first line of code
	lead   string // what comes before its marker: indentation and quote marks
	marker string // empty if there is none
}

func openFence(s string) fence {
	var f fence
	for at := 0; at < len(s); {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			break // a line that is not complete opens and closes nothing
		}
		text := s[at : at+end]
		next := at + end + 1
		lead, marker, info := fenceLine(text)
		switch {
		case marker == "":
		case f.marker == "" && (marker[0] == '~' || strings.IndexByte(info, '`') < 0):
			f = fence{at, next, lead, marker}
		case f.marker != "" && marker[0] == f.marker[0] && len(marker) >= len(f.marker) && strings.TrimSpace(info) == "":
			f = fence{}
		}
		at = next
	}
	return f
}

// fenceLine takes a line apart that opens or closes a code block; marker is
// empty if it is none.
func fenceLine(text string) (lead, marker, info string) {
	rest := text
	for {
		rest = strings.TrimLeft(rest, " \t>")
		m := listMarker(rest)
		if m == "" {
			break
		}
		rest = rest[len(m):]
	}
	n := len(text) - len(rest)
	if !strings.HasPrefix(rest, "```") && !strings.HasPrefix(rest, "~~~") {
		return "", "", ""
	}
	run := runLen(rest, 0)
	return text[:n], rest[:run], rest[run:]
}

// listMarker is the list marker that s begins with, empty if none.
func listMarker(s string) string {
	n := 0
	for n < len(s) && n < 9 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	switch {
	case n >= len(s):
		return ""
	case n > 0 && (s[n] == '.' || s[n] == ')'), n == 0 && (s[n] == '-' || s[n] == '+' || s[n] == '*'):
		if n+1 == len(s) || s[n+1] == ' ' || s[n+1] == '\t' {
			return s[:n+1]
		}
	}
	return ""
}

func repairFence(s string, f fence) string {
	last := lineStart(s, len(s))
	if last >= f.body && strings.Trim(s[last:], " \t>"+f.marker[:1]) == "" {
		s = s[:last] // perhaps the closing line
	}
	if len(s) <= f.body || Blank(s[f.body:]) {
		return visibleOr(strings.TrimRight(s[:f.start], "\n"))
	}
	lead := strings.Map(func(r rune) rune {
		if r == '>' || r == '\t' {
			return r
		}
		return ' '
	}, f.lead)
	return strings.TrimRight(s, "\n") + "\n" + lead + f.marker
}

// holdLine drops a last line of which it can't be told yet what it will be.
func holdLine(s string) string {
	last := lineStart(s, len(s))
	if last == len(s) {
		return s
	}
	text := strings.Trim(s[last:], " \t>")
	marker := listMarker(text)
	rest := strings.TrimLeft(text[len(marker):], " \t")
	switch {
	case rest == "", strings.Trim(rest, "#") == "", strings.Trim(rest, "=") == "", strings.Trim(rest, "-*_ ") == "":
	case strings.HasPrefix(rest, "```"), strings.HasPrefix(rest, "~~~"), rest == "`", rest == "``", rest == "~", rest == "~~":
	default:
		return s
	}
	return s[:last]
}

// paragraph is where the last paragraph, list item's text or heading of s
// begins.
func paragraph(s string) int {
	begin := len(s)
	for begin > 0 {
		at := lineStart(s, begin-1)
		text := strings.TrimRight(s[at:begin], "\n")
		if strings.Trim(text, " \t>") == "" {
			break
		}
		if _, marker, _ := fenceLine(text); marker != "" {
			break
		}
		begin = at
		body := strings.TrimLeft(text, " \t>")
		if m := listMarker(body); m != "" {
			return begin + len(text) - len(body) + len(m)
		}
		if strings.HasPrefix(body, "#") {
			break
		}
	}
	return begin
}

// holdTable drops the row of a table that is not complete, and a header as
// long as nothing shows that it is one. ok is false if text is no table.
func holdTable(text string) (held string, ok bool) {
	first := strings.TrimLeft(line(text, 0), " \t>")
	rest := text[min(len(line(text, 0))+1, len(text)):]
	second := line(rest, 0)
	delimiter := strings.Trim(second, "|:- \t>") == "" && strings.Contains(second, "-")
	complete := strings.HasSuffix(text, "\n")
	switch {
	case !strings.HasPrefix(first, "|") && !(delimiter && strings.Contains(second, "|")):
		return text, false
	case rest == "" || rest == second && (delimiter || second == "" || strings.Trim(second, "|:- \t>") == ""):
		return "", true // the header, perhaps with a part of its delimiter
	case !delimiter:
		return text, false
	case !complete:
		return text[:lineStart(text, len(text))], true
	}
	return text, true
}

// closeInline closes the decorations that are open at the end of a paragraph,
// and drops markers that have nothing to decorate yet.
func closeInline(text string) string {
	var open []inlineSpan
	for _, o := range scanInline(text).open {
		before, _ := utf8.DecodeLastRuneInString(text[:o.start])
		if o.marker == "~" || o.marker[0] != '`' && isWord(before) && before != '_' {
			continue // much more often a sign than a decoration
		}
		open = append(open, o)
		if o.marker[0] == '`' {
			break // all that follows is code
		}
	}
	for len(open) > 0 {
		last := open[len(open)-1]
		if !Blank(text[last.start+len(last.marker):]) {
			break
		}
		text, open = text[:last.start], open[:len(open)-1]
	}
	text = danglingMarker(text, open)
	if len(open) == 0 {
		return text
	}
	text = strings.TrimRight(text, " \t\n")
	for _, o := range slices.Backward(open) {
		text += o.marker
	}
	return text
}

// danglingMarker drops a marker at the very end that may be the first half of
// one, unless it closed something.
func danglingMarker(text string, open []inlineSpan) string {
	if len(open) > 0 && open[len(open)-1].marker[0] == '`' {
		return text
	}
	trimmed := strings.TrimRight(text, "*_~")
	if trimmed == text || trimmed == "" || !strings.HasSuffix(trimmed, " ") && !strings.HasSuffix(trimmed, "\n") {
		return text
	}
	return trimmed
}
