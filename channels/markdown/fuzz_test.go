package markdown

import (
	"fmt"
	"strings"
	"testing"
)

var seeds = []string{"# A\n\n**b** `c`\n\n```go\nx\n```\n", "> - a\n>   - b\n\n1. x\n\n   ```\n   y\n   ```", "| a | b |\n|---|---|\n| c | d |", "[a](b) ![c](d) <e>", "**a", "\xff\x00`", "👩‍👩‍👧"}

func FuzzTelegram(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		text, entities := Telegram(src)
		validate(t, text, entities)
		checkInert(t, src)
	})
}

func FuzzSplit(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, uint16(7*i+1), uint8(i))
	}
	names := []string{"source", "bytes", "telegram", "discord", "mrkdwn", "block"}
	f.Fuzz(func(t *testing.T, src string, limit uint16, name uint8) {
		measure := platforms[names[int(name)%len(names)]]
		n := int(limit)%500 + 1
		checkChunks(t, src, n, measure, Split(src, n, measure))
	})
}

func FuzzRepair(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		text, entities := Telegram(Repair(src))
		validate(t, text, entities)
	})
}

// answer is 10 kB such as a model writes.
var answer = strings.Repeat("## Heading here\n\nSome **bold** text with `code` and a [link](https://example.com/x). More text follows here to make it long.\n\n"+
	"- item one\n- item *two*\n\n```go\nfunc main() {}\nfoo()\n```\n\n", 56)

func BenchmarkTelegram10kB(b *testing.B) {
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		Telegram(answer)
	}
}

func BenchmarkRenderAndSplit10kB(b *testing.B) {
	for _, name := range []string{"telegram", "discord", "mrkdwn"} {
		limit := map[string]int{"telegram": 4096, "discord": 2000, "mrkdwn": 4000}[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(answer)))
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range Split(answer, limit, platforms[name]) {
					platforms[name](c.Text)
				}
			}
		})
	}
}

func BenchmarkRepair4kB(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Repair(answer[:4000])
	}
}

// BenchmarkHostile is what a model could write to take our time.
func BenchmarkHostile(b *testing.B) {
	for _, piece := range []string{"[", "*", "> ", "- ", "`", "_a", "**a ", "<", "[a](", "![", "|", "\\", "&#", "~", "``` ", "1. "} {
		for _, n := range []int{2000, 20000} {
			b.Run(fmt.Sprintf("%q/%d", piece, n), func(b *testing.B) {
				src := strings.Repeat(piece, n/len(piece))
				for b.Loop() {
					Split(src, 4096, platforms["telegram"])
					Repair(src)
				}
			})
		}
	}
}
