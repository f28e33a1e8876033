package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"clawbot/store"
)

var leaseTests = []test{
	{name: "a new session starts empty", fn: func(e *env) {
		l := e.acquire("s")
		st := l.Start()
		e.equal(l.Session(), "s", "session")
		if st.Token == "" {
			e.Fatal("no token")
		}
		st.Token = ""
		e.equal(st, store.Start{SummaryAt: -1}, "start")
		e.equal(e.load(l, 0), store.Transcript{}, "transcript")
	}},
	{name: "a held session is refused to others, who are told by whom and for how long", fn: func(e *env) {
		e.acquireAs("s", "a", hour)
		_, err := e.Acquire(e.ctx, "s", "b", hour)
		var held *store.HeldError
		if !errors.As(err, &held) {
			e.Fatalf("error is %v", err)
		}
		e.equal(held.Owner, "a", "owner")
		if held.For <= 0 || held.For > hour {
			e.Fatalf("held for %v", held.For)
		}
	}},
	{name: "other sessions are free", fn: func(e *env) {
		e.acquireAs("s1", "a", hour)
		e.acquireAs("s2", "b", hour)
	}},
	{name: "its holder acquires the same tenure again", fn: func(e *env) {
		l1 := e.acquire("s")
		l2 := e.acquire("s")
		e.equal(l2.Start().Token, l1.Start().Token, "token")
		e.equal(l2.Start().Crashed, false, "crashed")
		e.equal(l2.Start().Attempts, 0, "attempts")
		e.append(l1, 0, user("u1"))
		e.append(l2, 1, user("u2"))
	}},
	{name: "a released session is free at once, under another token", fn: func(e *env) {
		l1 := e.acquire("s")
		e.release(l1)
		l2 := e.acquireAs("s", "b", hour)
		if l1.Start().Token == l2.Start().Token {
			e.Fatal("token used twice")
		}
		e.equal(l2.Start().Crashed, false, "crashed")
	}},
	{name: "an expired lease is taken over and counted as a crash", fn: func(e *env) {
		l := e.crash("s")
		e.equal(l.Start().Crashed, true, "crashed")
		e.equal(l.Start().Attempts, 1, "attempts")
	}},
	{name: "its own owner may take an expired lease, too, as a new tenure", fn: func(e *env) {
		old := e.acquireAs("s", "a", e.short)
		for e.peekOwner("s") != "" {
			time.Sleep(e.short / 10)
		}
		l := e.acquireAs("s", "a", hour)
		e.equal(l.Start().Crashed, true, "crashed")
		_, err := old.Renew(e.ctx)
		e.is(err, store.ErrFenced)
	}},
	{name: "an expired lease that nobody took is still its holder's", fn: func(e *env) {
		l := e.acquireAs("s", "a", e.short)
		for e.peekOwner("s") != "" {
			time.Sleep(e.short / 10)
		}
		e.append(l, 0, user("u"))
		_, err := l.Renew(e.ctx)
		e.ok(err)
		e.release(l)
		e.equal(e.acquire("s").Start().Crashed, false, "crashed")
	}},
	{name: "Renew keeps others out beyond the first ttl", hours: true, fn: func(e *env) {
		l := e.acquireAs("s", "a", time.Minute)
		for range 10 {
			time.Sleep(50 * time.Second)
			_, err := l.Renew(e.ctx)
			e.ok(err)
		}
		_, err := e.Acquire(e.ctx, "s", "b", hour)
		var held *store.HeldError
		if !errors.As(err, &held) {
			e.Fatalf("error is %v", err)
		}
		e.equal(held.For, time.Minute, "held for")
		time.Sleep(time.Minute - time.Nanosecond)
		e.equal(len(e.due()), 0, "due a moment before")
		time.Sleep(time.Nanosecond)
		e.equal(e.due(), "[s]", "due when expired")
		e.acquireAs("s", "b", hour)
	}},
	{name: "attempts count crashes until the assistant says something", fn: func(e *env) {
		e.equal(e.crash("s").Start().Attempts, 1, "attempts")
		e.giveUp("s", "b")
		e.equal(e.crash("s").Start().Attempts, 2, "attempts")
		l := e.acquireAs("s", "b", hour)
		e.append(l, 0, user("u"), note("n"))
		e.giveUp("s", "b")
		e.equal(e.crash("s").Start().Attempts, 3, "attempts")
		l = e.acquireAs("s", "b", hour)
		e.append(l, 2, assistant("as"))
		e.giveUp("s", "b")
		e.equal(e.crash("s").Start().Attempts, 1, "attempts after an answer")
	}},
	{name: "a release forgets the attempts", fn: func(e *env) {
		l := e.crash("s")
		e.release(l)
		e.equal(e.acquire("s").Start().Attempts, 0, "attempts")
	}},
	{name: "writing again what is there does not forget the attempts", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, assistant("as"))
		e.ok(l.HandOff(e.ctx, 0, true))
		l = e.acquire("s")
		e.append(l, 0, assistant("as"))
		e.ok(l.HandOff(e.ctx, 0, false))
		e.equal(e.acquire("s").Start().Attempts, 1, "attempts")
	}},
	{name: "a malformed session, owner or ttl is refused", fn: func(e *env) {
		for _, err := range []error{
			second(e.Acquire(e.ctx, "a b", "a", hour)), second(e.Acquire(e.ctx, "", "a", hour)),
			second(e.Acquire(e.ctx, "s", "", hour)), second(e.Acquire(e.ctx, "s", "a", 0)),
			second(e.Acquire(e.ctx, "s", "a", -1)),
		} {
			e.is(err, store.ErrInvalid)
		}
	}},
	{name: "a cancelled call acquires nothing", fn: func(e *env) {
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		_, err := e.Acquire(ctx, "s", "a", hour)
		e.is(err, context.Canceled)
		e.acquireAs("s", "b", hour)
	}},
	{name: "of many that acquire at once, one gets it", fn: func(e *env) {
		var wg sync.WaitGroup
		got := make(chan bool, 16)
		for i := range cap(got) {
			wg.Go(func() {
				_, err := e.Acquire(e.ctx, "s", string(rune('a'+i)), hour)
				var held *store.HeldError
				if err != nil && !errors.As(err, &held) {
					e.Errorf("error is %v", err)
				}
				got <- err == nil
			})
		}
		wg.Wait()
		n := 0
		for range cap(got) {
			if <-got {
				n++
			}
		}
		e.equal(n, 1, "leases")
	}},
}

