package storetest

import (
	"context"
	"strings"
	"sync"
	"time"

	"clawbot/store"
)

var acceptTests = []test{
	{name: "an event is in its lane when Accept returns, with all it carried", fn: func(e *env) {
		ev := store.Event{ID: "e1", Session: "tg:1", Key: "m1", Data: []byte{0, 255, 'x'}}
		before := time.Now().Add(-time.Minute)
		acc := e.accept(ev)
		e.equal(acc, store.Accepted{Waiting: 1}, "accepted")
		q := e.peek(e.acquire("tg:1"), 0).Messages
		e.equal(len(q), 1, "messages")
		e.equal(q[0].Event, ev, "queued event")
		if at := q[0].At; at.Before(before) || at.After(time.Now().Add(time.Minute)) {
			e.Fatalf("accepted at %v", at)
		}
	}},
	{name: "positions count per session and lane", fn: func(e *env) {
		for i, id := range []string{"a", "b", "c"} {
			e.equal(e.put("s1", id).Position, i, "position of "+id)
		}
		e.equal(e.put("s2", "d").Position, 0, "position in another session")
		e.equal(e.signal("s1", "stop").Position, 0, "position in the other lane")
	}},
	{name: "positions go on after messages left the inbox", fn: func(e *env) {
		e.put("s", "a", "b")
		l := e.acquire("s")
		e.drain(l, 0)
		e.equal(e.put("s", "c").Position, 2, "position")
		e.signal("s", "x")
		e.peek(l, 1)
		e.equal(e.signal("s", "y").Position, 1, "signal position")
	}},
	{name: "an event id is accepted once, and the duplicate is told of the first", fn: func(e *env) {
		e.put("s", "a", "b")
		acc := e.put("s", "a")
		e.equal(acc, store.Accepted{Duplicate: true, Waiting: 2}, "duplicate")
		acc = e.put("s", "b")
		e.equal(acc, store.Accepted{Duplicate: true, Position: 1, Waiting: 2}, "duplicate")
		e.equal(queued(e.peek(e.acquire("s"), 0).Messages), "[0:a=a 1:b=b]", "messages")
	}},
	{name: "a duplicate stays one after its event was drained, released and purged", fn: func(e *env) {
		e.put("s", "a")
		l := e.acquire("s")
		e.drain(l, 0)
		e.equal(e.put("s", "a").Duplicate, true, "duplicate after drain")
		e.append(l, 1, assistant("r"))
		e.release(l)
		e.equal(e.put("s", "a").Duplicate, true, "duplicate after release")
		e.equal(len(e.due()), 0, "due sessions")
		e.ok(e.Archive().Purge(e.ctx, e.acquire("s")))
		e.equal(e.put("s", "a"), store.Accepted{Duplicate: true}, "duplicate after purge")
		_, err := e.Archive().Read(e.ctx, "s", 0, 1)
		e.is(err, store.ErrNotFound)
	}},
	{name: "the same id in another session is another event", fn: func(e *env) {
		e.put("s1", "a")
		e.equal(e.put("s2", "a").Duplicate, false, "duplicate")
	}},
	{name: "ids that read alike are told apart", fn: func(e *env) {
		e.equal(e.accept(store.Event{Session: "s", ID: "a\nb"}).Duplicate, false, "first")
		e.equal(e.accept(store.Event{Session: "s", ID: "a b"}).Duplicate, false, "second")
		e.equal(e.accept(store.Event{Session: "s", ID: "a\x00b"}).Duplicate, false, "third")
		e.equal(e.accept(store.Event{Session: "s", ID: "é{}*"}).Duplicate, false, "fourth")
		e.equal(e.accept(store.Event{Session: "sa", ID: "b"}).Duplicate, false, "fifth")
		e.equal(e.accept(store.Event{Session: "s", ID: "ab"}).Duplicate, false, "sixth")
	}},
	{name: "an id is known for 72 hours and then forgotten", hours: true, fn: func(e *env) {
		e.put("s", "a")
		time.Sleep(72*hour - time.Minute)
		e.equal(e.put("s", "a").Duplicate, true, "duplicate before 72 hours")
		time.Sleep(2 * time.Minute)
		e.equal(e.put("s", "a"), store.Accepted{Position: 1, Waiting: 2}, "accepted after 72 hours")
		e.equal(e.put("s", "a").Duplicate, true, "duplicate of the second")
	}},
	{name: "the holder's name is told", fn: func(e *env) {
		e.equal(e.put("s", "a").Owner, "", "owner before")
		l := e.acquireAs("s", "replica-7", hour)
		e.equal(e.put("s", "b").Owner, "replica-7", "owner while held")
		e.equal(e.put("s", "b").Owner, "replica-7", "owner told to a duplicate")
		e.ok(l.HandOff(e.ctx, 0, false))
		e.equal(e.put("s", "c").Owner, "", "owner after")
	}},
	{name: "a malformed event is refused and leaves nothing", fn: func(e *env) {
		bad := []store.Event{
			{ID: "a"}, {Session: "s"}, {ID: "a", Session: "a b"}, {ID: "a", Session: "{s}"},
			{ID: "a", Session: "s/1"}, {ID: "a", Session: "sé"}, {ID: "a", Session: "s\n"},
			{ID: "a", Session: strings.Repeat("s", 201)}, {ID: strings.Repeat("a", 501), Session: "s"},
			{ID: "a", Session: "s", Lane: 2}, {ID: "a", Session: "s", Op: 3, Key: "k"},
			{ID: "a", Session: "s", Op: store.Replace}, {ID: "a", Session: "s", Op: store.Remove},
			{ID: "a", Session: "s", Lane: store.Signals, Op: store.Remove, Key: "k"},
			{ID: "a", Session: "s", Key: strings.Repeat("k", 501)},
		}
		for _, ev := range bad {
			_, err := e.Accept(e.ctx, ev)
			e.is(err, store.ErrInvalid)
		}
		e.equal(len(e.due()), 0, "due sessions")
		e.equal(e.put("s", "a").Duplicate, false, "a good event with the id is a duplicate")
		e.put(strings.Repeat("s", 200), "b")
		e.put("AZaz09:_.@-", "b")
	}},
	{name: "the store keeps its own copy of the data", fn: func(e *env) {
		data := []byte("good")
		e.accept(store.Event{ID: "a", Session: "s", Data: data})
		copy(data, "evil")
		e.equal(queued(e.peek(e.acquire("s"), 0).Messages), "[0:a=good]", "messages")
	}},
	{name: "data may be empty or a megabyte", fn: func(e *env) {
		e.accept(store.Event{ID: "a", Session: "s"})
		big := strings.Repeat("0123456789abcdef", 1<<16)
		e.accept(store.Event{ID: "b", Session: "s", Data: []byte(big)})
		l := e.acquire("s")
		q := e.peek(l, 0).Messages
		if len(q) != 2 || len(q[0].Data) != 0 || string(q[1].Data) != big {
			e.Fatal("data differs in the inbox")
		}
		list := e.drain(l, 0)
		if len(list) != 2 || len(list[0].Data) != 0 || string(list[1].Data) != big {
			e.Fatal("data differs in the transcript")
		}
	}},
	{name: "a cancelled call accepts nothing", fn: func(e *env) {
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		_, err := e.Accept(ctx, message("s", "a"))
		e.is(err, context.Canceled)
		e.equal(e.put("s", "a").Duplicate, false, "duplicate")
	}},
	{name: "of many that accept one event at once, one is the first", fn: func(e *env) {
		var wg sync.WaitGroup
		firsts := make(chan bool, 32)
		for range cap(firsts) {
			wg.Go(func() {
				acc, err := e.Accept(e.ctx, message("s", "a"))
				firsts <- err == nil && !acc.Duplicate
			})
		}
		wg.Wait()
		n := 0
		for range cap(firsts) {
			if <-firsts {
				n++
			}
		}
		e.equal(n, 1, "accepted")
		e.equal(queued(e.peek(e.acquire("s"), 0).Messages), "[0:a=a]", "messages")
	}},
}

