package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
	"clawbot/store"
	"clawbot/store/memory"
)

func TestACallIsReservedBeforeItAndSettledByWhatItTook(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		b := newBudget(t, s, Limits{DailyUSD: 1, SessionUSD: 0.9, UserUSD: 0.8})
		a := account("chat:1", "chat:ana")
		model := dollar(step{usage: agentcore.Usage{Input: 20, Output: 30}})
		model.each = func() {
			for _, k := range []Kind{Daily, Conversation, Personal} {
				if got := used(t, b, a, k); got != 120 {
					t.Errorf("during the call %d thousandths are reserved of the cap %q", got, k)
				}
			}
		}
		u, err := ask(With(t.Context(), a), b.Model(model), request(100))
		must(t, err)
		if u.Cost != 50e6 {
			t.Errorf("the answer cost %d", u.Cost)
		}
		for _, k := range []Kind{Daily, Conversation, Personal} {
			if got := used(t, b, a, k); got != 50 {
				t.Errorf("after the call %d thousandths are counted of the cap %q", got, k)
			}
		}
	})
}

func TestACapIsNeverPassedHoweverManyAskAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		// Two replicas share the store, and a call takes all it may.
		one, two := newBudget(t, s, Limits{DailyUSD: 1}), newBudget(t, s, Limits{DailyUSD: 1})
		var answered, refused atomic.Int64
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				model := dollar(step{usage: agentcore.Usage{Input: 20, Output: 80}})
				b := one
				if i%2 == 1 {
					b = two
				}
				_, err := ask(With(t.Context(), account(fmt.Sprint("chat:", i))), b.Model(model), request(80))
				var reached *Reached
				switch {
				case err == nil:
					answered.Add(1)
				case errors.As(err, &reached) && agentcore.ClassOf(err) == agentcore.ErrLimit:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if answered.Load() != 10 || refused.Load() != 10 {
			t.Errorf("%d were answered and %d refused, of a cap for 10", answered.Load(), refused.Load())
		}
	})
}

func TestWhatIsLeftUnsettledCountsInFull(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		b := newBudget(t, s, Limits{DailyUSD: 1})
		a := account("chat:1")
		for name, c := range map[string]struct {
			step step
			want int64
		}{
			"a stream that breaks off":       {step{text: "hal", err: &agentcore.Error{Class: agentcore.ErrNetwork, Retryable: true}}, 120},
			"a server that does not count":   {step{text: "hello"}, 120},
			"a request that was refused":     {step{err: &agentcore.Error{Class: agentcore.ErrBadRequest, Status: 400}}, 0},
			"a vendor that asks to wait":     {step{err: &agentcore.Error{Class: agentcore.ErrRateLimited, Status: 429}}, 0},
			"a connection that breaks early": {step{err: &agentcore.Error{Class: agentcore.ErrNetwork}}, 120},
		} {
			before := used(t, b, a, Daily)
			_, _ = ask(With(t.Context(), a), b.Model(dollar(c.step)), request(100))
			if got := used(t, b, a, Daily) - before; got != c.want {
				t.Errorf("%s counts %d, want %d", name, got, c.want)
			}
		}
	})
}

func TestACallThatIsStoppedAtOnceCountsWhatItCanHaveTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, memory.New(), Limits{DailyUSD: 100})
		a := account("chat:1")
		ctx, cancel := context.WithCancel(With(t.Context(), a))
		model := dollar(step{text: "four"})
		model.each = func() { time.Sleep(100 * time.Millisecond); cancel() }
		_, err := ask(ctx, b.Model(model), request(8000))
		if agentcore.ClassOf(err) != agentcore.ErrAborted {
			t.Fatal(err)
		}
		// 20 in, 3000 a second, and the bytes that were seen.
		if got := used(t, b, a, Daily); got != 20+300+4 {
			t.Errorf("it counts %d thousandths", got)
		}
		if _, err := ask(ctx, b.Model(model), request(8000)); agentcore.ClassOf(err) != agentcore.ErrAborted || used(t, b, a, Daily) != 324 {
			t.Errorf("a call that was stopped before it began: %v, %d", err, used(t, b, a, Daily))
		}
	})
}

