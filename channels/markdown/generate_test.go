package markdown

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// soup is text of which nothing can be relied on.
func soup() *rapid.Generator[string] {
	pieces := []string{"a", "word", " ", "  ", "    ", "\n", "\n\n", "\t", "*", "**", "_", "__", "~~", "~", "`", "``", "```", "````", "~~~", "[", "](", "](http://a.b/c)",
		")", "!", "<", ">", "> ", "- ", "* ", "1. ", "10) ", "#", "## ", "|", "| a | b |\n|---|---|\n| c | d |\n", "---\n", "===\n", "\\", "&amp;", "&#64;", "&", "@everyone",
		"<@1>", "<!channel>", "👩‍👩‍👧", "🇩🇪", "e\u0301", "é", "\u200b", "\u202e", "\x00", "\xff", "\r\n", "<b>", "<br>", "<!-- c -->", "https://x.example/a_b", "[a]: http://b\n",
		"- [x] ", "go", ".", ". ", ":\n", "\u00a0", "日本語", "```go\n", "\n```\n", "x@y.example", "www.a.example", "\\_", "<div>\n"}
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 120), func(p []string) string { return strings.Join(p, "") })
}

// document is well-formed Markdown such as a model writes.
func document() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(1, 12).Draw(t, "blocks")
		var blocks []string
		for range n {
			blocks = append(blocks, drawBlock(t, 2))
		}
		return strings.Join(blocks, "\n\n") + "\n"
	})
}

var vocabulary = []string{"alpha", "beta", "gamma", "delta", "naïve", "日本", "👩‍👩‍👧", "x86_64", "snake_case", "a<b", "R&D", "3*4", "C++", "it's"}

func drawWords(t *rapid.T, most int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, most).Draw(t, "words"), " ")
}

func drawText(t *rapid.T) string {
	n := rapid.IntRange(1, 6).Draw(t, "spans")
	var out []string
	for range n {
		w := drawWords(t, 8)
		switch rapid.IntRange(0, 9).Draw(t, "style") {
		case 0:
			w = "**" + w + "**"
		case 1:
			w = "*" + w + "*"
		case 2:
			w = "`" + w + "`"
		case 3:
			w = "[" + w + "](https://example.com/a/b?c=d)"
		case 4:
			w = "~~" + w + "~~"
		case 5:
			w = "**" + drawWords(t, 3) + " *" + w + "* `" + drawWords(t, 2) + "` end**"
		case 6:
			w += "."
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

func drawBlock(t *rapid.T, depth int) string {
	kinds := 8
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "block") {
	case 0, 1:
		return drawText(t)
	case 2:
		return strings.Repeat("#", rapid.IntRange(1, 5).Draw(t, "level")) + " " + drawWords(t, 5)
	case 3:
		return drawFence(t)
	case 4:
		return indentLines(drawBlock(t, depth-1)+"\n\n"+drawBlock(t, depth-1), "> ", "> ")
	case 5:
		var items []string
		for i := range rapid.IntRange(1, 5).Draw(t, "items") {
			marker := rapid.SampledFrom([]string{"- ", fmt.Sprint(i+1, ". ")}).Draw(t, "marker")
			if i > 0 && strings.HasPrefix(items[0], "-") != strings.HasPrefix(marker, "-") {
				marker = items[0][:strings.Index(items[0], " ")+1]
			}
			items = append(items, indentLines(drawBlock(t, depth-1), marker, strings.Repeat(" ", len(marker))))
		}
		return strings.Join(items, "\n")
	case 6:
		rows := []string{"| # | ~ |", "|---|:-:|"}
		for range rapid.IntRange(1, 8).Draw(t, "rows") {
			rows = append(rows, "| "+drawWords(t, 3)+" | "+drawWords(t, 3)+" |")
		}
		return strings.Join(rows, "\n")
	}
	return drawText(t) + "\n" + drawText(t)
}

func drawFence(t *rapid.T) string {
	var lines []string
	for range rapid.IntRange(1, 12).Draw(t, "lines") {
		lines = append(lines, rapid.SampledFrom([]string{"", "    "}).Draw(t, "indent")+drawWords(t, 6))
	}
	return "```go\n" + strings.Join(lines, "\n") + "\n```"
}

func indentLines(s, first, rest string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		switch {
		case i == 0:
			lines[i] = first + lines[i]
		case lines[i] != "" || strings.HasPrefix(rest, ">"):
			lines[i] = rest + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// anything is either of both.
func anything() *rapid.Generator[string] { return rapid.OneOf(soup(), document()) }

// platforms are the measures that chunks have to keep.
var platforms = map[string]func(string) int{
	"source":   UTF16Len,
	"bytes":    func(s string) int { return len(s) },
	"telegram": func(s string) int { t, _ := Telegram(s); return UTF16Len(t) },
	"discord":  func(s string) int { return UTF16Len(Discord(s)) },
	"mrkdwn":   func(s string) int { return UTF16Len(SlackMrkdwn(s)) },
	"block":    func(s string) int { return UTF16Len(SlackBlock(s)) },
}
