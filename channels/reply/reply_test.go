package reply

import (
	"context"
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
			switch {
			case i%20 == 5:
				r.Write("\n\n```go\n")
			case i%20 == 15:
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

func TestADraftOfUnknownOutcomeIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := newPlatform(), &journal{}
		p.script = []fault{lost}
		r, end := begin(t, Config{Channel: p, Journal: j})
		r.Write("Some text that is long enough.")
		for range 10 {
			pause(time.Second)
			r.Write(" More.")
		}
		if p.posts != 1 {
			t.Errorf("%d posts while it was a draft", p.posts)
		}
		mustFinish(t, end)
		if p.posts != 2 || r.Stats().Resent != 1 {
			t.Errorf("%d posts, %+v", p.posts, r.Stats())
		}
		if last := p.messages[len(p.messages)-1]; !strings.HasSuffix(last.text, strings.Repeat(" More.", 10)) || last.draft {
			t.Errorf("the final is %q", last.text)
		}
	})
}

func TestAFinalOfUnknownOutcomeIsSentOnceMoreAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{dropped}
		r, end := begin(t, Config{Channel: p})
		r.Write("Hello.")
		mustFinish(t, end)
		if p.reading() != "Hello." || r.Stats().Resent != 1 {
			t.Errorf("%q, %+v", p.reading(), r.Stats())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{lost, lost, none}
		r, end := begin(t, Config{Channel: p})
		r.Write("Hello.")
		if err := end(); err == nil || p.posts != 2 {
			t.Errorf("error %v after %d posts", err, p.posts)
		}
	})
}

func TestAChannelThatCanLookAMessageUpNeverSendsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{lost}
		r, end := begin(t, Config{Channel: prober{p}})
		r.Write("A draft that is long enough.")
		pause(2 * time.Second)
		r.Write(" And more.")
		mustFinish(t, end)
		if got := p.reading(); got != "A draft that is long enough. And more." || r.Stats().Resent != 0 {
			t.Errorf("%q, %+v", got, r.Stats())
		}
	})
}

func TestADeletedMessageIsPostedAnewOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{none, goneAway}
		r, end := begin(t, Config{Channel: p})
		r.Write("A draft that is long enough.")
		pause(time.Second)
		r.Write(" And more.")
		pause(5 * time.Second)
		mustFinish(t, end)
		if got := p.reading(); got != "A draft that is long enough. And more." || p.posts != 2 {
			t.Errorf("%q in %d posts", got, p.posts)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{none, goneAway, none, goneAway}
		r, end := begin(t, Config{Channel: p})
		r.Write("A draft that is long enough.")
		for range 5 {
			pause(2 * time.Second)
			r.Write(" And more.")
		}
		if err := end(); err == nil || p.posts != 2 {
			t.Errorf("error %v after %d posts", err, p.posts)
		}
	})
}

// xqicxx/dsh-telegram#15: each refused edit brought a new "…" message.
func TestRow14RefusedDraftsMakeNoNewMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{none, refused, limited, refused, refused, refused}
		r, end := begin(t, Config{Channel: p})
		for range 20 {
			r.Write("some words that come and come ")
			pause(time.Second)
		}
		mustFinish(t, end)
		if p.posts != 1 || len(p.messages) != 1 || p.messages[0].draft {
			t.Errorf("%d posts: %q", p.posts, p.reading())
		}
	})
}

// openclaw#87624: at the final the parts of a long preview were sent again.
func TestRow12TheFinalDoesNotRepeatThePreview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: p})
		for i := range 100 {
			r.Write(strings.Repeat("word ", 20) + "\n\n")
			if i%10 == 0 {
				pause(time.Second)
			}
		}
		pause(3 * time.Second)
		before := p.edits
		mustFinish(t, end)
		if p.posts != len(p.messages) || len(p.messages) != 3 {
			t.Errorf("%d posts for %d messages", p.posts, len(p.messages))
		}
		if p.edits-before > 1 {
			t.Errorf("the final edited %d parts of which only the last was open", p.edits-before)
		}
	})
}

