package reply

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"clawbot/channels"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin starts a reply on a channel; end finishes it and waits for Run.
func begin(t *testing.T, cfg Config) (r *Reply, end func() error) {
	t.Helper()
	if cfg.Target.Chat == "" {
		cfg.Target = channels.Target{Conversation: "fake:c", Chat: "c", ReplyTo: "m1"}
	}
	r = New(cfg)
	ran := make(chan error, 1)
	go func() { ran <- r.Run(t.Context()) }()
	return r, func() error {
		err := r.Finish(t.Context())
		if got := <-ran; !errors.Is(got, err) {
			t.Errorf("Run returned %v, Finish %v", got, err)
		}
		return err
	}
}

func mustFinish(t *testing.T, end func() error) {
	t.Helper()
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestTheLastStateIsTheFinalTextAndWritesKeepThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: p})
		var want strings.Builder
		for range 300 {
			r.Write("ten chars ")
			want.WriteString("ten chars ")
			pause(5 * time.Second / 300)
		}
		mustFinish(t, end)
		if got := p.reading(); got != strings.TrimSpace(want.String()) {
			t.Errorf("got %q", got)
		}
		if bad := append(p.overpaced(), p.broken...); len(bad) > 0 {
			t.Error(bad)
		}
		if n := p.posts + p.edits; n < 5 || n > 7 {
			t.Errorf("%d calls in 5 s at one a second", n)
		}
	})
}

func TestTheFirstTextComesWithinASecondOfTheFirstToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: p})
		r.Write("Hi")
		pause(700 * time.Millisecond)
		if got := p.reading(); got != "Hi" {
			t.Errorf("after 0.7 s people read %q", got)
		}
		mustFinish(t, end)
	})
}

func TestAShortAnswerIsPostedOnceAndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := newPlatform(), &journal{}
		start := time.Now()
		r, end := begin(t, Config{Channel: p, Journal: j, State: State{Run: "r1"}})
		r.Write("The answer is forty-two, as everybody knows.")
		mustFinish(t, end)
		if time.Since(start) > 0 || p.posts != 1 || p.edits != 0 {
			t.Errorf("%d posts, %d edits, after %s", p.posts, p.edits, time.Since(start))
		}
		if len(j.states) != 2 {
			t.Fatalf("%d journal writes", len(j.states))
		}
		first, last := j.states[0], j.states[1]
		if first.Parts[0].Outcome != Sending || first.Parts[0].ID != "" || first.Done {
			t.Errorf("before the send: %+v", first)
		}
		if last.Parts[0].Outcome != Sent || last.Parts[0].ID != "m1" || !last.Done || last.Run != "r1" {
			t.Errorf("after it: %+v", last)
		}
	})
}

func TestAnEmptyReplyIsNotPosted(t *testing.T) {
	for _, text := range []string{"", "  \n", "\u200b", "```", "**"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			r, end := begin(t, Config{Channel: p})
			r.Write(text)
			pause(3 * time.Second)
			if text == "```" || text == "**" { // as drafts they are nothing yet
				if p.posts != 0 {
					t.Errorf("posted %q", p.reading())
				}
			}
			mustFinish(t, end)
			if len(p.broken) > 0 {
				t.Error(p.broken)
			}
		})
	}
}

func TestTheStatusLineIsShownBelowAndRemovedByTheFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: p})
		r.Write("Let me look.")
		r.Status("reading\nREADME.md")
		pause(2 * time.Second)
		if got := p.reading(); got != "Let me look. [reading README.md]" {
			t.Errorf("got %q", got)
		}
		mustFinish(t, end)
		if got := p.reading(); got != "Let me look." {
			t.Errorf("at the end %q", got)
		}
	})
}

func TestAStatusWithoutTextIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: p})
		r.Status("thinking hard")
		pause(2 * time.Second)
		if got := p.reading(); got != " [thinking hard]" {
			t.Errorf("got %q", got)
		}
		mustFinish(t, end)
		if got := p.reading(); got != "" || p.deleted != 1 {
			t.Errorf("at the end %q", got)
		}
	})
}

func TestTextAfterAFreezeStartsANewMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: p})
		r.Write("First part of it, long enough to be shown. ")
		pause(2 * time.Second)
		r.Freeze()
		r.Freeze()
		r.Write("Second part.")
		mustFinish(t, end)
		if got := p.reading(); got != "First part of it, long enough to be shown.\n--\nSecond part." {
			t.Errorf("got %q", got)
		}
	})
}

func TestALongReplyRollsOverAtABlockAndFreezesWhatIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.limits.Text = 200
		r, end := begin(t, Config{Channel: p})
		for i := range 60 {
			switch i % 20 {
			case 5:
				r.Write("\n\n```go\n")
			case 15:
				r.Write("\n```\n\n")
			default:
				r.Write("word and word\n")
			}
			pause(100 * time.Millisecond)
		}
		mustFinish(t, end)
		if bad := append(p.overpaced(), p.broken...); len(bad) > 0 {
			t.Error(bad)
		}
		if len(p.messages) < 5 {
			t.Fatalf("%d messages", len(p.messages))
		}
		for _, m := range p.messages {
			if strings.Count(m.text, "```")%2 != 0 || m.draft {
				t.Errorf("%q (draft %v)", m.text, m.draft)
			}
		}
		if got := strings.Count(p.reading(), "word and word"); got != 54 {
			t.Errorf("%d of 54 lines", got)
		}
	})
}

func TestARestartedStreamReplacesWhatWasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.limits.Text = 100
		r, end := begin(t, Config{Channel: p})
		r.Write("Kept. ")
		mark := r.Mark()
		r.Write(strings.Repeat("this will be taken back. ", 12))
		pause(5 * time.Second)
		if len(p.messages) < 3 {
			t.Fatalf("%d messages", len(p.messages))
		}
		r.Truncate(mark)
		r.Write("And this stays.")
		mustFinish(t, end)
		if got := p.reading(); got != "Kept. And this stays." {
			t.Errorf("got %q", got)
		}
	})
}

// pause lets time pass and everything that is due happen.
func pause(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
