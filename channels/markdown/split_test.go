package markdown

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

// checkChunks fails unless chunks are a division of src into valid messages.
func checkChunks(t interface{ Fatalf(string, ...any) }, src string, limit int, measure func(string) int, chunks []Chunk) {
	at := 0
	for _, c := range chunks {
		if c.Start != at || c.End <= at || c.End > len(src) {
			t.Fatalf("chunk %d-%d after %d of %d", c.Start, c.End, at, len(src))
		}
		at = c.End
		if n := measure(c.Text); n > limit && utf8.RuneCountInString(c.Text) > 1 {
			t.Fatalf("%d is over the limit of %d: %q", n, limit, c.Text)
		}
	}
	if at != len(src) && !Blank(src) {
		t.Fatalf("chunks end at %d of %d", at, len(src))
	}
}

func TestAnyTextIsSplitWithinAnyLimit(t *testing.T) {
	names := []string{"source", "bytes", "telegram", "discord", "mrkdwn", "block"}
	rapid.Check(t, func(t *rapid.T) {
		src := anything().Draw(t, "src")
		limit := rapid.OneOf(rapid.IntRange(1, 30), rapid.IntRange(30, 400)).Draw(t, "limit")
		measure := platforms[rapid.SampledFrom(names).Draw(t, "platform")]
		chunks := Split(src, limit, measure)
		checkChunks(t, src, limit, measure, chunks)
		for _, c := range chunks {
			if utf8.ValidString(src) && !utf8.ValidString(c.Text) {
				t.Fatalf("invalid %q", c.Text)
			}
		}
	})
}

// content is what a person reads, without white space and what the renderer adds.
func content(src string) string {
	text, _ := Telegram(src)
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \n\u00a0•─│┼—>#~*|:.0123456789", r) {
			return -1
		}
		return r
	}, text)
}

func TestNothingIsLostOrAddedByASplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := document().Draw(t, "src")
		limit := rapid.IntRange(130, 600).Draw(t, "limit")
		var got strings.Builder
		for _, c := range Split(src, limit, platforms["telegram"]) {
			got.WriteString(content(c.Text))
			if openFence(c.Text+"\n").marker != "" {
				t.Fatalf("a code block is left open: %q", c.Text)
			}
		}
		if want := content(src); got.String() != want {
			t.Fatalf("people read\n%s\nnot\n%s", got.String(), want)
		}
	})
}

func TestASplitTextContinuesAsIfItHadBeenSplitAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := document().Draw(t, "src")
		limit := rapid.IntRange(60, 300).Draw(t, "limit")
		want := Split(src, limit, platforms["telegram"])
		at, last := 0, Chunk{}
		for _, w := range want {
			c := SplitAfter(last, src[at:], limit, platforms["telegram"])[0]
			if c.Text != w.Text || at+c.End != w.End {
				t.Fatalf("%q, not %q", c.Text, w.Text)
			}
			at, last = at+c.End, c
		}
	})
}

