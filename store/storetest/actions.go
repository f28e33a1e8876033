package storetest

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"clawbot/store"
)

// blink is a lease time that is waited for.
const blink = 2 * time.Millisecond

func (m *machine) actions() map[string]func(*rapid.T) {
	plain := map[string]func(){
		"accept": m.doAccept, "accept a message": m.doMessage, "acquire": m.doAcquire, "crash": m.doCrash, "expire": m.doExpire,
		"due": m.doDue, "peek": m.doPeek, "drain": m.doDrain, "drain all": m.doDrain, "append": m.doAppend, "append more": m.doAppend,
		"intent": m.doIntent, "set reply": m.doSetReply, "compact": m.doCompact, "bury": m.doBury, "renew": m.doRenew,
		"release": m.doRelease, "hand off": m.doHandOff, "load": m.doLoad, "purge": m.doPurge, "archive": m.doArchive,
		"term": m.doTerm, "state": m.doState, "counters": m.doCounters,
	}
	out := map[string]func(*rapid.T){}
	for name, fn := range plain {
		out[name] = func(rt *rapid.T) {
			m.T = rt
			fn()
		}
	}
	return out
}

func (m *machine) doMessage() {
	m.events++
	m.accept(store.Event{ID: fmt.Sprint("m", m.events), Session: m.session(), Key: m.pick("key", "k1", "k2"), Data: []byte{byte(m.events)}})
}

