package telegram

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/channels/markdown"
	"clawbot/channels/reply"
)

// longAnswer is Markdown of about 10,000 characters, and the words in it that
// must be shown, in order.
func longAnswer() (text string, words []string) {
	var b strings.Builder
	word := func() string {
		words = append(words, fmt.Sprintf("w%04d", len(words)))
		return words[len(words)-1]
	}
	for i := range 40 {
		fmt.Fprintf(&b, "## Heading %s\n\n- item 1. **%s** _%s_ 👨‍👩‍👧🇩🇪\n- x86_64 `%s`\n\n", word(), word(), word(), word())
		b.WriteString("```go\n")
		for range 8 {
			fmt.Fprintf(&b, "\tfmt.Println(\"%s <b>&amp;\")\n", word())
		}
		fmt.Fprintf(&b, "```\n\nA line with [%s](https://example.org/?a=1&b=2).\n\n", word())
		if i%10 == 9 {
			fmt.Fprintf(&b, "| a | b |\n|---|---|\n| %s | %s |\n\n", word(), word())
		}
	}
	return b.String(), words
}

var numbered = regexp.MustCompile(`w\d{4}`)

// A long reply under way meets refusals, limits and lost answers. At the end
// the chat shows the whole of it, once, in valid messages.
func TestALongReplyArrivesWholeWhateverHappens(t *testing.T) {
	for name, plan := range map[string]func(*rig){
		"without trouble": func(*rig) {},
		"a refused edit": func(r *rig) {
			r.Fail("editMessageText", 1, channeltest.Fault{Status: 400, Description: "Bad Request: something odd"})
		},
		"limits and lost answers": func(r *rig) {
			r.Fail("sendMessage", 2, channeltest.Fault{Status: 429, RetryAfter: time.Second})
			r.Fail("editMessageText", 1, channeltest.Fault{Lost: true})
			r.Fail("editMessageText", 2, channeltest.Fault{Status: 502, Body: "<html>"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, channeltest.TelegramConfig{}, Config{})
			plan(r)
			text, words := longAnswer()
			answer := reply.New(reply.Config{Channel: r.bot, Target: r.target(42)})
			done := make(chan error, 1)
			go func() { done <- answer.Run(r.ctx) }()
			for delta := range slices.Chunk([]byte(text), 100) {
				answer.Write(string(delta))
				pauseFor(r.ctx, 10*time.Millisecond) // a model's pace
			}
			r.must(answer.Finish(r.ctx))
			r.must(<-done)
			var shown []string
			for _, m := range r.Messages(42) {
				shown = append(shown, numbered.FindAllString(m.Text, -1)...)
				if n := markdown.UTF16Len(m.Text); n > maxText {
					t.Errorf("a message has %d units", n)
				}
			}
			if !slices.Equal(shown, words) {
				t.Errorf("%d words of %d are shown, or in another order", len(shown), len(words))
			}
			for _, c := range r.Calls() {
				// "Not modified" is what an edit finds whose first answer was lost.
				if c.Status == 400 && c.Error != "Bad Request: something odd" && !strings.Contains(c.Error, "not modified") {
					t.Errorf("Telegram refused %s: %s", c.Method, c.Error)
				}
			}
			if n := len(r.Calls("sendMessage")); n > 10 {
				t.Errorf("%d messages were sent for one reply", n)
			}
		})
	}
}
