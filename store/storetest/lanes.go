package storetest

import (
	"math"

	"clawbot/store"
)

var laneTests = []test{
	{name: "signals stay in their lane and are never drained", fn: func(e *env) {
		e.put("s", "a")
		e.signal("s", "stop")
		e.put("s", "b")
		l := e.acquire("s")
		e.equal(ids(e.drain(l, 0)), "[0:a 1:b]", "drained")
		w := e.peek(l, 0)
		e.equal(queued(w.Signals), "[0:stop=stop]", "signals")
		e.equal(len(w.Messages), 0, "messages")
	}},
	{name: "a signal knows which messages were sent before it", fn: func(e *env) {
		e.signal("s", "x0")
		e.put("s", "a", "b")
		e.signal("s", "x1")
		e.accept(quiet("s", "c"))
		e.signal("s", "x2")
		l := e.acquire("s")
		e.drain(l, 0)
		e.signal("s", "x3")
		var tails []int64
		for _, q := range e.peek(l, 0).Signals {
			tails = append(tails, q.Tail)
		}
		e.equal(tails, "[0 2 3 3]", "tails")
	}},
	{name: "Peek forgets the signals before a position and no others", fn: func(e *env) {
		e.signal("s", "x")
		e.signal("s", "y")
		e.signal("s", "z")
		e.put("s", "m")
		l := e.acquire("s")
		e.equal(len(e.peek(l, 0).Signals), 3, "signals")
		for range 2 {
			w := e.peek(l, 2)
			e.equal(queued(w.Signals), "[2:z=z]", "signals")
			e.equal(queued(w.Messages), "[0:m=m]", "messages")
		}
		e.equal(len(e.peek(l, math.MaxInt64).Signals), 0, "signals")
		e.equal(e.signal("s", "w").Position, 3, "next position")
		e.equal(len(e.peek(l, 0).Signals), 1, "signals")
	}},
	{name: "the start tells how many signals wait", fn: func(e *env) {
		e.put("s", "m")
		e.signal("s", "x")
		e.signal("s", "y")
		l := e.acquire("s")
		e.equal(l.Start().Signals, 2, "signals at the start")
		e.peek(l, 1)
		e.ok(l.HandOff(e.ctx, 0, false))
		l = e.acquire("s")
		e.equal(l.Start().Signals, 1, "signals at the next start")
		e.peek(l, 2)
		e.ok(l.HandOff(e.ctx, 0, false))
		e.equal(e.acquire("s").Start().Signals, 0, "signals at the last start")
	}},
	{name: "signals come through while a call is open", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, user("u"), assistant("as", "c1"))
		e.signal("s", "stop")
		e.equal(queued(e.peek(l, 0).Signals), "[0:stop=stop]", "signals")
	}},
	{name: "a signal is never quiet and does not count as a waiting message", fn: func(e *env) {
		acc := e.accept(store.Event{ID: "x", Session: "s", Lane: store.Signals, Quiet: true})
		e.equal(acc.Waiting, 0, "waiting")
		e.equal(e.due(), "[s]", "due sessions")
		e.equal(e.peek(e.acquire("s"), 0).Signals[0].Quiet, false, "quiet")
	}},
	{name: "a quiet message neither wakes nor holds, and rides along with the next drain", fn: func(e *env) {
		e.equal(e.accept(quiet("s", "q1")), store.Accepted{}, "accepted")
		e.equal(len(e.due()), 0, "due sessions")
		l := e.acquire("s")
		e.equal(queued(e.peek(l, 0).Messages), "[0:q1=q1]", "messages")
		e.release(l)
		e.equal(len(e.due()), 0, "due sessions after release")
		e.equal(e.put("s", "a").Waiting, 1, "waiting")
		e.accept(quiet("s", "q2"))
		l = e.acquire("s")
		e.equal(ids(e.drain(l, 0)), "[0:q1 1:a 2:q2]", "drained")
		e.release(l)
	}},
	{name: "Renew returns what waits", fn: func(e *env) {
		l := e.acquire("s")
		e.put("s", "a")
		e.signal("s", "x")
		w, err := l.Renew(e.ctx)
		e.ok(err)
		e.equal(queued(w.Messages), "[0:a=a]", "messages")
		e.equal(queued(w.Signals), "[0:x=x]", "signals")
	}},
}
