package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"clawbot/store"
	"clawbot/store/memory"
)

// Equivalence makes random calls to a new store and to a memory store and fails
// when an answer differs. Tokens, times and versions may differ, the rest not.
// open is called for every sequence; Equivalence closes what it returns.
func Equivalence(t *testing.T, open func(t *testing.T) store.Store) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{T: rt, ctx: t.Context(), held: map[string]both[store.Lease]{}, terms: map[string]both[store.Term]{}, short: map[store.Lease]bool{}}
		m.stores = both[store.Store]{open(t), memory.New()}
		defer m.close(t)
		rt.Repeat(m.actions())
	})
}

// both is one value of the store under test and one of the memory store.
type both[T any] [2]T

// machine knows enough of the stores' state to make calls that mostly succeed.
type machine struct {
	*rapid.T
	ctx      context.Context
	stores   both[store.Store]
	held     map[string]both[store.Lease] // the latest lease of a session
	past     []both[store.Lease]
	short    map[store.Lease]bool // memory's lease was taken for a blink
	terms    map[string]both[store.Term]
	versions map[string][]both[int64]
	events   int
}

func (m *machine) close(t *testing.T) {
	for _, s := range m.stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// same makes a call on both sides and compares the answers and errors.
func same[T, A any](m *machine, what string, on both[T], call func(on T) (A, error), show func(A) string) (answers both[A], ok bool) {
	m.Helper()
	var got both[string]
	for i := range on {
		a, err := call(on[i])
		answers[i] = a
		if got[i] = class(err); err == nil {
			ok = true
			got[i] = show(a)
		}
	}
	if got[0] != got[1] {
		m.Fatalf("%s: %s, but memory says %s", what, got[0], got[1])
	}
	m.Logf("%s: %s", what, got[0])
	return answers, ok
}

// class is what a caller sees of an error.
func class(err error) string {
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		return "held by " + held.Owner
	}
	for _, e := range []error{
		store.ErrFenced, store.ErrGap, store.ErrConflict, store.ErrOpenCall,
		store.ErrNotFound, store.ErrLimit, store.ErrInvalid,
	} {
		if errors.Is(err, e) {
			return "error " + e.Error()
		}
	}
	return fmt.Sprint("error ", err)
}

func show[A any](a A) string { return fmt.Sprintf("%+v", a) }

func nothing(struct{}) string { return "ok" }

// do adapts a call without an answer.
func do[T any](call func(on T) error) func(on T) (struct{}, error) {
	return func(on T) (struct{}, error) { return struct{}{}, call(on) }
}

func (m *machine) pick(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(m.T, label)
}

func (m *machine) number(label string, from, to int) int {
	return rapid.IntRange(from, to).Draw(m.T, label)
}

func (m *machine) session() string { return m.pick("session", "s1", "s2") }

func (m *machine) owner() string { return m.pick("owner", "a", "b") }

// lease is mostly the latest one of a session.
func (m *machine) lease() (both[store.Lease], bool) {
	if len(m.past) > 0 && m.number("stale", 0, 9) == 0 {
		return m.past[m.number("which", 0, len(m.past)-1)], true
	}
	l, ok := m.held[m.session()]
	return l, ok
}

// first is mostly the tail.
func (m *machine) first(l store.Lease) int64 {
	list, err := m.stores[1].Archive().Read(m.ctx, l.Session(), 0, 1<<20)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		m.Fatal(err)
	}
	return int64(len(list) + rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, -1, -2, -3, 1}).Draw(m.T, "offset"))
}

func (m *machine) took(session string, l both[store.Lease]) {
	if before, ok := m.held[session]; ok {
		m.past = append(m.past, before)
	}
	m.held[session] = l
}

func showWaiting(w store.Waiting) string {
	return fmt.Sprint(showQueued(w.Signals), showQueued(w.Messages))
}

func showQueued(list []store.Queued) []string {
	var out []string
	for _, q := range list {
		q.At = time.Time{}
		out = append(out, fmt.Sprintf("%+v", q))
	}
	return out
}

func showEntries(list []store.Entry) string {
	var out []string
	for _, e := range list {
		e.At, e.Token = time.Time{}, ""
		out = append(out, fmt.Sprintf("%+v", e))
	}
	return fmt.Sprint(out)
}

func showTranscript(t store.Transcript) string {
	return fmt.Sprint(t.Tail, t.Generation, showEntries(t.Entries))
}

func showLease(l store.Lease) string {
	st := l.Start()
	st.Token = ""
	return fmt.Sprintf("%s %+v", l.Session(), st)
}

func sorted(list []string) string {
	slices.Sort(list)
	return fmt.Sprint(list)
}
