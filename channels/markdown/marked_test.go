package markdown

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDiscord(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"passes through", "# A\n\n**b** *c* ~~d~~ `e` [f](http://g.example)", "# A\n\n**b** *c* ~~d~~ `e` [f](http://g.example)"},
		{"deep headings are bold", "#### A *b*", "**A *b***"},
		{"escapes stay", `\*a\* 2 * 3 snake_case \[x\](y)`, `\*a\* 2 * 3 snake_case \[x](y)`},
		{"nothing in code changes", "`@everyone *a*`\n\n```go\n@here <@1> *p\n```", "`@everyone *a*`\n\n```go\n@here <@1> *p\n```"},
		{"code with backticks", "`` a`b ``", "``a`b``"},
		{"a fence in code", "````\n```\nx\n```\n````", "```\n``\u200b`\nx\n``\u200b`\n```"},
		{"lists", "* a\n  * b\n* c", "- a\n  - b\n- c"},
		{"a quote", "a\n\n> b\n> c\n\nd", "a\n\n> b\n> c\n\nd"},
		{"what would become a list", "1986\\. A year\n\n\\- x", "1986\\. A year\n\n\\- x"},
		{"a table is a code block", "|a|b|\n|-|-|\n|c|d|", "```\na │ b\n──┼──\nc │ d\n```"},
		{"a URL stays whole", "https://a.example/b_c_d_e", "https://a.example/b_c_d_e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Discord(c.src); got != c.want {
				t.Errorf("got %q, not %q", got, c.want)
			}
		})
	}
}

func TestSlackMrkdwn(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"decorations", "**a** *b* ~~c~~ `d`", "*a* _b_ ~c~ `d`"},
		{"a heading", "## A & B", "*A &amp; B*"},
		{"within a word", "a**b**c", "a\u200b*b*\u200bc"},
		{"a link", "[a & b](http://c.example/?d=1&e=2)", "<http://c.example/?d=1&amp;e=2|a &amp; b>"},
		{"a bare link", "http://a.example/b", "<http://a.example/b>"},
		{"a literal marker", `\*a\* and a_b`, "*\u200ba* and a_b"},
		{"code is escaped", "```\na < b && c\n```", "```\na &lt; b &amp;&amp; c\n```"},
		{"a list", "- a\n  - b\n1. c", "• a\n  • b\n\n1. c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := SlackMrkdwn(c.src); got != c.want {
				t.Errorf("got %q, not %q", got, c.want)
			}
		})
	}
}

// openclaw#92419: a quoted line that begins with code was shown empty.
func TestRow33CodeInAQuoteIsShown(t *testing.T) {
	if got := SlackMrkdwn("> `code`\n> and more"); got != "> \u200b`code`\n> and more" {
		t.Errorf("got %q", got)
	}
}

// openclaw#130287: an update showed raw **bold**.
func TestRow35MrkdwnHasNoDoubleStars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A lone star can leave others without a partner; those are text.
		src := strings.ReplaceAll(document().Draw(t, "src"), "3*4", "3")
		if got := SlackMrkdwn(src); strings.Contains(got, "**") {
			t.Fatalf("%q", got)
		}
	})
}

func TestABlockKeepsCodeInItsList(t *testing.T) {
	src := "1. a\n   1. b\n\n      ```go\n      x\n      ```\n   2. 3\\*4\n"
	if got := SlackBlock(src); !strings.Contains(got, "\n      ```go\n      x\n      ```") {
		t.Errorf("got %q", got)
	}
}

func TestSpansOfCodeSideBySideStayTwo(t *testing.T) {
	if got := Discord("***`x`*`y`*"); !strings.Contains(got, "`x`"+zeroWidth+"`y`") {
		t.Errorf("got %q", got)
	}
}

// A person sees the same words wherever the text is shown.
func TestWhatDiscordGetsSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := document().Draw(t, "src")
		// Discord's lists go on after code at the margin; read as CommonMark they
		// end there, and what is escaped in their items would be read as code.
		plain := strings.ReplaceAll(src, "3*4", "3")
		for name, out := range map[string]string{"discord": Discord(plain), "block": SlackBlock(src)} {
			if got, want := content(strings.ReplaceAll(out, zeroWidth, "")), content(src); got != want {
				t.Fatalf("%s says\n%s\nnot\n%s\nby\n%s", name, got, want, out)
			}
		}
	})
}
