package storetest

import (
	"time"

	"clawbot/store"
)

func (e *env) kept(l store.Lease, why string) {
	e.Helper()
	done, err := l.ReleaseIfEmpty(e.ctx)
	e.ok(err)
	e.equal(done, false, "released with "+why)
	e.ok(second(l.Renew(e.ctx)))
}

var releaseTests = []test{
	{name: "a waiting message keeps the lease", fn: func(e *env) {
		l := e.acquire("s")
		e.put("s", "a")
		e.kept(l, "a message")
		e.drain(l, 0)
		e.release(l)
	}},
	{name: "a waiting signal keeps the lease", fn: func(e *env) {
		l := e.acquire("s")
		e.signal("s", "x")
		e.kept(l, "a signal")
		e.peek(l, 1)
		e.release(l)
	}},
	{name: "an open call keeps the lease", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, assistant("as", "c1"))
		e.kept(l, "an open call")
		e.append(l, 1, result("r", "c1"))
		e.release(l)
	}},
	{name: "an open reply keeps the lease", fn: func(e *env) {
		l := e.acquire("s")
		e.ok(l.SetReply(e.ctx, store.Reply{Run: "r", Open: true}))
		e.kept(l, "an open reply")
		e.ok(l.SetReply(e.ctx, store.Reply{Run: "r"}))
		e.release(l)
	}},
	{name: "releasing again is a success, also after another took the session", fn: func(e *env) {
		l := e.acquire("s")
		e.release(l)
		e.release(l)
		e.put("s", "a")
		next := e.acquireAs("s", "b", hour)
		e.release(l)
		e.ok(l.HandOff(e.ctx, 0, true))
		e.equal(queued(e.peek(next, 0).Messages), "[0:a=a]", "messages")
		e.equal(e.acquireAs("s", "b", hour).Start().Attempts, 0, "attempts")
	}},
	{name: "a message after the release makes the session due", fn: func(e *env) {
		l := e.acquire("s")
		e.release(l)
		e.equal(len(e.due()), 0, "due sessions")
		e.put("s", "a")
		e.equal(e.due(), "[s]", "due sessions")
	}},
}

var handOffTests = []test{
	{name: "a handed-off session is due, even with nothing waiting, and did not crash", fn: func(e *env) {
		l := e.acquire("s")
		for range 2 {
			e.ok(l.HandOff(e.ctx, 0, false))
			e.equal(e.due(), "[s]", "due sessions")
		}
		st := e.acquireAs("s", "b", hour).Start()
		e.equal([]any{st.Crashed, st.Attempts}, "[false 0]", "crashed, attempts")
	}},
	{name: "handing off as crashed counts an attempt, once", fn: func(e *env) {
		l := e.acquire("s")
		for range 2 {
			e.ok(l.HandOff(e.ctx, 0, true))
		}
		st := e.acquire("s").Start()
		e.equal([]any{st.Crashed, st.Attempts}, "[false 1]", "crashed, attempts")
	}},
	{name: "the session is not due before the delay is over, but can be acquired", fn: func(e *env) {
		l := e.acquire("s")
		e.ok(l.HandOff(e.ctx, hour, false))
		e.equal(len(e.due()), 0, "due sessions")
		e.release(e.acquireAs("s", "b", hour))
		e.equal(len(e.due()), 0, "due sessions")
	}},
	{name: "it is due when the delay is over", hours: true, fn: func(e *env) {
		l := e.acquire("s")
		e.ok(l.HandOff(e.ctx, hour, false))
		time.Sleep(hour - time.Second)
		e.equal(len(e.due()), 0, "due sessions")
		time.Sleep(time.Second)
		e.equal(e.due(), "[s]", "due sessions")
	}},
	{name: "a message or signal during the delay makes it due at once", fn: func(e *env) {
		for _, s := range []string{"s1", "s2", "s3"} {
			e.ok(e.acquire(s).HandOff(e.ctx, hour, false))
		}
		e.put("s1", "a")
		e.accept(quiet("s2", "q"))
		e.signal("s3", "x")
		e.equal(e.due(), "[s1 s3]", "due sessions")
	}},
	{name: "a removed message leaves a handed-off session due", fn: func(e *env) {
		l := e.acquire("s")
		e.put("s", "a")
		e.ok(l.HandOff(e.ctx, 0, false))
		e.accept(edit(store.Remove, "e1", "a", ""))
		e.equal(e.due(), "[s]", "due sessions")
	}},
	{name: "open calls and an open reply do not hinder a hand-off", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, assistant("as", "c1"))
		e.ok(l.SetReply(e.ctx, store.Reply{Run: "r", Open: true}))
		e.ok(l.HandOff(e.ctx, 0, false))
		l = e.acquireAs("s", "b", hour)
		e.append(l, 1, result("r", "c1"))
	}},
}

