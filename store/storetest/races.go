package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"clawbot/store"
)

var raceTests = []test{
	{name: "a message accepted while its holder lets go is seen by one or makes the session due", fn: func(e *env) {
		tail := int64(0)
		for i := range e.rounds {
			l := e.acquire("s")
			var wg sync.WaitGroup
			var released bool
			wg.Go(func() { e.tryPut("s", fmt.Sprint(i)) })
			wg.Go(func() {
				var err error
				if released, err = l.ReleaseIfEmpty(e.ctx); err != nil {
					e.Error(err)
				}
			})
			wg.Wait()
			if released {
				e.equal(e.due(), "[s]", "due sessions")
				l = e.acquire("s")
			}
			list := e.drain(l, tail)
			e.equal(len(list), 1, "drained messages")
			tail++
			e.release(l)
			e.equal(len(e.due()), 0, "due sessions")
		}
	}},
	{name: "messages of many senders to many owners are each in the transcript once, in their sender's order", fn: func(e *env) {
		const senders, owners = 4, 3
		each := max(e.rounds/senders, 1)
		var sending, serving sync.WaitGroup
		var silent atomic.Bool
		for sender := range senders {
			sending.Go(func() {
				for i := range each {
					e.tryPut("s", fmt.Sprintf("%d.%d", sender, i))
				}
			})
		}
		for owner := range owners {
			serving.Go(func() { e.serve(fmt.Sprint("owner", owner), &silent) })
		}
		sending.Wait()
		silent.Store(true)
		serving.Wait()
		next := make([]int, senders)
		list, err := e.Archive().Read(e.ctx, "s", 0, 2*senders*each)
		e.ok(err)
		e.equal(len(list), senders*each, "entries")
		for _, en := range list {
			var sender, n int
			if _, err := fmt.Sscanf(en.ID, "%d.%d", &sender, &n); err != nil {
				e.Fatal(err)
			}
			e.equal(n, next[sender], "order of sender")
			next[sender]++
		}
	}},
}

func (e *env) tryPut(session, id string) {
	if _, err := e.Accept(e.ctx, message(session, id)); err != nil {
		e.Error(err)
	}
}

// serve works through what is due as a replica does, until silence has come and
// nothing is due or held any more.
func (e *env) serve(owner string, silent *atomic.Bool) {
	for {
		last := silent.Load()
		due, err := e.Due(e.ctx, 1)
		if err != nil {
			e.Error(err)
			return
		}
		if len(due) == 0 {
			if last && e.free() {
				return
			}
			continue
		}
		l, err := e.Acquire(e.ctx, due[0], owner, hour)
		if err != nil {
			continue // another was quicker
		}
		if err := e.work(l); err != nil {
			e.Error(err)
			return
		}
	}
}

// free reports whether nobody holds a session.
func (e *env) free() bool {
	list, _, err := e.Archive().Sessions(e.ctx, "", "", 100)
	return err == nil && !slices.ContainsFunc(list, func(s store.SessionInfo) bool { return s.Owner != "" || s.Waiting > 0 })
}

func (e *env) work(l store.Lease) error {
	tail := l.Start().Tail
	for {
		list, err := l.Drain(e.ctx, tail, 2, 0)
		if err != nil {
			return err
		}
		tail += int64(len(list))
		done, err := l.ReleaseIfEmpty(e.ctx)
		if done || err != nil {
			return err
		}
	}
}
