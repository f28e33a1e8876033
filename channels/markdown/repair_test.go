package markdown

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestRepair(t *testing.T) {
	for _, c := range []struct{ name, prefix, want string }{
		{"whole text stays", "a **b** `c` [d](http://e)", "a **b** `c` [d](http://e)"},
		{"open bold", "a **b c", "a **b c**"},
		{"bold with a space at the end", "a **b ", "a **b**"},
		{"half of the closing marker", "a **b*", "a **b**"},
		{"an opening marker alone", "a **", "a "},
		{"nested", "a **b *c", "a **b *c***"},
		{"open code", "run `ls -l", "run `ls -l`"},
		{"bold in open code is code", "`a **b", "`a **b`"},
		{"strikethrough", "~~a", "~~a~~"},
		{"a tilde is a sign", "about ~5 min", "about ~5 min"},
		{"a star between figures is a sign", "5*3 is", "5*3 is"},
		{"a label", "see [the do", "see "},
		{"a label that may go on", "see [the docs]", "see "},
		{"a destination", "see [the docs](https://exa", "see "},
		{"an image", "x ![alt](ht", "x "},
		{"an autolink", "x <https://a", "x "},
		{"less than", "a < b", "a < b"},
		{"a long bracket is none", "[" + strings.Repeat("a", 1200), "[" + strings.Repeat("a", 1200)},
		{"a fence line", "a\n\n```p", "a\n\n"},
		{"part of a fence", "a\n\n``", "a\n\n"},
		{"a fence without code", "a\n\n```py\n", "a"},
		{"open code block", "a\n\n```py\nx = 1", "a\n\n```py\nx = 1\n```"},
		{"part of the closing fence", "```py\nx = 1\n``", "```py\nx = 1\n```"},
		{"a closed code block", "```py\nx\n```\nafter **it", "```py\nx\n```\nafter **it**"},
		{"a fence of tildes", "~~~~\n```\nx", "~~~~\n```\nx\n~~~~"},
		{"a fence in a quote", "> ```\n> x", "> ```\n> x\n> ```"},
		{"a fence in a list", "- a\n  ```\n  x\n", "- a\n  ```\n  x\n  ```"},
		{"a list marker", "a\n\n- b\n-", "a\n\n- b\n"},
		{"a number", "a\n\n1.", "a\n\n"},
		{"a heading's marker", "a\n\n##", "a\n\n"},
		{"perhaps an underline", "a\n--", "a\n"},
		{"a table's header", "a\n\n| b | c", "a\n\n"},
		{"a table's delimiter", "a\n\n| b | c |\n|--", "a\n\n"},
		{"a row", "| b | c |\n|---|---|\n| 1 | 2 |\n| 3 ", "| b | c |\n|---|---|\n| 1 | 2 |\n"},
		{"nothing yet", "**", ""},
		{"half a character", "a \xf0\x9f", "a "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Repair(c.prefix); got != c.want {
				t.Errorf("got %q, not %q", got, c.want)
			}
		})
	}
}

// words drops what may change while a text grows: white space, markers of
// lists and what tables are drawn with.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || r == '*' || r == '`' || r == '[' {
			return r
		}
		return -1
	}, s)
}

func TestWhatIsShownWhileATextGrowsIsABeginningOfWhatItWillBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// What a lone star is depends on what follows, so it may change as a text grows.
		src := strings.ReplaceAll(document().Draw(t, "src"), "3*4", "3")
		if strings.Contains(src, "|") {
			t.Skip("tables are drawn anew with each row")
		}
		whole := letters(telegramText(src))
		at := rapid.IntRange(0, len(src)).Draw(t, "at")
		shown := letters(telegramText(Repair(src[:at])))
		if !strings.HasPrefix(whole, shown) {
			t.Fatalf("of %q\nshown %q\nwhole %q", src[:at], shown, whole)
		}
		// Not much is held back.
		if all := letters(telegramText(src[:at])); len(all)-len(shown) > 120 {
			t.Fatalf("of %q\nonly %q is shown", src[:at], shown)
		}
	})
}

func TestRepairedTextIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := anything().Draw(t, "src")
		got := Repair(src)
		text, entities := Telegram(got)
		validate(t, text, entities)
		if f := openFence(got + "\n"); f.marker != "" {
			t.Fatalf("a code block is left open: %q", got)
		}
	})
}
