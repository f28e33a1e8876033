package markdown

import (
	"strings"
	"unicode/utf8"
)

// Discord renders src in Discord's Markdown: nearly what it was, with tables
// as code blocks, headings below the third level in bold, and mentions made
// inert by a zero-width space. Nothing in code is changed.
func Discord(src string) string { return marked(src, &commonmark{inert: discordInert, levels: 3}) }

// discordInert makes <@id>, <@&role>, @everyone and @here inert.
func discordInert(before rune, s string) string {
	if strings.IndexByte(s, '@') < 0 {
		return s
	}
	var b strings.Builder
	prev := before
	for i, r := range s {
		b.WriteRune(r)
		if r == '@' {
			rest := strings.ToLower(s[i+1:])
			if prev == '<' || rest == "" || strings.HasPrefix(rest, "everyone") || strings.HasPrefix(rest, "here") {
				b.WriteString(zeroWidth)
			}
		}
		prev = r
	}
	return b.String()
}

// commonmark writes Markdown again.
type commonmark struct {
	inert  func(before rune, s string) string
	levels int // of headings that are kept
	// indented keeps code in the list that it is in. Discord would show the
	// indentation as part of the code; in CommonMark the list would end there.
	indented bool
}

func (d *commonmark) text(w *walker, s string) {
	w.raw(escapeMarks(w, d.inert(w.before(), s)))
}

// escapeMarks puts a backslash before what would be read as a marker. What is
// one only at other places stays as it is.
func escapeMarks(w *walker, s string) string {
	fresh, prev := w.lineStart(), w.before()
	if !fresh && !strings.ContainsAny(s, "*_~`|\\[<") {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		next, size := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch r {
		case '\\':
			if size == 0 || isPunct(next) {
				b.WriteByte('\\')
			}
		case '*', '~', '_', '|', '`':
			if !spaced(prev, next, size) && (r != '_' || !isWord(prev) || !isWord(next)) {
				b.WriteByte('\\')
			}
		case '[':
			if strings.Contains(s[i:], "](") {
				b.WriteByte('\\')
			}
		case '#', '>', '-', '+':
			if fresh {
				b.WriteByte('\\')
			}
		case '.', ')':
			if i > 0 && i < 10 && w.lineStart() && strings.Trim(s[:i], "0123456789") == "" && (size == 0 || next == ' ') {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(r)
		fresh, prev = false, r
	}
	return b.String()
}

// spaced reports that a marker stands alone and decorates nothing.
func spaced(prev, next rune, size int) bool {
	return (prev == ' ' || prev == '\n' || prev == 0) && size > 0 && next == ' '
}

var commonMarks = [styles]string{bold: "**", italic: "*", strike: "~~"}

func (d *commonmark) begin(w *walker, s style) { w.raw(commonMarks[s]) }
func (d *commonmark) end(w *walker, s style)   { w.closeMark(commonMarks[s]) }

func (d *commonmark) code(w *walker, s string) {
	run := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	if w.before() == '`' {
		w.raw(zeroWidth) // two spans side by side would read as one
	}
	w.raw(run + s + run)
}

func longestRun(s string, c byte) int {
	longest, n := 0, 0
	for i := range len(s) {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// partFences keeps code from ending the block that it is in, however many
// backticks stand in a row.
func partFences(code string) string {
	if !strings.Contains(code, "```") {
		return code
	}
	var b strings.Builder
	run := 0
	for i := range len(code) {
		switch {
		case code[i] != '`':
			run = 0
		case run == 2:
			b.WriteString(zeroWidth)
			run = 1
		default:
			run++
		}
		b.WriteByte(code[i])
	}
	return b.String()
}

func (d *commonmark) fence(w *walker, lang, code string) {
	text := "```" + lang + "\n" + partFences(code) + "\n```"
	if d.indented {
		w.prefixed(text)
	} else {
		w.verbatim(text)
	}
}

func (d *commonmark) heading(w *walker, level int, content func()) {
	if level <= d.levels && w.prefix == w.quotes {
		w.raw(strings.Repeat("#", level) + " ")
		content()
		return
	}
	w.styledBy(bold, content)
}

// markedURL encodes what would end a link's destination.
var markedURL = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E")

func (d *commonmark) link(w *walker, url string, label func()) {
	w.raw("[")
	label()
	w.raw("](" + markedURL.Replace(url) + ")")
}

// bare writes a URL as it is, with an @ that would ping encoded.
func (d *commonmark) bare(w *walker, url string) {
	if inert := d.inert(w.before(), url); inert == url || !strings.Contains(url, "://") {
		w.raw(inert)
		return
	}
	w.raw(strings.ReplaceAll(url, "@", "%40"))
}

func (d *commonmark) quote(w *walker, content func()) { w.quoted(content) }
func (d *commonmark) rule(w *walker)                  { w.raw("———") }
func (d *commonmark) bullet() string                  { return "- " }