func TestAnUnknownPriceFailsClosedAndNamesTheKeyToSet(t *testing.T) {
	model := &script{steps: []step{{usage: agentcore.Usage{Input: 5}}}}
	b := newBudget(t, memory.New(), Limits{UserUSD: 1})
	_, err := ask(t.Context(), b.Model(model), request(10))
	if agentcore.ClassOf(err) != agentcore.ErrLimit || !strings.Contains(err.Error(), `providers.test.models."m".price`) || len(model.asked) > 0 {
		t.Errorf("asked %d times: %v", len(model.asked), err)
	}
	for _, l := range []Limits{{}, {RunTokens: 1000}} {
		must(t, b.SetLimits(l))
		if _, err := ask(With(t.Context(), account("chat:1")), b.Model(model), request(10)); err != nil {
			t.Errorf("with %+v: %v", l, err)
		}
	}
	model.price = &agentcore.Price{}
	must(t, b.SetLimits(Limits{UserUSD: 0.01}))
	if _, err := ask(t.Context(), b.Model(model), request(10)); err != nil {
		t.Errorf("a model that costs nothing: %v", err)
	}
}

func TestLimitsThatAreNoneAreRefused(t *testing.T) {
	for _, l := range []Limits{{DailyUSD: -1}, {UserUSD: math.NaN()}, {SessionUSD: math.Inf(1)}, {WarnAt: 1.1}, {RunTokens: -1}, {DailyUSD: 2e6}} {
		if _, err := New(Config{Store: memory.New(), Limits: l}); err == nil || !strings.Contains(err.Error(), "budget.") {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func TestAnAnswerIsMadeShorterToFitIntoWhatIsLeft(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		b := newBudget(t, s, Limits{DailyUSD: 3})
		a := account("chat:1")
		model := dollar(step{usage: agentcore.Usage{Input: 20, Output: 980}})
		for i, want := range []int64{2980, 1980, 0} {
			_, err := ask(With(t.Context(), a), b.Model(model), request(4000))
			if want == 0 {
				// A thousand thousandths are left, and an answer needs 1044.
				if agentcore.ClassOf(err) != agentcore.ErrLimit {
					t.Errorf("the third answer: %v", err)
				}
				break
			}
			must(t, err)
			if got := model.asked[i].MaxTokens; got != want {
				t.Errorf("answer %d may have %d tokens, want %d", i+1, got, want)
			}
		}
		if used(t, b, a, Daily) != 2000 {
			t.Errorf("%d are counted", used(t, b, a, Daily))
		}
	})
}

func TestAModelThatThinksBesideItsAnswerIsKeptWithinWhatIsLeft(t *testing.T) {
	b := newBudget(t, memory.New(), Limits{DailyUSD: 6})
	for _, c := range []struct{ most, tokens int64 }{{0, 3932}, {5000, 2952}} {
		info := agentcore.ModelInfo{Ref: agentcore.ModelRef{Format: "anthropic"}, Price: dollar().price, MaxOutput: c.most}
		req := request(100_000)
		req.Thinking = agentcore.ThinkingLow
		call, got, err := b.open(t.Context(), &info, req)
		must(t, err)
		if _, out := bounds(&info, got); out > call.out {
			t.Errorf("%d tokens are reserved for an answer of %d", call.out, out)
		}
		call.settle(t.Context(), 0, 0)
	}
	must(t, b.SetLimits(Limits{DailyUSD: 2}))
	info := agentcore.ModelInfo{Ref: agentcore.ModelRef{Format: "anthropic"}, Price: dollar().price}
	req := request(100_000)
	req.Thinking = agentcore.ThinkingHigh
	call, got, err := b.open(t.Context(), &info, req)
	must(t, err)
	if got.Thinking != agentcore.ThinkingOff || got.MaxTokens != call.out {
		t.Errorf("it thinks %q beside %d tokens, and %d are reserved", got.Thinking, got.MaxTokens, call.out)
	}
}

func TestWhoSteersPaysForWhatFollowsUntilTheirBudgetIsUsedUp(t *testing.T) {
	b := newBudget(t, memory.New(), Limits{UserUSD: 0.25})
	a := account("chat:1", "chat:ana")
	model := b.Model(dollar(step{usage: agentcore.Usage{Input: 20, Output: 80}}))
	ctx := With(t.Context(), a)
	call := func() error {
		_, err := ask(ctx, model, request(80))
		return err
	}
	must(t, call())
	a.Charge("chat:ben")
	must(t, call())
	must(t, call()) // and now ben has 0.05 left
	must(t, call()) // so ana goes on paying
	ana, ben := account("", "chat:ana"), account("", "chat:ben")
	if used(t, b, ana, Personal) != 200 || used(t, b, ben, Personal) != 200 {
		t.Errorf("ana pays %d, ben %d", used(t, b, ana, Personal), used(t, b, ben, Personal))
	}
	var reached *Reached
	if err := call(); !errors.As(err, &reached) || reached.User != "chat:ben" || !a.Refused() {
		t.Errorf("with both budgets used up: %v", err)
	}
}

func TestARunHasItsTokensWhicheverReplicaGoesOnWithIt(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		model := dollar(step{usage: agentcore.Usage{Input: 20, Output: 30}})
		for i, want := range []bool{true, true, false} {
			b := newBudget(t, s, Limits{RunTokens: 150})
			_, err := ask(With(t.Context(), account("chat:1")), b.Model(model), request(50))
			if (err == nil) != want {
				t.Errorf("call %d: %v", i, err)
			}
		}
		b := newBudget(t, s, Limits{RunTokens: 150})
		if _, err := ask(With(t.Context(), account("chat:2")), b.Model(model), request(50)); err != nil {
			t.Errorf("another run: %v", err)
		}
	})
}

