package markdown

import (
	"strings"
	"testing"
)

// The parser's time grows with the square of what one paragraph leaves open and
// of what one line nests, so it is not given such texts: they are plain.
func TestTangledTextIsPlainAndWhole(t *testing.T) {
	for _, piece := range []string{"[", "[a](", "![", "*a ", "*a_ ", "**a *", "~~a", "[^a]", "<a:", "a@a.", "[a](<b"} {
		src := strings.TrimSpace(strings.Repeat(piece, 40_000/len(piece)))
		if !tangled([]byte(src)) {
			t.Errorf("%q, again and again, is parsed", piece)
		}
		if text, entities := Telegram(src); text != src || len(entities) > 0 {
			t.Errorf("%q, again and again, is shown as %.60q with %d entities", piece, text, len(entities))
		}
		checkInert(t, src+" @everyone <!channel>")
	}
	for _, piece := range []string{">", "> ", "- ", "+ ", "* ", "1. "} {
		src := strings.Repeat(piece, 20_000/len(piece)) + "a"
		if !tangled([]byte(src)) {
			t.Errorf("%q, nested deeply, is parsed", piece)
		}
		Discord(src)
	}
}

func TestWhatPeopleWriteIsParsedHoweverLong(t *testing.T) {
	for _, paragraph := range []string{
		answer[:500], "- [ ] a *task* with a [link](https://example.org)\n", "> quoted **text**\n", "snake_case_words and 2*3*4 in a line\n\n",
		"| a | b |\n|---|---|\n| [x](https://a.example) | *y* |\n\n", "---\n\n", "2026-11-30 - 12:00 - a log line [info] (x)\n\n",
	} {
		if src := strings.Repeat(paragraph, 300); tangled([]byte(src)) {
			t.Errorf("%q, 300 times, is not parsed", paragraph)
		}
	}
	if tangled([]byte(strings.Repeat("- ", 10) + "a")) {
		t.Error("a list in a list is not parsed")
	}
}

func TestTangledTextKeepsItsLines(t *testing.T) {
	src := strings.Repeat("[", 2*maxBrackets) + "\nsecond *line*\n\nthird"
	if text, _ := Telegram(src); !strings.HasSuffix(text, "\nsecond *line*\n\nthird") {
		t.Errorf("ends with %q", text[len(text)-40:])
	}
}
