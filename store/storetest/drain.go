package storetest

import (
	"fmt"
	"math"

	"clawbot/store"
)

var drainTests = []test{
	{name: "Drain moves messages to the transcript, in order and once", fn: func(e *env) {
		e.put("s", "a", "b")
		l := e.acquire("s")
		list := e.drain(l, 0)
		e.equal(ids(list), "[0:a 1:b]", "drained")
		for i, en := range list {
			e.equal([]any{en.Kind, en.Inbox, string(en.Data), en.Token}, []any{store.KindUser, i, en.ID, l.Start().Token}, "entry")
			if en.At.IsZero() {
				e.Fatal("entry without time")
			}
		}
		e.equal(len(e.peek(l, 0).Messages), 0, "messages")
		tr := e.load(l, 0)
		e.equal(tr.Tail, 2, "tail")
		e.equal(tr.Entries, list, "transcript")
		e.equal(len(e.drain(l, 2)), 0, "drained again")
	}},
	{name: "a drained entry tells when its message was accepted", fn: func(e *env) {
		e.put("s", "a")
		l := e.acquire("s")
		at := e.peek(l, 0).Messages[0].At
		if got := e.drain(l, 0)[0].At; !got.Equal(at) {
			e.Fatalf("at %v, accepted at %v", got, at)
		}
	}},
	{name: "max bounds how many are moved", fn: func(e *env) {
		e.put("s", "a", "b", "c")
		l := e.acquire("s")
		list, err := l.Drain(e.ctx, 0, 2, 0)
		e.ok(err)
		e.equal(ids(list), "[0:a 1:b]", "drained")
		e.equal(queued(e.peek(l, 0).Messages), "[2:c=c]", "messages")
	}},
	{name: "before bounds by inbox position", fn: func(e *env) {
		e.put("s", "a", "b", "c")
		l := e.acquire("s")
		list, err := l.Drain(e.ctx, 0, 0, 2)
		e.ok(err)
		e.equal(ids(list), "[0:a 1:b]", "drained")
		list, err = l.Drain(e.ctx, 2, 0, 2)
		e.ok(err)
		e.equal(len(list), 0, "drained below a position that is past")
		e.equal(ids(e.drain(l, 2)), "[2:c]", "drained")
		e.equal(e.load(l, 2).Entries[0].Inbox, 2, "inbox position")
		e.put("s", "d")
		list, err = l.Drain(e.ctx, 3, math.MaxInt, math.MaxInt64)
		e.ok(err)
		e.equal(ids(list), "[3:d]", "drained")
	}},
	{name: "an identical drain returns what was moved then", fn: func(e *env) {
		e.put("s", "a", "b", "c")
		l := e.acquire("s")
		first, err := l.Drain(e.ctx, 0, 2, 0)
		e.ok(err)
		e.put("s", "d")
		e.drain(l, 2)
		e.append(l, 4, assistant("as", "call"))
		for range 2 {
			again, err := l.Drain(e.ctx, 0, 2, 0)
			e.ok(err)
			e.equal(again, first, "drained")
		}
		e.equal(ids(e.drain(l, 2)), "[2:c 3:d]", "drained")
		e.equal(e.load(l, 0).Tail, 5, "tail")
	}},
	{name: "another drain at a taken position is a conflict", fn: func(e *env) {
		e.put("s", "a", "b")
		l := e.acquire("s")
		e.drain(l, 0)
		e.append(l, 2, assistant("as"))
		for _, d := range []struct {
			first  int64
			max    int
			before int64
		}{{0, 1, 0}, {0, 0, 5}, {1, 0, 0}, {2, 0, 0}} {
			_, err := l.Drain(e.ctx, d.first, d.max, d.before)
			e.is(err, store.ErrConflict)
		}
	}},
	{name: "a successor that repeats its predecessor's drain gets the same", fn: func(e *env) {
		e.put("s", "a")
		l := e.acquire("s")
		want := e.drain(l, 0)
		e.ok(l.HandOff(e.ctx, 0, false))
		e.equal(e.drain(e.acquireAs("s", "b", hour), 0), want, "drained")
	}},
	{name: "behind the tail is a gap", fn: func(e *env) {
		e.put("s", "a")
		l := e.acquire("s")
		e.is(second(l.Drain(e.ctx, 1, 0, 0)), store.ErrGap)
		e.is(second(l.Drain(e.ctx, -1, 0, 0)), store.ErrInvalid)
		e.equal(len(e.peek(l, 0).Messages), 1, "messages")
	}},
	{name: "Drain is refused while a call is open", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, assistant("as", "c1", "c2"))
		e.put("s", "a")
		e.is(second(l.Drain(e.ctx, 1, 0, 0)), store.ErrOpenCall)
		e.append(l, 1, result("r1", "c1"))
		e.is(second(l.Drain(e.ctx, 2, 0, 0)), store.ErrOpenCall)
		e.equal(len(e.peek(l, 0).Messages), 1, "messages")
		e.append(l, 2, result("r2", "c2"))
		e.equal(ids(e.drain(l, 3)), "[3:a]", "drained")
	}},
	{name: "quiet edits are drained in their place", fn: func(e *env) {
		e.put("s", "a")
		e.accept(edit(store.Remove, "e1", "z", "gone"))
		e.put("s", "b")
		e.equal(ids(e.drain(e.acquire("s"), 0)), "[0:a 1:e1 2:b]", "drained")
	}},
	{name: "a long queue is drained whole", fn: func(e *env) {
		for i := range 100 {
			e.put("s", fmt.Sprint(i))
		}
		list := e.drain(e.acquire("s"), 0)
		e.equal(len(list), 100, "drained")
		for i, en := range list {
			e.equal([]any{en.Position, en.ID, en.Inbox}, []any{i, i, i}, "entry")
		}
	}},
}