var buryTests = []test{
	{name: "buried messages are dead letters and no longer queued", fn: func(e *env) {
		e.put("s", "a", "b", "c")
		e.accept(quiet("s", "q"))
		l := e.acquire("s")
		for range 2 {
			e.ok(l.Bury(e.ctx, []int64{3, 0, 2, 99}, "poison"))
		}
		e.equal(queued(e.peek(l, 0).Messages), "[1:b=b]", "messages")
		e.equal(e.put("s", "b").Waiting, 1, "waiting")
		dead, err := e.Archive().Dead(e.ctx, 10)
		e.ok(err)
		e.equal(len(dead), 3, "dead letters")
		seen := map[string]store.DeadLetter{}
		for _, d := range dead {
			seen[d.ID] = d
			e.equal([]any{d.Reason, d.Session, string(d.Data), d.Buried.IsZero(), d.At.IsZero()}, []any{"poison", "s", d.ID, false, false}, "dead letter")
		}
		e.equal([]any{seen["a"].Position, seen["c"].Position, seen["q"].Position, seen["q"].Quiet}, "[0 2 3 true]", "positions")
	}},
	{name: "burying the last message lets the session go", fn: func(e *env) {
		e.put("s", "a")
		l := e.acquire("s")
		e.ok(l.Bury(e.ctx, []int64{0}, "poison"))
		e.release(l)
		e.equal(len(e.due()), 0, "due sessions")
	}},
	{name: "a signal at that position is not buried", fn: func(e *env) {
		e.signal("s", "x")
		l := e.acquire("s")
		e.ok(l.Bury(e.ctx, []int64{0}, "poison"))
		e.ok(l.Bury(e.ctx, nil, "poison"))
		e.equal(len(e.peek(l, 0).Signals), 1, "signals")
	}},
	{name: "dead letters are listed the latest first, up to a limit", fn: func(e *env) {
		l := e.acquire("s")
		for i, id := range []string{"a", "b", "c"} {
			e.put("s", id)
			e.ok(l.Bury(e.ctx, []int64{int64(i)}, "poison"))
		}
		dead, err := e.Archive().Dead(e.ctx, 2)
		e.ok(err)
		e.equal([]any{len(dead), dead[0].ID, dead[1].ID}, "[2 c b]", "dead letters")
	}},
}

var dueTests = []test{
	{name: "a session with a message is due until somebody holds it", fn: func(e *env) {
		e.equal(len(e.due()), 0, "due sessions")
		e.put("s", "a")
		e.equal(e.due(), "[s]", "due sessions")
		l := e.acquire("s")
		e.equal(len(e.due()), 0, "due sessions while held")
		e.put("s", "b")
		e.equal(len(e.due()), 0, "due sessions while held")
		e.ok(l.HandOff(e.ctx, 0, false))
		e.equal(e.due(), "[s]", "due sessions")
	}},
	{name: "a session with a signal is due", fn: func(e *env) {
		e.signal("s", "x")
		e.equal(e.due(), "[s]", "due sessions")
	}},
	{name: "the longest waiting comes first, and limit holds", fn: func(e *env) {
		for _, s := range []string{"c", "a", "d", "b"} {
			e.put(s, s+"1")
			time.Sleep(2 * time.Millisecond) // of due times that are told apart by the store's own clock
		}
		e.put("c", "c2")
		e.equal(e.due(), "[c a d b]", "due sessions")
		list, err := e.Due(e.ctx, 2)
		e.ok(err)
		e.equal(list, "[c a]", "due sessions")
		list, err = e.Due(e.ctx, 0)
		e.ok(err)
		e.equal(len(list), 0, "due sessions with limit 0")
	}},
	{name: "an expired lease is due, whatever waits", fn: func(e *env) {
		e.acquireAs("s", "a", e.short)
		for len(e.due()) == 0 {
			time.Sleep(e.short / 10)
		}
		e.equal(e.acquireAs("s", "b", hour).Start().Crashed, true, "crashed")
		e.equal(len(e.due()), 0, "due sessions")
	}},
}
