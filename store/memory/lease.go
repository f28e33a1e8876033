package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"clawbot/store"
)

type lease struct {
	store *Store
	id    string
	ttl   time.Duration
	start store.Start
}

var _ store.Lease = (*lease)(nil)

func (l *lease) Session() string    { return l.id }
func (l *lease) Start() store.Start { return l.start }

// do runs fn with the store locked and the token checked.
func (l *lease) do(ctx context.Context, op string, fn func(r *room, now int64) error) error {
	return l.unfenced(ctx, op, func(r *room, now int64) error {
		if r == nil {
			return store.ErrFenced
		}
		if err := r.Fence(l.start.Token); err != nil {
			return err
		}
		return fn(r, now)
	})
}

// unfenced runs fn with the store locked; r is nil if there is no such session.
func (l *lease) unfenced(ctx context.Context, op string, fn func(r *room, now int64) error) error {
	err := l.store.enter(ctx)
	if err == nil {
		defer l.store.mu.Unlock()
		err = fn(l.store.sessions[l.id], now())
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, l.id, err)
	}
	return nil
}

func (l *lease) Peek(ctx context.Context, signalsBefore int64) (w store.Waiting, err error) {
	err = l.do(ctx, "peek", func(r *room, _ int64) error {
		n := 0
		for n < len(r.signals) && r.signals[n].Position < signalsBefore {
			n++
		}
		r.signals = slices.Delete(r.signals, 0, n)
		r.Forget(n)
		w = r.waiting()
		return nil
	})
	return w, err
}

func (r *room) waiting() store.Waiting {
	return store.Waiting{Signals: slices.Clone(r.signals), Messages: slices.Clone(r.messages)}
}

func (l *lease) Bury(ctx context.Context, positions []int64, reason string) error {
	return l.do(ctx, "bury", func(r *room, t int64) error {
		r.messages = slices.DeleteFunc(r.messages, func(q store.Queued) bool {
			if !slices.Contains(positions, q.Position) {
				return false
			}
			r.Dequeue(q.Quiet)
			l.store.dead = append(l.store.dead, store.DeadLetter{Queued: q, Reason: reason, Buried: time.Unix(0, t)})
			return true
		})
		return nil
	})
}

func (l *lease) Intent(ctx context.Context, call string) (before bool, err error) {
	err = l.do(ctx, "intent", func(r *room, _ int64) error {
		before, err = r.Intent(l.start.Token, call)
		return err
	})
	return before, err
}

func (l *lease) SetReply(ctx context.Context, reply store.Reply) error {
	return l.do(ctx, "set reply", func(r *room, _ int64) error {
		reply.Data = bytes.Clone(reply.Data)
		r.reply, r.ReplyOpen = reply, reply.Open
		return nil
	})
}

func (l *lease) Renew(ctx context.Context) (w store.Waiting, err error) {
	err = l.do(ctx, "renew", func(r *room, t int64) error {
		w = r.waiting()
		return r.Session.Renew(t, l.start.Token, l.ttl)
	})
	return w, err
}

func (l *lease) ReleaseIfEmpty(ctx context.Context) (done bool, err error) {
	err = l.unfenced(ctx, "release", func(r *room, _ int64) error {
		if r == nil {
			return store.ErrFenced
		}
		done, err = r.Session.ReleaseIfEmpty(l.start.Token)
		return err
	})
	return done, err
}

func (l *lease) HandOff(ctx context.Context, delay time.Duration, crashed bool) error {
	return l.unfenced(ctx, "hand off", func(r *room, t int64) error {
		if r == nil {
			return store.ErrFenced
		}
		return r.Session.HandOff(t, l.start.Token, delay, crashed)
	})
}