// letta-ai/lettabot#459: a message over the limit was refused, and nobody saw.
func TestRow45WhatIsTooLongIsSplitSmaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{tooLong, tooLong}
		r, end := begin(t, Config{Channel: p})
		r.Write(strings.Repeat("one two three four\n", 100))
		mustFinish(t, end)
		if got := strings.Count(p.reading(), "one two three four"); got != 100 || len(p.messages) < 2 {
			t.Errorf("%d of 100 lines in %d messages", got, len(p.messages))
		}
	})
}

func TestAMovedChatIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{moved}
		r, end := begin(t, Config{Channel: p})
		r.Write("Hello.")
		mustFinish(t, end)
		if got := p.reading(); got != "Hello." {
			t.Errorf("got %q", got)
		}
	})
}

func TestABotThatWasThrownOutGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{thrownOut}
		r, end := begin(t, Config{Channel: p})
		r.Write("A draft that is long enough.")
		pause(10 * time.Second)
		r.Write("ignored")
		err := end()
		if e, ok := errors.AsType[*channels.SendError](err); !ok || e.Reason != channels.ReasonForbidden {
			t.Errorf("got %v", err)
		}
		if p.posts+p.edits != 1 {
			t.Errorf("%d calls", p.posts+p.edits)
		}
	})
}

func TestAFinalWaitsOutARateLimitAndDraftsSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{none, limited}
		r, end := begin(t, Config{Channel: p})
		for range 100 {
			r.Write("some words ")
			pause(100 * time.Millisecond)
		}
		mustFinish(t, end)
		if got := len(strings.Fields(p.reading())); got != 200 {
			t.Errorf("%d of 200 words", got)
		}
		for i := 3; i < len(p.writes)-1; i++ {
			if gap := p.writes[i].Sub(p.writes[i-1]); gap < 2*time.Second {
				t.Errorf("after the refusal a gap of %s", gap)
			}
		}
	})
}

func TestDraftsLeaveRoomForTheFinalInAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.limits.PerMinute = 20
		r, end := begin(t, Config{Channel: p})
		for range 50 {
			r.Write("some words ")
			pause(time.Second)
		}
		before := time.Now()
		mustFinish(t, end)
		if waited := time.Since(before); waited > p.limits.EditEvery {
			t.Errorf("the final waited %s", waited)
		}
		if bad := p.overpaced(); len(bad) > 0 {
			t.Error(bad)
		}
	})
}

func TestWithoutDraftsOnlyFinishedTextIsPosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.limits.NoDrafts = true
		r, end := begin(t, Config{Channel: p})
		r.Status("working")
		r.Write("Part one of it, which is long enough.")
		pause(10 * time.Second)
		if p.posts != 0 {
			t.Errorf("posted %q", p.reading())
		}
		r.Freeze()
		pause(time.Second)
		r.Write("Part two.")
		mustFinish(t, end)
		if got := p.reading(); got != "Part one of it, which is long enough.\n--\nPart two." || p.edits != 0 {
			t.Errorf("got %q", got)
		}
	})
}

func TestTypingIsKeptAliveAndStopsBeforeTheFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.limits.NoDrafts = true
		r, end := begin(t, Config{Channel: p})
		pause(9 * time.Second)
		r.Write("Done.")
		mustFinish(t, end)
		n := len(p.typings)
		pause(time.Minute)
		if n != 3 || len(p.typings) != 3 {
			t.Errorf("%d signs in 9 s, %d after", n, len(p.typings))
		}
	})
}