func second[T any](_ T, err error) error { return err }

// giveUp hands off the session that owner holds.
func (e *env) giveUp(session, owner string) {
	e.Helper()
	l := e.acquireAs(session, owner, hour)
	e.ok(l.HandOff(e.ctx, 0, false))
}

// peekOwner is the owner that the archive tells.
func (e *env) peekOwner(session string) string {
	e.Helper()
	list, _, err := e.Archive().Sessions(e.ctx, session, "", 1)
	e.ok(err)
	if len(list) == 0 {
		e.Fatalf("session %s is not listed", session)
	}
	return list[0].Owner
}

// fencedCalls makes every call of a lease and returns their errors by name.
func fencedCalls(ctx context.Context, l store.Lease) map[string]error {
	return map[string]error{
		"Load":           second(l.Load(ctx, 0)),
		"Peek":           second(l.Peek(ctx, 100)),
		"Drain":          second(l.Drain(ctx, 0, 0, 0)),
		"Append":         l.Append(ctx, 0, []store.Entry{user("evil")}),
		"Append nothing": l.Append(ctx, 0, nil),
		"Intent":         second(l.Intent(ctx, "c")),
		"SetReply":       l.SetReply(ctx, store.Reply{Run: "evil", Open: true}),
		"Compact":        l.Compact(ctx, 0, summary("evil"), 0),
		"Bury":           l.Bury(ctx, []int64{0}, "evil"),
		"Renew":          second(l.Renew(ctx)),
		"ReleaseIfEmpty": second(l.ReleaseIfEmpty(ctx)),
		"HandOff":        l.HandOff(ctx, 0, true),
	}
}

var fencingTests = []test{
	{name: "a holder that was taken over can do nothing, and changes nothing", fn: func(e *env) {
		e.put("s", "a")
		e.signal("s", "x")
		old := e.acquireAs("s", "a", e.short)
		l := e.takeOver("s", "b")
		for name, err := range fencedCalls(e.ctx, old) {
			if !errors.Is(err, store.ErrFenced) {
				e.Errorf("%s: %v", name, err)
			}
		}
		e.is(e.Archive().Purge(e.ctx, old), store.ErrFenced)
		e.equal(len(e.load(l, 0).Entries), 0, "entries")
		w := e.peek(l, 0)
		e.equal([]int{len(w.Messages), len(w.Signals)}, "[1 1]", "waiting")
		e.equal(e.acquireAs("s", "b", hour).Start().Reply, store.Reply{}, "reply")
		e.equal(e.put("s", "b").Owner, "b", "owner")
	}},
	{name: "the whole token counts, so a holder from before a purge is fenced as well", fn: func(e *env) {
		old := e.acquire("s")
		e.ok(e.Archive().Purge(e.ctx, e.acquire("s")))
		e.put("s", "a")
		l := e.acquireAs("s", "b", hour)
		for name, err := range fencedCalls(e.ctx, old) {
			if !errors.Is(err, store.ErrFenced) {
				e.Errorf("%s: %v", name, err)
			}
		}
		e.equal(ids(e.drain(l, 0)), "[0:a]", "drained")
	}},
	{name: "who released or handed off can do nothing more", fn: func(e *env) {
		released := e.acquire("s1")
		e.release(released)
		handed := e.acquire("s2")
		e.ok(handed.HandOff(e.ctx, 0, false))
		for _, l := range []store.Lease{released, handed} {
			for name, err := range fencedCalls(e.ctx, l) {
				if name != "ReleaseIfEmpty" && name != "HandOff" && !errors.Is(err, store.ErrFenced) {
					e.Errorf("%s: %v", name, err)
				}
			}
		}
	}},
	{name: "entries carry the token of the lease that wrote them", fn: func(e *env) {
		e.put("s", "a")
		l1 := e.acquire("s")
		e.drain(l1, 0)
		e.append(l1, 1, assistant("as"))
		e.release(l1)
		l2 := e.acquire("s")
		e.ok(l2.Compact(e.ctx, 2, summary("sum"), 0))
		list, err := e.Archive().Read(e.ctx, "s", 0, 10)
		e.ok(err)
		t1, t2 := l1.Start().Token, l2.Start().Token
		e.equal([]string{list[0].Token, list[1].Token, list[2].Token}, []string{t1, t1, t2}, "tokens")
	}},
}