func TestABudgetOfADayBeginsAnewAtMidnightAndLateSettlementsCountForTheDayBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which begins at midnight UTC
		b := newBudget(t, memory.New(), Limits{DailyUSD: 0.2})
		ctx := With(t.Context(), account("chat:1"))
		model := dollar(step{usage: agentcore.Usage{Input: 20, Output: 30}})
		time.Sleep(23*time.Hour + 59*time.Minute)
		model.each = func() { time.Sleep(2 * time.Minute) }
		if _, err := ask(ctx, b.Model(model), request(100)); err != nil {
			t.Fatal(err)
		}
		model.each = nil
		if got := used(t, b, account("chat:1"), Daily); got != 0 {
			t.Errorf("the new day begins with %d", got)
		}
		rows, err := b.Spend(t.Context(), time.Now().Add(-time.Hour), time.Now())
		must(t, err)
		if len(rows) != 1 || rows[0].Day != "2000-01-01" || rows[0].Usage.Cost != 50e6 {
			t.Errorf("spent: %+v", rows)
		}
		for i := range 5 {
			_, err := ask(ctx, b.Model(model), request(100))
			var reached *Reached
			if i < 2 && err != nil || i > 2 && !errors.As(err, &reached) {
				t.Errorf("call %d: %v", i, err)
			}
			if i == 4 {
				text := err.(*agentcore.Error).User
				for _, want := range []string{"Today's budget of $0.20 for everybody is reached", "at 00:00 UTC, in 23 h 59 min", "/budget raise day 0.5", "Nothing is lost"} {
					if !strings.Contains(text, want) {
						t.Errorf("the person is told %q, which lacks %q", text, want)
					}
				}
			}
		}
	})
}