func TestASuccessorGoesOnEditingTheMessageThatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := newPlatform(), &journal{}
		ctx, kill := context.WithCancel(t.Context())
		r := New(Config{Channel: p, Target: p.target(), Journal: j, State: State{Run: "r"}})
		ran := make(chan error, 1)
		go func() { ran <- r.Run(ctx) }()
		r.Write("The beginning of an answer ")
		pause(2 * time.Second)
		kill()
		if err := <-ran; !errors.Is(err, ErrEnded) {
			t.Errorf("Run returned %v", err)
		}
		if err := r.Finish(t.Context()); !errors.Is(err, ErrEnded) {
			t.Errorf("Finish returned %v", err)
		}
		r, end := begin(t, Config{Channel: p, Journal: j, State: j.last()})
		r.Write("The beginning of an answer and its end.")
		mustFinish(t, end)
		if got := p.reading(); got != "The beginning of an answer and its end." || p.posts != 1 {
			t.Errorf("%q in %d posts", got, p.posts)
		}
		if s := j.last(); !s.Done || !s.Final {
			t.Errorf("%+v", s)
		}
		posts, edits := p.posts, p.edits
		r, end = begin(t, Config{Channel: p, Journal: j, State: j.last()})
		r.Write("The beginning of an answer and its end.")
		mustFinish(t, end)
		if p.posts != posts || p.edits != edits {
			t.Error("a reply that is done was written again")
		}
	})
}

func TestALostLeaseSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fenced := errors.New("fenced")
		p, j := newPlatform(), &journal{err: fenced}
		r, end := begin(t, Config{Channel: p, Journal: j})
		r.Write("Hello.")
		if err := end(); !errors.Is(err, fenced) || p.posts != 0 {
			t.Errorf("%v, %d posts", err, p.posts)
		}
	})
}

func TestFinishGivesUpWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		for range 100 {
			p.script = append(p.script, limited)
		}
		r, _ := begin(t, Config{Channel: p})
		r.Write("Hello.")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := r.Finish(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// pause lets time pass and everything that is due happen.
func pause(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAPlatformThatKnowsTheNonceShowsTheFinalText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.dedupes = true
		p.script = []fault{lost}
		r, end := begin(t, Config{Channel: p})
		r.Write("A draft that is long enough.")
		pause(2 * time.Second)
		r.Write(" And more.")
		mustFinish(t, end)
		if got := p.reading(); got != "A draft that is long enough. And more." {
			t.Errorf("got %q", got)
		}
	})
}

func TestNothingTypesWhileTheFinalWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{limited, limited, limited, limited}
		r, end := begin(t, Config{Channel: p})
		pause(time.Second)
		r.Write("Done.")
		n := len(p.typings)
		mustFinish(t, end)
		if len(p.typings) != n || p.posts != 5 {
			t.Errorf("%d signs before the final was ready, then %d", n, len(p.typings)-n)
		}
	})
}

func TestATextOfTheSameLengthIsShownAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: p})
		r.Write("The first answer, as it began.")
		pause(3 * time.Second)
		r.Truncate(0)
		r.Write("Another answer, quite as long.")
		pause(3 * time.Second)
		if got := p.reading(); got != "Another answer, quite as long." {
			t.Errorf("got %q", got)
		}
		mustFinish(t, end)
	})
}

func TestAfterThreeRefusedDraftsOnlyTheFinalIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{none, refused, refused, refused}
		r, end := begin(t, Config{Channel: p})
		for range 20 {
			r.Write("some words that come and come ")
			pause(time.Second)
		}
		mustFinish(t, end)
		if p.posts != 1 || p.edits != 4 {
			t.Errorf("%d posts, %d edits", p.posts, p.edits)
		}
	})
}

func TestAnAnswerThatComesInATenthOfASecondIsPostedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: p})
		for range 10 {
			r.Write("some words that come fast ")
			pause(10 * time.Millisecond)
		}
		mustFinish(t, end)
		if p.posts != 1 || p.edits != 0 {
			t.Errorf("%d posts, %d edits", p.posts, p.edits)
		}
	})
}

func TestTextAfterAFreezeIsNotInTheCodeBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.limits.Text = 60
		r, end := begin(t, Config{Channel: p})
		r.Write("```go\n" + strings.Repeat("line of code\n", 6) + "```\n")
		r.Freeze()
		r.Write("Plain.")
		mustFinish(t, end)
		if got := p.messages[len(p.messages)-1].text; got != "Plain." {
			t.Errorf("got %q", got)
		}
	})
}
