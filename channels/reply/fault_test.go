package reply

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
)

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