func TestACapCanBeRaisedForAsLongAsItHolds(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		b, other := newBudget(t, s, Limits{DailyUSD: 0.1}), newBudget(t, s, Limits{DailyUSD: 0.1})
		a := account("chat:1")
		model := dollar(step{usage: agentcore.Usage{Input: 20, Output: 80}})
		call := func(b *Budget) bool {
			_, err := ask(With(t.Context(), a), b.Model(model), request(80))
			return err == nil
		}
		if !call(b) || call(b) || call(other) {
			t.Fatal("the cap is for one call")
		}
		for range 2 { // a message that arrives twice
			is, err := other.Raise(t.Context(), "m:1", a, Daily, 0.15)
			must(t, err)
			if is.Limit != 250e6 || is.Raised != 150e6 || is.Used != 100e6 {
				t.Errorf("it stands at %+v", is)
			}
		}
		if !call(b) || call(b) || call(other) {
			t.Error("the raise is for one call more")
		}
		for _, usd := range []float64{0, -1, math.NaN(), math.Inf(1), 1e7} {
			if _, err := b.Raise(t.Context(), "", a, Daily, usd); err == nil || !strings.Contains(err.Error(), "no amount") {
				t.Errorf("a raise by %v: %v", usd, err)
			}
		}
		if _, err := b.Raise(t.Context(), "", a, Personal, 1); err == nil || !strings.Contains(err.Error(), "user_usd") {
			t.Errorf("a cap that there is not: %v", err)
		}
	})
}

func TestAConversationThatBeginsAnewHasANewBudget(t *testing.T) {
	b := newBudget(t, memory.New(), Limits{SessionUSD: 0.1})
	model := dollar(step{usage: agentcore.Usage{Input: 20, Output: 80}})
	for i, want := range []bool{true, false, true} {
		a := account("chat:1")
		a.Since = int64(i / 2 * 7)
		if _, err := ask(With(t.Context(), a), b.Model(model), request(80)); (err == nil) != want {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestPeopleAreWarnedOnceInAWindow(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		l := Limits{DailyUSD: 1, UserUSD: 2, WarnAt: 0.8}
		one, two := newBudget(t, s, l), newBudget(t, s, l)
		a := account("chat:1", "chat:ana")
		model := dollar(step{usage: agentcore.Usage{Input: 20, Output: 380}})
		warned := func(b *Budget) (kinds []Kind) {
			near, err := b.Nearly(t.Context(), a)
			must(t, err)
			for _, s := range near {
				kinds = append(kinds, s.Kind)
			}
			return kinds
		}
		for i, want := range []string{"[]", "[day]"} {
			_, err := ask(With(t.Context(), a), one.Model(model), request(380))
			must(t, err)
			if got := fmt.Sprint(warned(one)); got != want {
				t.Errorf("after call %d: %s", i+1, got)
			}
		}
		if got := append(warned(one), warned(two)...); len(got) > 0 {
			t.Errorf("warned again: %v", got)
		}
		_, err := one.Raise(t.Context(), "", a, Daily, 0.2) // to 1.2: 0.8 is no longer near
		must(t, err)
		_, err = ask(With(t.Context(), a), one.Model(model), request(380))
		must(t, err)
		if got := warned(two); len(got) != 1 {
			t.Errorf("after a raise: %v", got)
		}
	})
}

// broken is a store whose counters fail.
type broken struct{ store.Store }

func (b broken) Counters() store.Counters { return failing{b.Store.Counters()} }

type failing struct{ store.Counters }

func (failing) Reserve(context.Context, string, int64, []store.CounterKey) error {
	return errors.New("the disk is gone")
}

func TestWithoutItsStoreABudgetSpendsNothing(t *testing.T) {
	b := newBudget(t, broken{memory.New()}, Limits{DailyUSD: 1})
	model := dollar(step{})
	_, err := ask(t.Context(), b.Model(model), request(10))
	e, ok := err.(*agentcore.Error)
	if !ok || !e.Retryable || len(model.asked) > 0 || !strings.Contains(e.UserMessage(), "try again") {
		t.Errorf("asked %d times: %v", len(model.asked), err)
	}
}

func TestWhatWasSpentInTheMorningStillCountsAtNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, memory.New(), Limits{DailyUSD: 0.3, UserUSD: 0.3})
		a := account("chat:1", "chat:ana")
		model := dollar(step{usage: agentcore.Usage{Input: 20, Output: 80}})
		for i, want := range []bool{true, true, true, false} {
			if i > 0 {
				time.Sleep(7*time.Hour + 50*time.Minute)
			}
			if _, err := ask(With(t.Context(), a), b.Model(model), request(80)); (err == nil) != want {
				t.Errorf("call %d, at %s: %v", i, time.Now().UTC().Format(time.TimeOnly), err)
			}
		}
	})
}
