package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"clawbot/store"
)

// Harness is how the suite reaches the store under test.
type Harness struct {
	// Open returns a new, empty store. The suite closes it.
	Open func(t *testing.T) store.Store
	// Bubble runs fn where hours pass at once: synctest.Test, for a store that
	// works in a bubble. If nil, time is real, leases that are waited for are
	// taken for Short, and tests that need hours are not part of the run.
	Bubble func(t *testing.T, fn func(t *testing.T))
	// Short is a lease time that the suite waits to see expire, 50 ms if 0. The
	// suite never expects anything to happen within it.
	Short time.Duration
	// Rounds is how often the race between Accept and ReleaseIfEmpty is run, 300
	// if 0.
	Rounds int
}

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	if h.Short == 0 {
		h.Short = 50 * time.Millisecond
	}
	if h.Rounds == 0 {
		h.Rounds = 300
	}
	topics := []struct {
		name  string
		cases []test
	}{
		{"accept", acceptTests}, {"edit", editTests}, {"lanes", laneTests}, {"lease", leaseTests},
		{"fencing", fencingTests}, {"drain", drainTests}, {"append", appendTests}, {"intent", intentTests},
		{"reply", replyTests}, {"compact", compactTests}, {"release", releaseTests}, {"handoff", handOffTests},
		{"bury", buryTests}, {"due", dueTests}, {"terms", termTests}, {"state", stateTests},
		{"counters", counterTests}, {"blobs", blobTests}, {"archive", archiveTests}, {"retention", retentionTests}, {"bus", busTests},
		{"search", searchTests}, {"races", raceTests}, {"close", closeTests},
	}
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			for _, c := range topic.cases {
				if c.hours && h.Bubble == nil {
					continue
				}
				t.Run(c.name, func(t *testing.T) { run(t, h, c.fn) })
			}
		})
	}
}

// test is one sentence of the contract.
type test struct {
	name string
	fn   func(e *env)
	// hours must pass in it.
	hours bool
}

func run(t *testing.T, h Harness, fn func(e *env)) {
	bubble := h.Bubble
	if bubble == nil {
		bubble = func(t *testing.T, fn func(t *testing.T)) { fn(t) }
	}
	bubble(t, func(t *testing.T) {
		s := h.Open(t)
		e := &env{T: t, Store: s, ctx: t.Context(), short: h.Short, rounds: h.Rounds}
		fn(e)
		e.ok(s.Close())
	})
}

// env is a test's store and shorthand for using it. Shorthand fails the test
// when the store does not do as told.
type env struct {
	*testing.T
	store.Store
	ctx    context.Context
	short  time.Duration
	rounds int
}

const hour = time.Hour

func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("unexpected error: %v", err)
	}
}

// is fails unless err wraps want.
func (e *env) is(err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Fatalf("error is %v, want %v", err, want)
	}
}

func (e *env) equal(got, want any, what string) {
	e.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		e.Fatalf("%s: %s, want %s", what, g, w)
	}
}

func (e *env) accept(ev store.Event) store.Accepted {
	e.Helper()
	acc, err := e.Accept(e.ctx, ev)
	e.ok(err)
	return acc
}

// put accepts messages with these ids; each id is its message's key and data.
func (e *env) put(session string, ids ...string) (last store.Accepted) {
	e.Helper()
	for _, id := range ids {
		last = e.accept(message(session, id))
	}
	return last
}

func (e *env) signal(session, id string) store.Accepted {
	e.Helper()
	return e.accept(store.Event{ID: id, Session: session, Lane: store.Signals, Data: []byte(id)})
}

func message(session, id string) store.Event {
	return store.Event{ID: id, Session: session, Key: id, Data: []byte(id)}
}

func quiet(session, id string) store.Event {
	ev := message(session, id)
	ev.Quiet = true
	return ev
}

// acquire takes the lease for long, as owner "a".
func (e *env) acquire(session string) store.Lease {
	e.Helper()
	return e.acquireAs(session, "a", hour)
}

func (e *env) acquireAs(session, owner string, ttl time.Duration) store.Lease {
	e.Helper()
	l, err := e.Acquire(e.ctx, session, owner, ttl)
	e.ok(err)
	return l
}

// takeOver waits until owner gets the session's lease.
func (e *env) takeOver(session, owner string) store.Lease {
	e.Helper()
	for {
		l, err := e.Acquire(e.ctx, session, owner, hour)
		if !e.wait(err) {
			return l
		}
	}
}

// wait waits as long as err, a *store.HeldError, says. It returns false for
// nil.
func (e *env) wait(err error) bool {
	e.Helper()
	if err == nil {
		return false
	}
	var held *store.HeldError
	if !errors.As(err, &held) {
		e.Fatalf("error is %v, want a HeldError", err)
	}
	if held.For > hour {
		e.Fatalf("held for %v", held.For)
	}
	time.Sleep(max(held.For, time.Millisecond))
	return true
}

// crash has a holder of the session vanish without a word and returns the
// lease that "b" takes over.
func (e *env) crash(session string) store.Lease {
	e.Helper()
	e.acquireAs(session, "a", e.short)
	return e.takeOver(session, "b")
}

func (e *env) drain(l store.Lease, first int64) []store.Entry {
	e.Helper()
	list, err := l.Drain(e.ctx, first, 0, 0)
	e.ok(err)
	return list
}

func (e *env) append(l store.Lease, first int64, entries ...store.Entry) {
	e.Helper()
	e.ok(l.Append(e.ctx, first, entries))
}

func (e *env) load(l store.Lease, from int64) store.Transcript {
	e.Helper()
	tr, err := l.Load(e.ctx, from)
	e.ok(err)
	return tr
}

func (e *env) peek(l store.Lease, signalsBefore int64) store.Waiting {
	e.Helper()
	w, err := l.Peek(e.ctx, signalsBefore)
	e.ok(err)
	return w
}

func (e *env) release(l store.Lease) {
	e.Helper()
	done, err := l.ReleaseIfEmpty(e.ctx)
	e.ok(err)
	e.equal(done, true, "released")
}

func (e *env) due() []string {
	e.Helper()
	list, err := e.Due(e.ctx, 100)
	e.ok(err)
	return list
}

func user(id string) store.Entry {
	return store.Entry{Kind: store.KindUser, ID: id, Data: []byte(id)}
}

func assistant(id string, opens ...string) store.Entry {
	return store.Entry{Kind: store.KindAssistant, ID: id, Opens: opens, Data: []byte(id)}
}

func result(id, closes string) store.Entry {
	return store.Entry{Kind: store.KindToolResult, ID: id, Closes: closes, Data: []byte(id)}
}

func note(id string) store.Entry {
	return store.Entry{Kind: store.KindNote, ID: id, Data: []byte(id)}
}

func summary(id string) store.Entry {
	return store.Entry{Kind: store.KindSummary, ID: id, Data: []byte(id)}
}

// ids of entries as "position:id".
func ids(list []store.Entry) []string {
	var out []string
	for _, en := range list {
		out = append(out, fmt.Sprintf("%d:%s", en.Position, en.ID))
	}
	return out
}

// queued events as "position:id=data".
func queued(list []store.Queued) []string {
	var out []string
	for _, q := range list {
		out = append(out, fmt.Sprintf("%d:%s=%s", q.Position, q.ID, q.Data))
	}
	return out
}
