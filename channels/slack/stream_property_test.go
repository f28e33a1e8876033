package slack

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"clawbot/channels/channeltest"
	"clawbot/channels/markdown"
)

// happening is one thing that happens while an answer is streamed.
type happening struct {
	write  string
	status string
	do     string // freeze, mark, truncate, expire, remove, takeover, stop
	wait   time.Duration
}

var streamWords = []string{
	"word ", "two words ", "**bold** ", "**", "`code` ", "`", "_it_ ", "[link](https://example.com/a) ", ".\n\n", "\n- item ", "\n1. one\n2. two ",
	"\n```go\n", "x := 1\n", "\n```\n", "👩‍👩‍👧 ", "\n\n| # | ~ |\n|---|---|\n| c | d |\n", "&amp; ", "# Title\n", " ", "é", "@everyone ",
	"<!channel> ", "<@U1> ", strings.Repeat("long", 30), "\n> quote\n", "\n---\n", "* ", "~~gone~~ ", "a_b_c ", "http://e.org/x_y ", "\\",
	strings.Repeat("A paragraph of some length. ", 20) + "\n\n",
}

func drawHappening(t *rapid.T) happening {
	switch rapid.IntRange(0, 24).Draw(t, "kind") {
	case 0:
		return happening{status: rapid.SampledFrom([]string{"reading", "", "running `ls`", strings.Repeat("x", 300)}).Draw(t, "status")}
	case 1:
		return happening{do: rapid.SampledFrom([]string{"freeze", "mark", "truncate", "expire", "remove", "takeover", "stop"}).Draw(t, "do")}
	case 2:
		return happening{wait: time.Duration(rapid.IntRange(1, 200).Draw(t, "s")) * time.Second}
	case 3, 4, 5, 6, 7, 8, 9:
		return happening{wait: time.Duration(rapid.IntRange(1, 2000).Draw(t, "ms")) * time.Millisecond}
	}
	return happening{write: rapid.SampledFrom(streamWords).Draw(t, "word")}
}

// trouble is a fault of the nth call of a method.
type trouble struct {
	method string
	nth    int
	fault  channeltest.Fault
}

func drawTrouble(t *rapid.T) trouble {
	return trouble{
		method: rapid.SampledFrom([]string{"chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update", "chat.postMessage"}).Draw(t, "method"),
		nth:    rapid.IntRange(1, 5).Draw(t, "nth"),
		fault: rapid.SampledFrom([]channeltest.Fault{
			{Status: 429, RetryAfter: 2 * time.Second}, {Status: 500}, {Status: 503, Body: "<html>"}, {Lost: true}, {Lost: true}, {Drop: true},
			{Status: 200, Description: "internal_error"}, {Status: 200, Description: "ratelimited"}, {Delay: 40 * time.Second},
		}).Draw(t, "fault"),
	}
}

// essence is a text without what splitting adds or drops.
func essence(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n\u00a0\u200b\u2060`*_>|-#go\\~", r) {
			return -1
		}
		return r
	}, s)
}

func TestWhateverHappensToAStreamTheLastStateIsTheFinalText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fake := channeltest.SlackConfig{RateLimits: rapid.Bool().Draw(rt, "limits")}
		latency := time.Duration(rapid.IntRange(0, 400).Draw(rt, "latency")) * time.Millisecond
		troubles := rapid.SliceOfN(rapid.Custom(drawTrouble), 0, 6).Draw(rt, "troubles")
		list := rapid.SliceOfN(rapid.Custom(drawHappening), 1, 60).Draw(rt, "happenings")
		var got, want, bad string
		synctest.Test(t, func(t *testing.T) {
			r := newQuietRig(t, fake)
			defer r.close()
			got, want, bad = r.live(latency, troubles, list)
		})
		if bad != "" || essence(got) != essence(want) {
			rt.Fatalf("people read\n%q\nnot\n%q\n%s", got, want, bad)
		}
	})
}

// live has an answer streamed while things happen. It returns what is shown in
// the end, what the text came to, and what else is wrong.
func (r *quietRig) live(latency time.Duration, troubles []trouble, list []happening) (got, want, bad string) {
	bot, j := r.bot(), &journal{}
	r.SetLatency(latency)
	for _, x := range troubles {
		r.Fail(x.method, x.nth, x.fault)
	}
	rep, finish, kill := r.say(bot, j)
	text, mark, freezes, removed := "", 0, []int{}, false
	for _, h := range list {
		switch {
		case h.wait > 0:
			time.Sleep(h.wait)
		case h.write != "":
			rep.Write(h.write)
			text += h.write
		case h.do == "":
			rep.Status(h.status)
		case h.do == "freeze":
			rep.Freeze()
			if n := len(text); n > 0 && (len(freezes) == 0 || freezes[len(freezes)-1] < n) {
				freezes, mark = append(freezes, n), n
			}
		case h.do == "mark":
			mark = rep.Mark()
		case h.do == "truncate":
			rep.Truncate(mark)
			text = text[:mark]
		case h.do == "expire":
			r.ExpireStreams()
		case h.do == "stop":
			r.PressStop(general, ana, r.to.Thread)
		case h.do == "remove":
			if all := r.Messages(general); len(all) > 0 && all[len(all)-1].Streaming() && !removed {
				removed = true
				r.Delete(general, all[len(all)-1].TS)
			}
		case h.do == "takeover":
			kill()
			rep, finish, kill = r.say(r.bot(), j)
			from := 0
			for _, at := range freezes {
				rep.Write(text[from:at])
				rep.Freeze()
				from = at
			}
			rep.Write(text[from:])
		}
	}
	if err := finish(); err != nil {
		bad += fmt.Sprint("given up: ", err, "; ")
	}
	time.Sleep(3 * time.Minute) // nothing comes after the final
	for _, m := range r.Messages(general) {
		if m.Streaming() || markdown.Blank(m.Shown()) {
			bad += fmt.Sprintf("%q is left as a stream; ", m.Shown())
		}
		got += m.Shown()
	}
	from := 0
	for _, at := range append(freezes, len(text)) {
		want += markdown.SlackBlock(text[from:at])
		from = at
	}
	return got, want, bad
}