func texts(chunks []Chunk) []string {
	var out []string
	for _, c := range chunks {
		out = append(out, c.Text)
	}
	return out
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, src string
		limit     int
		want      []string
	}{
		{"what fits is one chunk", "a **b** c\n", 10, []string{"a **b** c"}},
		{"nothing is no chunk", " \n\n ", 10, nil},
		{"between blocks", "one two\n\nthree four\n\nfive", 20, []string{"one two\n\nthree four", "five"}},
		{"a heading goes with what it heads", "one two three\n\n## Head\n\nfour five six", 24, []string{"one two three", "## Head\n\nfour five six"}},
		{"a code block is closed and opened again, with its language", "```go\none\ntwo\nthree\nfour\n```\n", 22,
			[]string{"```go\none\ntwo\n```", "```go\nthree\nfour\n```"}},
		{"a code block in a list", "- x\n  ```go\n  one\n  two\n  three\n  ```\n", 26, []string{"- x\n  ```go\n  one\n  ```", "```go\ntwo\nthree\n```"}},
		{"a code block in a quote", "> ```\n> one\n> two\n> three\n> ```\n", 20, []string{"> ```\n> one\n> ```", "> ```\n> two\n> ```", "> ```\n> three\n> ```"}},
		{"between list items", "- one\n- two\n- three\n- four\n", 14, []string{"- one\n- two", "- three\n- four"}},
		{"a nested item stands on its own", "- one\n  - two\n  - three\n    - four\n", 16, []string{"- one\n  - two", "- three\n  - four"}},
		{"a table says its header again", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", 30,
			[]string{"| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 3 | 4 |"}},
		{"decorations are closed and opened again", "a **b c d e f g** h", 11, []string{"a **b c d**", "**e f g** h"}},
		{"after a sentence", "One two three. Four five six seven.", 25, []string{"One two three.", "Four five six seven."}},
		{"a giant word", "aaaaaaaaaa", 4, []string{"aaaa", "aaaa", "aa"}},
		{"a numbered list keeps its numbers", "1. one\n2. two\n3. three\n", 14, []string{"1. one\n2. two", "3. three"}},
		{"a link is not cut", "some words [a link](http://a.example/b) and", 38, []string{"some words", "[a link](http://a.example/b) and"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Split(c.src, c.limit, nil)
			if !slices.Equal(texts(got), c.want) {
				t.Errorf("got %q\nnot %q", texts(got), c.want)
			}
			checkChunks(t, c.src, c.limit, UTF16Len, got)
		})
	}
}

// openclaw#151661: a family or a flag at the boundary fell apart.
func TestRow7GraphemesAreNotSplit(t *testing.T) {
	for _, cluster := range []string{"👩‍👩‍👧‍👦", "🇩🇪", "e\u0301\u0302", "👍🏽"} {
		src := strings.Repeat(cluster, 40)
		for limit := UTF16Len(cluster); limit < 60; limit++ {
			for _, c := range Split(src, limit, nil) {
				if n := uniseg.GraphemeClusterCount(c.Text); c.Text != strings.Repeat(cluster, n) {
					t.Fatalf("limit %d: %q", limit, c.Text)
				}
			}
		}
	}
}

// openclaw#104473: a chunk measured before its rendering was cut within a word
// after it.
func TestRow9TheRenderedLengthIsWhatCounts(t *testing.T) {
	src := strings.Repeat("R&D <b> word ", 100)
	for _, c := range Split(src, 100, platforms["mrkdwn"]) {
		out := SlackMrkdwn(c.Text)
		if UTF16Len(out) > 100 {
			t.Errorf("%d over the limit", UTF16Len(out))
		}
		for w := range strings.FieldsSeq(out) {
			if w != "R&amp;D" && w != "&lt;b&gt;" && w != "word" {
				t.Errorf("cut within %q", w)
			}
		}
	}
}

func TestCodeAndUnicodeOf10kBArriveWholeInValidMessages(t *testing.T) {
	src := strings.Repeat("Text before.\n\n```python\ndef f(x):\n    return x + 1  # 日本\n\nprint(f(2))\n```\n\n- item\n  - nested\n\n", 100)
	chunks := Split(src, 4096, platforms["telegram"])
	if len(chunks) < 2 || len(chunks) > 4 {
		t.Errorf("%d chunks", len(chunks))
	}
	lines := 0
	for _, c := range chunks {
		text, entities := Telegram(c.Text)
		validate(t, text, entities)
		lines += strings.Count(text, "    return x + 1  # 日本")
		if strings.Contains(text, "```") {
			t.Errorf("a fence is shown: %q", text)
		}
	}
	if lines != 100 {
		t.Errorf("%d of 100 lines", lines)
	}
}

func TestAGiantTextIsSplitInLinearTime(t *testing.T) {
	src := strings.Repeat("- a list item with some words in it\n", 20_000)
	measured := 0
	chunks := Split(src, 4000, func(s string) int { measured += len(s); return len(s) })
	checkChunks(t, src, 4000, UTF16Len, chunks)
	if measured > 20*len(src) {
		t.Errorf("measured %d times the text", measured/len(src))
	}
}
