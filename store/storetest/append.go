package storetest

import (
	"strings"
	"time"

	"clawbot/store"
)

var appendTests = []test{
	{name: "Append writes entries at the tail, with all they carry", fn: func(e *env) {
		l := e.acquire("s")
		at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
		as := store.Entry{
			Kind: store.KindAssistant, ID: "as", Opens: []string{"c/1", "c 2"}, At: at, Data: []byte{0, 1, 0xff},
			Position: 77, Token: "forged", Inbox: 5,
		}
		e.append(l, 0, user("u"), as)
		e.append(l, 2, result("r", "c 2"), note("n"))
		tr := e.load(l, 0)
		e.equal(ids(tr.Entries), "[0:u 1:as 2:r 3:n]", "entries")
		e.equal([]any{tr.Tail, tr.Generation}, "[4 0]", "tail and generation")
		got := tr.Entries[1]
		if !got.At.Equal(at) {
			e.Fatalf("at %v", got.At)
		}
		as.Position, as.Token, as.Inbox, as.At, got.At = 1, l.Start().Token, -1, at, at
		e.equal(got, as, "entry")
		if tr.Entries[0].At.IsZero() {
			e.Fatal("the store sets no time")
		}
		e.equal([]any{tr.Entries[2].Closes, tr.Entries[2].Kind, tr.Entries[3].Kind}, []any{"c 2", store.KindToolResult, store.KindNote}, "entries")
	}},
	{name: "what is there already is a success, once", fn: func(e *env) {
		l := e.acquire("s")
		for range 3 {
			e.append(l, 0, user("u"), assistant("as", "c1"))
			e.append(l, 2, result("r", "c1"))
		}
		e.append(l, 0, user("u"), assistant("as", "c1"), result("r", "c1"))
		e.append(l, 1, assistant("as", "c1"))
		e.equal(ids(e.load(l, 0).Entries), "[0:u 1:as 2:r]", "entries")
		e.drain(l, 3)
	}},
	{name: "something else at a taken position is a conflict", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, user("a"), assistant("b"))
		e.is(l.Append(e.ctx, 0, []store.Entry{user("x")}), store.ErrConflict)
		e.is(l.Append(e.ctx, 1, []store.Entry{user("a")}), store.ErrConflict)
		e.is(l.Append(e.ctx, 0, []store.Entry{user("a"), assistant("x")}), store.ErrConflict)
		e.is(l.Append(e.ctx, 1, []store.Entry{assistant("b"), user("c")}), store.ErrConflict)
		e.equal(ids(e.load(l, 0).Entries), "[0:a 1:b]", "entries")
	}},
	{name: "behind the tail is a gap, and a negative position is invalid", fn: func(e *env) {
		l := e.acquire("s")
		e.is(l.Append(e.ctx, 1, []store.Entry{user("a")}), store.ErrGap)
		e.is(l.Append(e.ctx, -1, []store.Entry{user("a")}), store.ErrInvalid)
		e.append(l, 0)
		e.equal(e.load(l, 0).Tail, 0, "tail")
	}},
	{name: "user and assistant wait until every call has its result", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, assistant("as", "c1", "c2"))
		e.is(l.Append(e.ctx, 1, []store.Entry{user("u")}), store.ErrOpenCall)
		e.is(l.Append(e.ctx, 1, []store.Entry{assistant("as2")}), store.ErrOpenCall)
		e.is(l.Append(e.ctx, 1, []store.Entry{result("r1", "c1"), user("u")}), store.ErrOpenCall)
		e.append(l, 1, result("r2", "c2"), note("n"), result("r1", "c1"), user("u"))
		e.equal(ids(e.load(l, 0).Entries), "[0:as 1:r2 2:n 3:r1 4:u]", "entries")
	}},
	{name: "a result for a call that is not open is a conflict", fn: func(e *env) {
		l := e.acquire("s")
		e.is(l.Append(e.ctx, 0, []store.Entry{result("r", "c1")}), store.ErrConflict)
		e.append(l, 0, assistant("as", "c1"), result("r", "c1"))
		e.is(l.Append(e.ctx, 2, []store.Entry{result("again", "c1")}), store.ErrConflict)
		e.append(l, 2, assistant("as2", "c1"), result("r2", "c1"))
		e.equal(e.load(l, 0).Tail, 4, "tail")
	}},
	{name: "entries go in together or not at all", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, assistant("as", "c1"))
		e.is(l.Append(e.ctx, 1, []store.Entry{result("r1", "c1"), assistant("x", "c2"), result("r2", "wrong")}), store.ErrConflict)
		e.equal(ids(e.load(l, 0).Entries), "[0:as]", "entries")
		e.append(l, 1, result("r1", "c1"))
	}},
	{name: "a malformed entry is refused", fn: func(e *env) {
		l := e.acquire("s")
		for _, en := range []store.Entry{
			{Kind: store.KindUser}, {ID: "x"}, {ID: "x", Kind: store.KindNote + 1}, summary("x"),
			{ID: "x", Kind: store.KindUser, Opens: []string{"c"}}, {ID: "x", Kind: store.KindAssistant, Closes: "c"},
			{ID: "x", Kind: store.KindToolResult}, assistant("x", "c", "c"), assistant("x", ""),
		} {
			e.is(l.Append(e.ctx, 0, []store.Entry{note("n"), en}), store.ErrInvalid)
		}
		e.equal(e.load(l, 0).Tail, 0, "tail")
	}},
	{name: "the store keeps its own copy", fn: func(e *env) {
		l := e.acquire("s")
		as := assistant("as", "c1")
		e.append(l, 0, as)
		copy(as.Data, "XX")
		as.Opens[0] = "evil"
		e.equal(string(e.load(l, 0).Entries[0].Data), "as", "data")
		e.append(l, 1, result("r", "c1"))
	}},
	{name: "an entry may hold a megabyte", fn: func(e *env) {
		l := e.acquire("s")
		big := note("n")
		big.Data = []byte(strings.Repeat("0123456789abcdef", 1<<16))
		e.append(l, 0, big, note("n2"))
		if string(e.load(l, 0).Entries[0].Data) != string(big.Data) {
			e.Fatal("data differs")
		}
	}},
	{name: "Load returns the entries from a position", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, user("a"), assistant("b"), user("c"))
		e.equal(ids(e.load(l, -5).Entries), "[0:a 1:b 2:c]", "from before the beginning")
		e.equal(ids(e.load(l, 1).Entries), "[1:b 2:c]", "from 1")
		e.equal(len(e.load(l, 3).Entries), 0, "from the tail")
		e.is(second(l.Load(e.ctx, 4)), store.ErrGap)
	}},
	{name: "a successor starts at the tail and loads what was written", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, user("a"), assistant("b"))
		e.release(l)
		l = e.acquireAs("s", "b", hour)
		e.equal(l.Start().Tail, 2, "tail")
		e.equal(ids(e.load(l, 0).Entries), "[0:a 1:b]", "entries")
	}},
	{name: "sessions do not see each other's entries", fn: func(e *env) {
		l1, l2 := e.acquire("s1"), e.acquire("s2")
		e.append(l1, 0, user("a"))
		e.append(l2, 0, user("x"), user("y"))
		e.equal(ids(e.load(l1, 0).Entries), "[0:a]", "entries")
		e.equal(ids(e.load(l2, 0).Entries), "[0:x 1:y]", "entries")
	}},
}

