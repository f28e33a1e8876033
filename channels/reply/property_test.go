package reply

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"clawbot/channels"
	"clawbot/channels/markdown"
)

// step is one thing that happens to a reply.
type step struct {
	write    string
	status   string
	freeze   bool
	mark     bool
	truncate bool
	wait     time.Duration
}

var words = []string{"word ", "two words ", "**bold** ", "`code` ", "[link](https://example.com/a) ", ".\n\n", "\n- item ", "\n```go\n", "x := 1\n",
	"\n```\n", "👩‍👩‍👧 ", "\n\n| # | ~ |\n|---|---|\n| c | d |\n", "&amp; ", "# Title\n", " ", "é", "@everyone ", strings.Repeat("long", 30), "\n> quote\n"}

func drawStep(t *rapid.T) step {
	switch rapid.IntRange(0, 19).Draw(t, "kind") {
	case 0:
		return step{status: rapid.SampledFrom([]string{"reading", "", "running `ls`"}).Draw(t, "status")}
	case 1:
		return step{freeze: true}
	case 2:
		return step{mark: true}
	case 3:
		return step{truncate: true}
	case 4, 5, 6, 7, 8:
		return step{wait: time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond}
	}
	return step{write: rapid.SampledFrom(words).Draw(t, "word")}
}

// outcome is what a scripted reply came to.
type outcome struct {
	platform *platform
	segments []string // the text between freezes
	err      error
	stats    Stats
	took     time.Duration
}

func perform(t *testing.T, p *platform, ch channels.Channel, steps []step) (o outcome) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r, end := begin(t, Config{Channel: ch, Journal: &journal{}})
		text, mark := "", 0
		var freezes []int
		for _, s := range steps {
			switch {
			case s.freeze:
				r.Freeze()
				if n := len(text); n > 0 && (len(freezes) == 0 || freezes[len(freezes)-1] < n) {
					freezes = append(freezes, n)
					mark = n
				}
			case s.mark:
				mark = r.Mark()
			case s.truncate:
				r.Truncate(mark)
				text = text[:mark]
			case s.wait > 0:
				pause(s.wait)
			case s.write != "":
				r.Write(s.write)
				text += s.write
			default:
				r.Status(s.status)
			}
		}
		o.err = end()
		o.took = time.Since(start)
		o.stats = r.Stats()
		from := 0
		for _, at := range append(freezes, len(text)) {
			o.segments = append(o.segments, text[from:at])
			from = at
		}
		pause(time.Minute) // nothing may come after the final
	})
	o.platform = p
	return o
}

// letters is a text without what splitting adds or drops: white space,
// decoration, repeated table headers and fences.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n\u00a0\u200b`*_>|-#go\\~", r) {
			return -1
		}
		return r
	}, s)
}

func TestWhateverHappensTheLastStateIsTheFinalText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPlatform()
		p.limits.Text = rapid.SampledFrom([]int{60, 200, 4096}).Draw(rt, "limit")
		p.limits.PerMinute = rapid.SampledFrom([]int{0, 20}).Draw(rt, "per minute")
		p.limits.NoDrafts = rapid.IntRange(0, 9).Draw(rt, "no drafts") == 0
		p.latency = time.Duration(rapid.IntRange(0, 500).Draw(rt, "latency")) * time.Millisecond
		faults := rapid.SliceOfN(rapid.SampledFrom([]fault{none, none, none, limited, everywhere, lost, dropped, refused, goneAway}), 0, 12).Draw(rt, "faults")
		p.script = sparse(faults)
		var ch channels.Channel = prober{p}
		if rapid.Bool().Draw(rt, "native") {
			ch = native{growing{p, p.limits.EditEvery, time.Duration(rapid.IntRange(1, 60).Draw(rt, "life")) * time.Second}}
		}
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 80).Draw(rt, "steps")
		o := perform(t, p, ch, steps)
		if o.err != nil {
			rt.Fatalf("given up: %v", o.err)
		}
		checkOutcome(rt, o)
	})
}

// sparse keeps faults that a reply must survive: of those that end it when
// they repeat, not two.
func sparse(faults []fault) []fault {
	var out []fault
	gone, refusals := 0, 0
	for _, f := range faults {
		if f == goneAway {
			if gone++; gone > 1 {
				continue
			}
		}
		if f == refused {
			if refusals++; refusals > 1 {
				continue
			}
		}
		out = append(out, f)
	}
	return out
}

func checkOutcome(rt *rapid.T, o outcome) {
	p := o.platform
	if bad := append(p.overpaced(), p.broken...); len(bad) > 0 {
		rt.Fatalf("%v", bad)
	}
	var want []string
	for _, s := range o.segments {
		for _, c := range markdown.Split(s, p.limits.Text, p.limits.Measure) {
			want = append(want, letters(c.Text))
		}
	}
	var got []string
	for _, m := range p.messages {
		if m.draft || m.status != "" {
			rt.Fatalf("still a draft: %+v", m)
		}
		text := m.text
		if markdown.Blank(text) {
			rt.Fatalf("an empty message")
		}
		got = append(got, letters(text))
	}
	if strings.Join(got, "") != strings.Join(want, "") {
		rt.Fatalf("people read\n%q\nnot\n%q", got, want)
	}
	calls := o.stats.Posts + o.stats.Edits
	// One write a message and second, each part once more, and every fault once.
	if most := int(o.took/p.limits.EditEvery)*2 + 4*len(p.messages) + 30; calls > most {
		rt.Fatalf("%d calls in %s for %d messages", calls, o.took, len(p.messages))
	}
}

func FuzzReply(f *testing.F) {
	f.Add("Hello **world**\n\n```go\nfunc main() {}\n```\n", uint16(50))
	f.Fuzz(func(t *testing.T, text string, limit uint16) {
		p := newPlatform()
		p.limits.Text = int(limit)%500 + 20
		var steps []step
		for i := 0; i < len(text); i += 7 {
			steps = append(steps, step{write: text[i:min(i+7, len(text))]}, step{wait: 200 * time.Millisecond})
		}
		o := perform(t, p, p, steps[:min(len(steps), 200)])
		if o.err != nil || len(p.broken) > 0 {
			t.Fatal(o.err, p.broken)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	p := newPlatform()
	p.limits.NoDrafts = true
	r := New(Config{Channel: p})
	b.ReportAllocs()
	for b.Loop() {
		r.Write("a few words ")
	}
}

// BenchmarkDelta is the whole cost of a streamed delta, edits included, on a
// channel that costs nothing.
func BenchmarkDelta(b *testing.B) {
	for _, size := range []int{200, 2000} {
		b.Run(fmt.Sprint(size, " deltas"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := newPlatform()
				p.limits.EditEvery = time.Millisecond
				r := New(Config{Channel: p})
				go func() { _ = r.Run(b.Context()) }()
				for range size {
					r.Write("a few words and ")
				}
				if err := r.Finish(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/delta")
		})
	}
}
