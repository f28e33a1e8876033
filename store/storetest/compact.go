package storetest

import "clawbot/store"

// compacted has entries a b c d and a summary that keeps from c.
func (e *env) compacted() store.Lease {
	e.Helper()
	l := e.acquire("s")
	e.append(l, 0, user("a"), assistant("b"), user("c"), assistant("d"))
	e.ok(l.Compact(e.ctx, 4, summary("sum"), 2))
	return l
}

var compactTests = []test{
	{name: "Load gives the summary first, then the kept tail", fn: func(e *env) {
		l := e.compacted()
		e.append(l, 5, user("e"))
		for _, from := range []int64{0, 3, 4} {
			tr := e.load(l, from)
			e.equal(ids(tr.Entries), "[4:sum 2:c 3:d 5:e]", "live")
			e.equal([]any{tr.Tail, tr.Generation}, "[6 1]", "tail and generation")
			s := tr.Entries[0]
			e.equal([]any{s.Kind, s.KeepFrom, s.Inbox, string(s.Data)}, []any{store.KindSummary, 2, -1, "sum"}, "summary")
		}
		e.equal(ids(e.load(l, 5).Entries), "[5:e]", "after the summary")
		e.equal(len(e.load(l, 6).Entries), 0, "at the tail")
	}},
	{name: "compacting twice with the same arguments is once", fn: func(e *env) {
		l := e.compacted()
		e.ok(l.Compact(e.ctx, 4, summary("sum"), 2))
		tr := e.load(l, 0)
		e.equal([]any{tr.Tail, tr.Generation}, "[5 1]", "tail and generation")
		e.is(l.Compact(e.ctx, 4, summary("sum"), 3), store.ErrConflict)
		e.is(l.Compact(e.ctx, 4, summary("other"), 2), store.ErrConflict)
		e.is(l.Compact(e.ctx, 3, summary("d"), 2), store.ErrConflict)
		e.is(l.Append(e.ctx, 4, []store.Entry{note("x")}), store.ErrConflict)
	}},
	{name: "a successor starts from the generation and the summary", fn: func(e *env) {
		l := e.compacted()
		e.release(l)
		l = e.acquire("s")
		st := l.Start()
		e.equal([]any{st.Tail, st.Generation, st.SummaryAt}, "[5 1 4]", "start")
		e.equal(ids(e.load(l, 0).Entries), "[4:sum 2:c 3:d]", "live")
	}},
	{name: "the latest summary stands for older ones", fn: func(e *env) {
		l := e.compacted()
		e.append(l, 5, user("e"))
		e.ok(l.Compact(e.ctx, 6, summary("sum2"), 3))
		tr := e.load(l, 0)
		e.equal(ids(tr.Entries), "[6:sum2 3:d 5:e]", "live")
		e.equal(tr.Generation, 2, "generation")
		e.ok(l.Compact(e.ctx, 7, summary("sum3"), 7))
		e.equal(ids(e.load(l, 0).Entries), "[7:sum3]", "live")
	}},
	{name: "nothing is rewritten", fn: func(e *env) {
		l := e.compacted()
		e.append(l, 5, user("e"))
		list, err := e.Archive().Read(e.ctx, "s", 0, 10)
		e.ok(err)
		e.equal(ids(list), "[0:a 1:b 2:c 3:d 4:sum 5:e]", "archive")
	}},
	{name: "keeping nothing starts anew", fn: func(e *env) {
		for i, keep := range []int64{1, 3} {
			l := e.acquire("s")
			e.append(l, int64(2*i), user("a"))
			e.ok(l.Compact(e.ctx, int64(2*i+1), store.Entry{Kind: store.KindSummary, ID: "reset"}, keep+int64(i)))
			tr := e.load(l, 0)
			e.equal(len(tr.Entries), 1, "entries")
			e.equal([]any{tr.Entries[0].ID, len(tr.Entries[0].Data)}, "[reset 0]", "summary")
		}
	}},
	{name: "what was let go is not taken back, and the future is not kept", fn: func(e *env) {
		l := e.compacted()
		e.is(l.Compact(e.ctx, 5, summary("x"), 1), store.ErrInvalid)
		e.is(l.Compact(e.ctx, 5, summary("x"), -1), store.ErrInvalid)
		e.is(l.Compact(e.ctx, 5, summary("x"), 7), store.ErrInvalid)
		e.equal(e.load(l, 0).Generation, 1, "generation")
		e.ok(l.Compact(e.ctx, 5, summary("x"), 6))
	}},
	{name: "compacting is refused while a call is open, behind the tail, and without a summary", fn: func(e *env) {
		l := e.acquire("s")
		e.append(l, 0, assistant("as", "c1"))
		e.is(l.Compact(e.ctx, 1, summary("x"), 0), store.ErrOpenCall)
		e.append(l, 1, result("r", "c1"))
		e.is(l.Compact(e.ctx, 3, summary("x"), 0), store.ErrGap)
		e.is(l.Compact(e.ctx, 2, note("x"), 0), store.ErrInvalid)
		e.is(l.Compact(e.ctx, 2, summary(""), 0), store.ErrInvalid)
		e.equal(e.load(l, 0).Tail, 2, "tail")
	}},
}
