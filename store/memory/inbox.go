package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"clawbot/store"
)

// remember is how long event ids are known.
const remember = 72 * time.Hour

// Accept implements store.Inbox.
func (s *Store) Accept(ctx context.Context, ev store.Event) (store.Accepted, error) {
	if err := store.CheckEvent(ev); err != nil {
		return store.Accepted{}, fmt.Errorf("accept: %w", err)
	}
	if err := s.enter(ctx); err != nil {
		return store.Accepted{}, fmt.Errorf("accept: %w", err)
	}
	defer s.mu.Unlock()
	t := now()
	key := seenKey{ev.Session, ev.ID}
	if e, ok := s.seen.get(t, key); ok {
		acc := store.Accepted{Waiting: 0}
		if r := s.sessions[ev.Session]; r != nil {
			acc = r.Accepted(t)
		}
		acc.Duplicate, acc.Applied, acc.Position = true, e.applied, e.position
		return acc, nil
	}
	r := s.room(ev.Session, t)
	e := r.accept(t, ev)
	s.seen.put(t, key, e)
	acc := r.Accepted(t)
	acc.Applied, acc.Position = e.applied, e.position
	return acc, nil
}

// accept puts a new event into its lane or applies it to its original.
func (r *room) accept(t int64, ev store.Event) effect {
	ev.Data = bytes.Clone(ev.Data)
	ev.Quiet = ev.Lane == store.Messages && (ev.Quiet || ev.Op != store.Put)
	if ev.Op != store.Put {
		if at := r.original(ev.Key); at >= 0 {
			q := &r.messages[at]
			e := effect{position: q.Position, applied: true}
			r.Active = t
			if ev.Op == store.Replace {
				q.Data = ev.Data
			} else {
				r.Dequeue(q.Quiet)
				r.messages = slices.Delete(r.messages, at, at+1)
			}
			return e
		}
	}
	q := store.Queued{Event: ev, At: time.Unix(0, t)}
	if ev.Lane == store.Signals {
		q.Tail = r.NextMessage
	}
	q.Position = r.Enqueue(t, ev.Lane, ev.Quiet)
	if ev.Lane == store.Signals {
		r.signals = append(r.signals, q)
	} else {
		r.messages = append(r.messages, q)
	}
	return effect{position: q.Position}
}

// original finds the latest queued message that was put with key.
func (r *room) original(key string) int {
	for i, q := range slices.Backward(r.messages) {
		if q.Key == key && q.Op == store.Put {
			return i
		}
	}
	return -1
}

// Acquire implements store.Inbox.
func (s *Store) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (store.Lease, error) {
	if err := store.CheckSession(id); err != nil {
		return nil, fmt.Errorf("acquire: %w", err)
	}
	if err := store.CheckHold(owner, ttl); err != nil {
		return nil, fmt.Errorf("acquire %s: %w", id, err)
	}
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("acquire %s: %w", id, err)
	}
	defer s.mu.Unlock()
	t := now()
	r := s.room(id, t)
	if err := r.Acquire(t, owner, nonce(), ttl); err != nil {
		return nil, fmt.Errorf("acquire %s: %w", id, err)
	}
	return &lease{store: s, id: id, ttl: ttl, start: r.Start(r.reply)}, nil
}

// Due implements store.Inbox.
func (s *Store) Due(ctx context.Context, limit int) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("due: %w", err)
	}
	defer s.mu.Unlock()
	t := now()
	type entry struct {
		id  string
		due int64
	}
	var due []entry
	for id, r := range s.sessions {
		if r.Session.Due != 0 && r.Session.Due <= t {
			due = append(due, entry{id, r.Session.Due})
		}
	}
	slices.SortFunc(due, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id))
	})
	var ids []string
	for _, e := range due[:min(len(due), max(limit, 0))] {
		ids = append(ids, e.id)
	}
	return ids, nil
}

type seenKey struct{ session, event string }

// effect is what accepting an event did.
type effect struct {
	position int64
	applied  bool
	at       int64
}

// seen knows the event ids of the last 72 hours, in order of their arrival.
type seen struct {
	effects map[seenKey]effect
	order   []seenKey
}

func (s *seen) get(t int64, key seenKey) (effect, bool) {
	for len(s.order) > 0 && s.effects[s.order[0]].at <= t-int64(remember) {
		delete(s.effects, s.order[0])
		s.order = s.order[1:]
	}
	e, ok := s.effects[key]
	return e, ok
}

func (s *seen) put(t int64, key seenKey, e effect) {
	e.at = t
	s.effects[key] = e
	s.order = append(s.order, key)
}
