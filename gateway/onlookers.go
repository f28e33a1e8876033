package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"clawbot/store"
)

const (
	// lookTopic carries the names of sessions that somebody looks at.
	lookTopic = "look"
	// lookFor is how long a look lasts unless it is renewed.
	lookFor = 15 * time.Second
	// maxLooked bounds the sessions that are looked at at once.
	maxLooked = 256
)

// LookEvery is how often [Look] is to be called while somebody looks.
const LookEvery = lookFor / 3

// Look asks every process that shares the bus to publish what happens in a
// session on [channels.LiveTopic] for the next 15 seconds, on channels too that
// don't draw runs themselves. It is a hint and may be lost.
func Look(ctx context.Context, bus store.Bus, session string) error {
	return bus.Publish(ctx, lookTopic, []byte(session))
}

// onlookers remembers which sessions are looked at. The zero value works, and
// costs one atomic load an event while nobody looks at anything.
type onlookers struct {
	n     atomic.Int32
	mu    sync.Mutex
	until map[string]time.Time
}

func (o *onlookers) look(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if _, known := o.until[session]; !known {
		o.forget(now)
		if len(o.until) >= maxLooked {
			return
		}
	}
	if o.until == nil {
		o.until = map[string]time.Time{}
	}
	o.until[session] = now.Add(lookFor)
	o.n.Store(int32(len(o.until)))
}

// at reports whether somebody looks at the session.
func (o *onlookers) at(session string) bool {
	if o.n.Load() == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if now.Before(o.until[session]) {
		return true
	}
	o.forget(now)
	return false
}

// forget drops what nobody looks at any more. o.mu is held.
func (o *onlookers) forget(now time.Time) {
	for session, until := range o.until {
		if !now.Before(until) {
			delete(o.until, session)
		}
	}
	o.n.Store(int32(len(o.until)))
}