var intentTests = []test{
	{name: "Intent tells a successor that an earlier tenure began the call", fn: func(e *env) {
		l := e.acquireAs("s", "a", e.short)
		e.append(l, 0, assistant("as", "c1", "c2"))
		for range 2 {
			before, err := l.Intent(e.ctx, "c2")
			e.ok(err)
			e.equal(before, false, "before, in the same tenure")
		}
		l = e.takeOver("s", "b")
		e.equal(l.Start().Intents, "[c2]", "intents at the start")
		for range 2 {
			before, err := l.Intent(e.ctx, "c2")
			e.ok(err)
			e.equal(before, true, "before, in the next tenure")
		}
		before, err := l.Intent(e.ctx, "c1")
		e.ok(err)
		e.equal(before, false, "before, of a call that nobody began")
		e.equal(e.acquireAs("s", "b", hour).Start().Intents, "[c2]", "intents of earlier tenures")
	}},
	{name: "a hand-off leaves intents to the next", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, assistant("as", "c1"))
		e.ok(second(l.Intent(e.ctx, "c1")))
		e.ok(l.HandOff(e.ctx, 0, false))
		e.equal(e.acquire("s").Start().Intents, "[c1]", "intents")
	}},
	{name: "a call that is not open can't be begun", fn: func(e *env) {
		l := e.acquire("s")
		e.is(second(l.Intent(e.ctx, "c1")), store.ErrConflict)
		e.append(l, 0, assistant("as", "c1"))
		e.ok(second(l.Intent(e.ctx, "c1")))
		e.append(l, 1, result("r", "c1"))
		e.is(second(l.Intent(e.ctx, "c1")), store.ErrConflict)
	}},
	{name: "a result ends the intent, so that the call's id may come again", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, assistant("as", "c1"))
		e.ok(second(l.Intent(e.ctx, "c1")))
		e.append(l, 1, result("r", "c1"), assistant("as2", "c1"))
		e.ok(l.HandOff(e.ctx, 0, false))
		l = e.acquire("s")
		e.equal(len(l.Start().Intents), 0, "intents")
		before, err := l.Intent(e.ctx, "c1")
		e.ok(err)
		e.equal(before, false, "before")
	}},
}

var replyTests = []test{
	{name: "the reply's state is there for the next tenure", fn: func(e *env) {
		l := e.acquire("s")
		want := store.Reply{Run: "r1", Open: true, Data: []byte{1, 0, 2}}
		e.ok(l.SetReply(e.ctx, store.Reply{Run: "r0", Data: []byte("x")}))
		for range 2 {
			e.ok(l.SetReply(e.ctx, want))
		}
		e.ok(l.HandOff(e.ctx, 0, false))
		l = e.acquire("s")
		e.equal(l.Start().Reply, want, "reply")
		want.Open = false
		e.ok(l.SetReply(e.ctx, want))
		e.release(l)
		e.equal(e.acquire("s").Start().Reply, want, "reply after release")
	}},
	{name: "the store keeps its own copy of the reply", fn: func(e *env) {
		l := e.acquire("s")
		data := []byte("good")
		e.ok(l.SetReply(e.ctx, store.Reply{Run: "r", Data: data}))
		copy(data, "evil")
		e.equal(string(e.acquire("s").Start().Reply.Data), "good", "data")
	}},
}
