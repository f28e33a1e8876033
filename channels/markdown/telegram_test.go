package markdown

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// validate is strict: it fails for what any server might refuse.
func validate(t interface{ Fatalf(string, ...any) }, text string, entities []Entity) {
	units := utf16.Encode([]rune(text))
	if text != strings.TrimSpace(text) {
		t.Fatalf("white space at the ends of %q", text)
	}
	if len(entities) > 100 {
		t.Fatalf("%d entities", len(entities))
	}
	var open []Entity
	last := Entity{}
	for i, e := range entities {
		end := e.Offset + e.Length
		if e.Offset < 0 || e.Length <= 0 || end > len(units) {
			t.Fatalf("%+v is outside of %d units", e, len(units))
		}
		if split(units, e.Offset) || split(units, end) {
			t.Fatalf("%+v splits a character", e)
		}
		body := string(utf16.Decode(units[e.Offset:end]))
		if body != strings.TrimFunc(body, unicode.IsSpace) || Blank(body) {
			t.Fatalf("%+v has white space at its ends: %q", e, body)
		}
		if i > 0 && (e.Offset < last.Offset || e.Offset == last.Offset && e.Length > last.Length) {
			t.Fatalf("%+v after %+v", e, last)
		}
		last = e
		for len(open) > 0 && open[len(open)-1].Offset+open[len(open)-1].Length <= e.Offset {
			open = open[:len(open)-1]
		}
		checkNesting(t, open, e, end)
		open = append(open, e)
		if (e.Type == "text_link") != (e.URL != "") || e.Type != "pre" && e.Language != "" {
			t.Fatalf("%+v", e)
		}
	}
}

func checkNesting(t interface{ Fatalf(string, ...any) }, open []Entity, e Entity, end int) {
	for _, o := range open {
		quote := strings.HasSuffix(o.Type, "blockquote")
		switch {
		case end > o.Offset+o.Length:
			t.Fatalf("%+v overlaps %+v", e, o)
		case o.Type == e.Type, quote && strings.HasSuffix(e.Type, "blockquote"):
			t.Fatalf("%+v in its own kind", e)
		case o.Type == "pre" || o.Type == "code":
			t.Fatalf("%+v in code", e)
		case (e.Type == "pre" || e.Type == "code") && !quote:
			t.Fatalf("%+v in %+v", e, o)
		}
	}
}

func split(units []uint16, at int) bool {
	return at > 0 && at < len(units) && utf16.IsSurrogate(rune(units[at])) && units[at] >= 0xDC00
}

func TestTelegramEntitiesAreAlwaysValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := anything().Draw(t, "src")
		text, entities := Telegram(src)
		validate(t, text, entities)
		if (text == "") != Blank(Clean(src)) {
			t.Fatalf("%q shows %q", src, text)
		}
	})
}

