package markdown

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func telegramLen(s string) int { t, _ := Telegram(s); return UTF16Len(t) }

func TestX(t *testing.T) {
	src := "# head *x*\n\npara\nline2\n\n> quote\n> - a\n>   - b\n\n- one\n\n  two\n  ```go\n  x\n  y\n  ```\n- - z\n\n```\nabc\ndef\n```\n\n| a | b |\n|---|---|\n| c | d |\n| e | f |\n\n---\n\n    ind\n    x\n\n<div>\nx\n</div>\n\n[a]: http://x\n\n1. x **bold and more `code` and** [link](http://foo.bar/x) and https://x.y\n"
	text, e := Telegram(src)
	t.Log(text, e)
	for _, c := range Split(src, 30, telegramLen) {
		t.Logf("%d-%d %q", c.Start, c.End, c.Text)
	}
}

func TestAnyTextIsSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.StringMatching("([ab *_`~#>|\\-\n.1\\[\\]()é👩‍👩‍👧]|\n\n|```|- |> |a b c|\\*\\*|    ){0,200}").Draw(t, "src")
		limit := rapid.IntRange(1, 80).Draw(t, "limit")
		m := rapid.SampledFrom([]func(string) int{UTF16Len, telegramLen, func(s string) int { return len(s) }}).Draw(t, "measure")
		at := 0
		for _, c := range Split(src, limit, m) {
			if c.Start != at || c.End <= at {
				t.Fatalf("gap at %d: %+v", at, c)
			}
			at = c.End
			if n := m(c.Text); n > limit && len([]rune(strings.TrimSpace(src[c.Start:c.End]))) > 1 {
				t.Fatalf("%d over %d: %q", n, limit, c.Text)
			}
		}
		if at != len(src) && !Blank(src) {
			t.Fatalf("ends at %d of %d", at, len(src))
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	src := strings.Repeat("## Heading here\n\nSome **bold** text with `code` and a [link](https://example.com/x). More text follows here to make it long.\n\n- item one\n- item *two*\n\n```go\nfunc main() {}\nfoo()\n```\n\n", 56)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range Split(src, 4096, telegramLen) {
			Telegram(c.Text)
		}
	}
}