// edit is an event that changes the message with key.
func edit(op store.Op, id, key, data string) store.Event {
	return store.Event{ID: id, Session: "s", Op: op, Key: key, Data: []byte(data)}
}

var editTests = []test{
	{name: "Replace puts its data in place of the queued message", fn: func(e *env) {
		e.put("s", "a", "b")
		acc := e.accept(edit(store.Replace, "e1", "a", "better"))
		e.equal(acc, store.Accepted{Applied: true, Waiting: 2}, "accepted")
		e.equal(queued(e.peek(e.acquire("s"), 0).Messages), "[0:a=better 1:b=b]", "messages")
		e.equal(e.put("s", "c").Position, 2, "next position")
	}},
	{name: "Replace can be repeated, and the last one stands", fn: func(e *env) {
		e.put("s", "a")
		e.accept(edit(store.Replace, "e1", "a", "one"))
		e.accept(edit(store.Replace, "e2", "a", "two"))
		acc := e.accept(edit(store.Replace, "e1", "a", "one"))
		e.equal(acc, store.Accepted{Duplicate: true, Applied: true, Waiting: 1}, "redelivered")
		e.equal(queued(e.peek(e.acquire("s"), 0).Messages), "[0:a=two]", "messages")
	}},
	{name: "Replace leaves a quiet message quiet", fn: func(e *env) {
		e.accept(quiet("s", "a"))
		acc := e.accept(edit(store.Replace, "e1", "a", "better"))
		e.equal(acc, store.Accepted{Applied: true}, "accepted")
		e.equal(len(e.due()), 0, "due sessions")
	}},
	{name: "Remove takes the queued message out", fn: func(e *env) {
		e.put("s", "a", "b")
		acc := e.accept(edit(store.Remove, "e1", "a", ""))
		e.equal(acc, store.Accepted{Applied: true, Waiting: 1}, "accepted")
		acc = e.accept(edit(store.Remove, "e1", "a", ""))
		e.equal(acc, store.Accepted{Duplicate: true, Applied: true, Waiting: 1}, "redelivered")
		e.equal(queued(e.peek(e.acquire("s"), 0).Messages), "[1:b=b]", "messages")
	}},
	{name: "a removed position is not used again", fn: func(e *env) {
		e.put("s", "a")
		e.accept(edit(store.Remove, "e1", "a", ""))
		e.equal(e.put("s", "b").Position, 1, "position")
	}},
	{name: "removing the only message takes back that the session is due", fn: func(e *env) {
		e.put("s", "a")
		e.equal(e.due(), "[s]", "due sessions")
		e.accept(edit(store.Remove, "e1", "a", ""))
		e.equal(len(e.due()), 0, "due sessions")
		e.signal("s", "stop")
		e.put("s", "b")
		e.accept(edit(store.Remove, "e2", "b", ""))
		e.equal(e.due(), "[s]", "due sessions with a signal left")
	}},
	{name: "without a queued original, Replace and Remove are queued as quiet messages", fn: func(e *env) {
		acc := e.accept(edit(store.Replace, "e1", "a", "late"))
		e.equal(acc, store.Accepted{}, "accepted")
		acc = e.accept(edit(store.Remove, "e2", "a", "gone"))
		e.equal(acc, store.Accepted{Position: 1}, "accepted")
		e.equal(len(e.due()), 0, "due sessions")
		q := e.peek(e.acquire("s"), 0).Messages
		e.equal(queued(q), "[0:e1=late 1:e2=gone]", "messages")
		e.equal([]any{q[0].Op, q[0].Quiet, q[0].Key, q[1].Op, q[1].Quiet}, []any{store.Replace, true, "a", store.Remove, true}, "events")
	}},
	{name: "a drained message is not an original any more", fn: func(e *env) {
		e.put("s", "a")
		l := e.acquire("s")
		e.drain(l, 0)
		e.equal(e.accept(edit(store.Replace, "e1", "a", "late")).Applied, false, "applied")
		e.equal(ids(e.load(l, 0).Entries), "[0:a]", "transcript")
		e.equal(string(e.load(l, 0).Entries[0].Data), "a", "drained data")
		e.release(l)
	}},
	{name: "a queued edit is not an original, so no news is swallowed", fn: func(e *env) {
		e.accept(edit(store.Replace, "e1", "a", "one"))
		e.equal(e.accept(edit(store.Replace, "e2", "a", "two")).Applied, false, "applied")
		e.equal(e.accept(edit(store.Remove, "e3", "a", "gone")).Applied, false, "applied")
		e.equal(queued(e.peek(e.acquire("s"), 0).Messages), "[0:e1=one 1:e2=two 2:e3=gone]", "messages")
	}},
	{name: "of several originals the latest is changed", fn: func(e *env) {
		for _, id := range []string{"x", "y"} {
			e.accept(store.Event{ID: id, Session: "s", Key: "k", Data: []byte(id)})
		}
		e.accept(edit(store.Replace, "e1", "k", "new"))
		e.equal(queued(e.peek(e.acquire("s"), 0).Messages), "[0:x=x 1:y=new]", "messages")
	}},
	{name: "an edit does not reach into another session or lane", fn: func(e *env) {
		e.put("other", "a")
		e.accept(store.Event{ID: "sig", Session: "s", Lane: store.Signals, Key: "a"})
		e.equal(e.accept(edit(store.Remove, "e1", "a", "")).Applied, false, "applied")
		e.equal(len(e.peek(e.acquire("other"), 0).Messages), 1, "messages elsewhere")
		e.equal(len(e.peek(e.acquire("s"), 0).Signals), 1, "signals")
	}},
}