func TestTelegram(t *testing.T) {
	for _, c := range []struct{ name, src, text, entities string }{
		{"plain text", "Hello, world.", "Hello, world.", `null`},
		{"bold and italic", "a **b *c* d**", "a b c d", `[{"type":"bold","offset":2,"length":5},{"type":"italic","offset":4,"length":1}]`},
		{"strikethrough", "~~gone~~", "gone", `[{"type":"strikethrough","offset":0,"length":4}]`},
		{"offsets are in UTF-16", "👩‍👩‍👧 **é**", "👩‍👩‍👧 é", `[{"type":"bold","offset":9,"length":1}]`},
		{"a heading is bold", "# One *two*\n\nthree", "One two\n\nthree", `[{"type":"bold","offset":0,"length":7},{"type":"italic","offset":4,"length":3}]`},
		{"code interrupts bold", "**a `b` c**", "a b c",
			`[{"type":"bold","offset":0,"length":1},{"type":"code","offset":2,"length":1},{"type":"bold","offset":4,"length":1}]`},
		{"a code block", "x\n\n```go\nif a < b {\n\n\tc()\n}\n```\ny", "x\n\nif a < b {\n\n\tc()\n}\n\ny", `[{"type":"pre","offset":3,"length":18,"language":"go"}]`},
		{"an unclosed code block", "```sh\nls", "ls", `[{"type":"pre","offset":0,"length":2,"language":"sh"}]`},
		{"nested lists", "- a\n  - b\n    - c\n- d", "• a\n  • b\n    • c\n• d", `null`},
		{"a numbered list", "3. c\n4. d\n\n   more", "3. c\n\n4. d\n\n   more", `null`},
		{"a task list", "- [ ] a\n- [x] b", "☐ a\n☑ b", `null`},
		{"code in a list", "1. do\n   ```\n   x\n     y\n   ```\n2. done", "1. do\nx\n  y\n2. done", `[{"type":"pre","offset":6,"length":5}]`},
		{"a quote", "a\n\n> b\n> c\n\nd", "a\n\nb\nc\n\nd", `[{"type":"blockquote","offset":3,"length":3}]`},
		{"a quote in a quote", "> a\n> > b", "a\n\n> b", `[{"type":"blockquote","offset":0,"length":6}]`},
		{"a link", "see [the *docs*](https://a.example/b)", "see the docs",
			`[{"type":"text_link","offset":4,"length":8,"url":"https://a.example/b"},{"type":"italic","offset":8,"length":4}]`},
		{"an image is a link", "![a cat](https://a.example/c.png)", "a cat", `[{"type":"text_link","offset":0,"length":5,"url":"https://a.example/c.png"}]`},
		{"a bare link", "<https://a.example/_b_> and https://c.example/d_e_f", "https://a.example/_b_ and https://c.example/d_e_f", `null`},
		{"a link by reference", "[a][1]\n\n[1]: https://b.example", "a", `[{"type":"text_link","offset":0,"length":1,"url":"https://b.example"}]`},
		{"a narrow table", "| a | bb |\n|--:|----|\n| 10 | x |\n| 2 | 日本 |", " a │ bb\n───┼─────\n10 │ x\n 2 │ 日本", ``},
		{"line breaks are kept", "a\nb  \nc\\\nd<br>e", "a\nb\nc\nd\ne", `null`},
		{"entities", "&lt;b&gt; &amp;amp; &copy; &#65;", "<b> &amp; © A", `null`},
		{"tags are text", "<b>x</b>\n\n<div>\ny\n</div>", "<b>x</b>\n\n<div>\ny\n</div>", `null`},
		{"a rule", "a\n\n---\n\nb", "a\n\n———\n\nb", `null`},
		{"definitions alone are shown", "[a]: http://b.example", "[a]: http://b.example", `null`},
		{"nothing", " \n\u200b\n", "", `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, entities := Telegram(c.src)
			validate(t, text, entities)
			if text != strings.TrimSpace(c.text) {
				t.Errorf("got %q\nnot %q", text, c.text)
			}
			if got, _ := json.Marshal(entities); c.entities != "" && string(got) != c.entities {
				t.Errorf("got %s\nnot %s", got, c.entities)
			}
		})
	}
}

func TestAWideTableBecomesAList(t *testing.T) {
	text, entities := Telegram("| Name | What it does |\n|---|---|\n| `one` | " + strings.Repeat("long ", 10) + "|\n| two | [x](http://a.example) |")
	validate(t, text, entities)
	want := "• one\n  What it does: " + strings.TrimSpace(strings.Repeat("long ", 10)) + "\n• two\n  What it does: x"
	if text != want {
		t.Errorf("got %q", text)
	}
}

func TestALongQuoteIsCollapsed(t *testing.T) {
	for src, want := range map[string]string{
		"> short":                                  "blockquote",
		"> " + strings.Repeat("long ", 200):        "expandable_blockquote",
		strings.Repeat("> line\n", 12) + "> `end`": "expandable_blockquote",
	} {
		if _, e := Telegram(src); e[0].Type != want {
			t.Errorf("%s for %q", e[0].Type, src)
		}
	}
}

func TestExcessEntitiesAreDroppedStylesFirst(t *testing.T) {
	text, entities := Telegram(strings.Repeat("**b** `c` ", 90) + "[l](http://a.example)")
	validate(t, text, entities)
	n := map[string]int{}
	for _, e := range entities {
		n[e.Type]++
	}
	if len(entities) != 100 || n["code"] != 90 || n["text_link"] != 1 || n["bold"] != 9 {
		t.Errorf("%v", n)
	}
}

// windkh/node-red-contrib-telegrambot#301: characters that MarkdownV2 reserves.
func TestRow5ReservedCharactersAreText(t *testing.T) {
	const all = "_*[]()~`>#+-=|{}.!"
	text, _ := Telegram("- item 1. a-b (c) = {d} | e! #f +g >h ~i\n\n" + Escape(all))
	if text != "• item 1. a-b (c) = {d} | e! #f +g >h ~i\n\n"+all {
		t.Errorf("got %q", text)
	}
}

// openclaw#137504: an escaped underscore showed its backslash.
func TestRow34EscapesAreNotShown(t *testing.T) {
	for name, got := range map[string]string{
		"telegram": telegramText(`x86\_64 \*a\* \#`), "mrkdwn": strings.ReplaceAll(SlackMrkdwn(`x86\_64 \*a\* \#`), zeroWidth, ""),
	} {
		if got != "x86_64 *a* #" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := Discord(`x86\_64`); got != "x86_64" {
		t.Errorf("discord: %q", got)
	}
}

func telegramText(src string) string { text, _ := Telegram(src); return text }

func TestEscapedTextIsShownAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := soup().Draw(t, "src")
		squeeze := func(s string) string {
			return strings.Join(strings.Fields(strings.NewReplacer(zeroWidth, "", "\u00a0", " ").Replace(s)), " ")
		}
		if got, want := squeeze(telegramText(Escape(src))), squeeze(Clean(src)); got != want {
			t.Fatalf("got %q, not %q", got, want)
		}
	})
}