func (m *machine) doAccept() {
	m.accept(store.Event{
		ID: m.pick("id", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8"), Session: m.session(),
		Lane: store.Lane(m.number("lane", 0, 1)), Op: store.Op(m.number("op", 0, 2)), Key: m.pick("key", "", "k1", "k2"),
		Quiet: m.number("quiet", 0, 2) == 0, Data: []byte(m.pick("data", "", "x", "y")),
	})
}

func (m *machine) accept(ev store.Event) {
	same(m, fmt.Sprintf("accept %+v", ev), m.stores,
		func(s store.Store) (store.Accepted, error) { return s.Accept(m.ctx, ev) }, show)
}

func (m *machine) doAcquire() { m.acquire(m.session(), m.owner(), time.Hour) }

func (m *machine) acquire(session, owner string, ttl time.Duration) bool {
	l, ok := same(m, "acquire "+session+" for "+owner, m.stores,
		func(s store.Store) (store.Lease, error) { return s.Acquire(m.ctx, session, owner, ttl) }, showLease)
	if ok {
		m.took(session, l)
		m.short[l[1]] = ttl == blink
	}
	return ok
}

// doExpire lets a lease expire without anybody taking it.
func (m *machine) doExpire() {
	if session := m.session(); m.acquire(session, m.owner(), blink) {
		m.expired(session)
	}
}

func (m *machine) doCrash() {
	session := m.session()
	if m.acquire(session, "a", blink) {
		m.expired(session)
		m.acquire(session, "b", time.Hour)
	}
}

// expired waits until the session's lease has expired on both sides, which are
// alike again only then.
func (m *machine) expired(session string) {
	for _, s := range m.stores {
		for {
			list, _, err := s.Archive().Sessions(m.ctx, session, "", 1)
			if err != nil {
				m.Fatal(err)
			}
			if list[0].Owner == "" {
				break
			}
			time.Sleep(blink)
		}
	}
}

func (m *machine) doDue() {
	same(m, "due", m.stores, func(s store.Store) ([]string, error) { return s.Due(m.ctx, 10) }, sorted)
}

// onLease makes a call through a lease.
func onLease[A any](m *machine, what string, show func(A) string, call func(l store.Lease) (A, error)) {
	if l, ok := m.lease(); ok {
		same(m, fmt.Sprint(what, " on ", l[0].Session()), l, call, show)
	}
}

func (m *machine) doPeek() {
	before := int64(m.number("before", 0, 4))
	onLease(m, fmt.Sprint("peek ", before), showWaiting, func(l store.Lease) (store.Waiting, error) { return l.Peek(m.ctx, before) })
}

func (m *machine) doRenew() {
	l, ok := m.lease()
	if !ok {
		return
	}
	_, ok = same(m, "renew "+l[1].Session(), l,
		func(l store.Lease) (store.Waiting, error) { return l.Renew(m.ctx) }, showWaiting)
	if ok && m.short[l[1]] {
		m.expired(l[1].Session())
	}
}

func (m *machine) doLoad() {
	from := int64(m.number("from", -1, 8))
	onLease(m, fmt.Sprint("load ", from), showTranscript, func(l store.Lease) (store.Transcript, error) { return l.Load(m.ctx, from) })
}

func (m *machine) doDrain() {
	l, ok := m.lease()
	if !ok {
		return
	}
	first, limit, before := m.first(l[1]), m.number("max", 0, 2), int64(m.number("before", 0, 4))
	if m.number("all", 0, 1) == 0 {
		limit, before = 0, 0
	}
	same(m, fmt.Sprintf("drain %d %d %d on %s", first, limit, before, l[1].Session()), l,
		func(l store.Lease) ([]store.Entry, error) { return l.Drain(m.ctx, first, limit, before) }, showEntries)
}

func (m *machine) doAppend() {
	l, ok := m.lease()
	if !ok {
		return
	}
	first := m.first(l[1])
	var list []store.Entry
	for i := range m.number("entries", 0, 3) {
		e := store.Entry{ID: fmt.Sprint(first, m.pick("id", "a", "b"), i)}
		switch m.pick("kind", "user", "assistant", "calls", "result", "note") {
		case "user":
			e.Kind = store.KindUser
		case "assistant":
			e.Kind = store.KindAssistant
		case "calls":
			e.Kind, e.Opens = store.KindAssistant, []string{"c1", "c2"}[m.number("from", 0, 1):]
		case "result":
			e.Kind, e.Closes = store.KindToolResult, m.pick("call", "c1", "c2")
		case "note":
			e.Kind = store.KindNote
		}
		list = append(list, e)
	}
	same(m, fmt.Sprintf("append %s at %d on %s", showEntries(list), first, l[1].Session()), l,
		do(func(l store.Lease) error { return l.Append(m.ctx, first, list) }), nothing)
}

func (m *machine) doIntent() {
	call := m.pick("call", "c1", "c2")
	onLease(m, "intent "+call, show, func(l store.Lease) (bool, error) { return l.Intent(m.ctx, call) })
}

func (m *machine) doSetReply() {
	r := store.Reply{Run: m.pick("run", "r1", "r2"), Open: m.number("open", 0, 2) == 0, Data: []byte("d")}
	onLease(m, fmt.Sprintf("set reply %+v", r), nothing, do(func(l store.Lease) error { return l.SetReply(m.ctx, r) }))
}

func (m *machine) doCompact() {
	l, ok := m.lease()
	if !ok {
		return
	}
	first := m.first(l[1])
	keep := first - int64(m.number("keep", -1, 3))
	same(m, fmt.Sprintf("compact %d keeping %d on %s", first, keep, l[1].Session()), l, do(func(l store.Lease) error {
		return l.Compact(m.ctx, first, store.Entry{Kind: store.KindSummary, ID: fmt.Sprint("sum", first)}, keep)
	}), nothing)
}

func (m *machine) doBury() {
	list := []int64{int64(m.number("p", 0, 5)), int64(m.number("q", 0, 5))}
	onLease(m, fmt.Sprint("bury ", list), nothing, do(func(l store.Lease) error { return l.Bury(m.ctx, list, "why") }))
}

func (m *machine) doRelease() {
	onLease(m, "release", show, func(l store.Lease) (bool, error) { return l.ReleaseIfEmpty(m.ctx) })
}

func (m *machine) doHandOff() {
	delay, crashed := time.Duration(m.number("delay", 0, 1))*time.Hour, m.number("crashed", 0, 1) == 1
	onLease(m, fmt.Sprint("hand off ", delay, crashed), nothing,
		do(func(l store.Lease) error { return l.HandOff(m.ctx, delay, crashed) }))
}

func (m *machine) doPurge() {
	l, ok := m.lease()
	if !ok || m.number("really", 0, 3) != 0 {
		return
	}
	for i := range l {
		session := l[i].Session()
		if session != l[0].Session() {
			m.Fatalf("lease of %s", session)
		}
	}
	type side struct {
		archive store.Archive
		lease   store.Lease
	}
	same(m, "purge "+l[0].Session(), both[side]{{m.stores[0].Archive(), l[0]}, {m.stores[1].Archive(), l[1]}},
		do(func(s side) error { return s.archive.Purge(m.ctx, s.lease) }), nothing)
}

func (m *machine) doArchive() {
	session, from, limit := m.session(), int64(m.number("from", -1, 4)), m.number("limit", 0, 4)
	archives := both[store.Archive]{m.stores[0].Archive(), m.stores[1].Archive()}
	same(m, fmt.Sprintf("read %s from %d, %d", session, from, limit), archives,
		func(a store.Archive) ([]store.Entry, error) { return a.Read(m.ctx, session, from, limit) }, showEntries)
	same(m, "dead letters", archives, func(a store.Archive) ([]store.DeadLetter, error) { return a.Dead(m.ctx, 100) },
		func(list []store.DeadLetter) string {
			var out []string
			for _, d := range list {
				out = append(out, fmt.Sprint(showQueued([]store.Queued{d.Queued}), d.Reason))
			}
			return sorted(out)
		})
	same(m, "sessions", archives, func(a store.Archive) ([]store.SessionInfo, error) {
		list, _, err := a.Sessions(m.ctx, "", "", 10)
		return list, err
	}, func(list []store.SessionInfo) string {
		var out []string
		for _, s := range list {
			s.LastActive = time.Time{}
			out = append(out, fmt.Sprintf("%+v", s))
		}
		return sorted(out)
	})
}
