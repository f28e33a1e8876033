package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SlackMrkdwn renders src as Slack's mrkdwn, for the text of a message. There
// &, < and > are escaped, which makes every mention inert; mrkdwn has no other
// escape, so a zero-width space keeps a literal marker from decorating.
func SlackMrkdwn(src string) string { return marked(src, &slackMrkdwn{}) }

// SlackBlock renders src as the text of a Slack markdown block, which is
// Markdown without tables. A mention is made inert by a zero-width space.
func SlackBlock(src string) string {
	return marked(src, &commonmark{inert: slackInert, levels: 6, indented: true})
}

// marked renders src in a dialect whose decorations are part of the text.
func marked(src string, d dialect) string {
	src = Clean(src)
	w := render(src, d)
	if Blank(string(w.out)) && !Blank(src) {
		w.plainOnly(src)
	}
	return strings.TrimRightFunc(strings.TrimLeft(string(w.out), "\n"), unicode.IsSpace)
}

type slackMrkdwn struct{}

var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (d *slackMrkdwn) text(w *walker, s string) {
	w.raw(slackEscape.Replace(slackLiteral(w.before(), s)))
}

// slackLiteral parts the markers in s from the words that they would decorate,
// and makes @channel and its like inert.
func slackLiteral(before rune, s string) string {
	if !strings.ContainsAny(s, "*_~`@") {
		return s
	}
	var b strings.Builder
	prev := before
	for i, r := range s {
		b.WriteRune(r)
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		last := i+1 == len(s)
		switch r {
		case '*', '_', '~', '`':
			if !isWord(prev) && (last || !unicode.IsSpace(next)) {
				b.WriteString(zeroWidth)
			}
		case '@':
			if !addressed(prev) && (last || isWord(next)) {
				b.WriteString(zeroWidth)
			}
		}
		prev = r
	}
	return b.String()
}

var slackMarks = [styles]string{bold: "*", italic: "_", strike: "~"}

// begin parts a marker from a word before it, where Slack would not see it.
func (d *slackMrkdwn) begin(w *walker, s style) { d.mark(w, slackMarks[s]) }

func (d *slackMrkdwn) mark(w *walker, marker string) {
	if isWord(w.before()) {
		marker = zeroWidth + marker
	}
	w.raw(marker)
}

func (d *slackMrkdwn) end(w *walker, s style) {
	w.closeMark(slackMarks[s])
	w.after = zeroWidth
}

// code in a quote is not the first of its line: Slack shows such a line empty.
func (d *slackMrkdwn) code(w *walker, s string) {
	if strings.Contains(s, "`") {
		d.text(w, s)
		return
	}
	if w.lineStart() && w.quotes != "" {
		w.raw(zeroWidth)
	}
	d.mark(w, "`")
	w.raw(slackEscape.Replace(strings.TrimSpace(s)) + "`")
	w.after = zeroWidth
}

func (d *slackMrkdwn) fence(w *walker, _, code string) {
	w.verbatim("```\n" + slackEscape.Replace(partFences(code)) + "\n```")
}

func (d *slackMrkdwn) heading(w *walker, _ int, content func()) {
	w.styledBy(bold, content)
}

func (d *slackMrkdwn) link(w *walker, url string, label func()) {
	w.raw("<" + slackURLEscape.Replace(url) + "|")
	label()
	w.raw(">")
}

var slackURLEscape = strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C", " ", "%20")

func (d *slackMrkdwn) bare(w *walker, url string) {
	if strings.Contains(url, "://") && !strings.ContainsAny(url, " \n") {
		w.raw("<" + slackURLEscape.Replace(url) + ">")
		return
	}
	d.text(w, url)
}

func (d *slackMrkdwn) quote(w *walker, content func()) { w.quoted(content) }
func (d *slackMrkdwn) rule(w *walker)                  { w.raw("———") }
func (d *slackMrkdwn) bullet() string                  { return "• " }

// slackInert parts the bracket of Slack's control sequences from what would
// make it one: a mention, or a link that says something else than it is.
func slackInert(before rune, s string) string {
	var b strings.Builder
	prev := before
	for i, r := range s {
		b.WriteRune(r)
		next, size := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if r == '<' && (size == 0 || strings.ContainsRune("@!#", next) || unicode.IsLetter(next)) ||
			r == '@' && !addressed(prev) && (size == 0 || isWord(next)) {
			b.WriteString(zeroWidth)
		}
		prev = r
	}
	return b.String()
}
