package sqlite

import (
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

// wrap says what failed where.
func (l *lease) wrap(op string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, l.id, err)
	}
	return nil
}

// do runs fn in the writer with the session, which it saves, if the token is
// the present one.
func (l *lease) do(ctx context.Context, op string, durable bool, fn func(t *tx, se *session) error) error {
	return l.wrap(op, l.store.do(ctx, durable, func(t *tx) error {
		se, err := t.held(l.id, l.start.Token)
		if err != nil {
			return err
		}
		return fn(t, se)
	}))
}

// read runs fn on a reading connection, if the token is the present one.
func (l *lease) read(ctx context.Context, op string, fn func(c *conn, se *session) error) error {
	return l.wrap(op, l.store.read(ctx, func(c *conn) error {
		se, err := readSession(c, l.id)
		switch {
		case err != nil:
			return err
		case se == nil:
			return store.ErrFenced
		}
		if err := se.Fence(l.start.Token); err != nil {
			return err
		}
		return fn(c, se)
	}))
}

func (l *lease) Peek(ctx context.Context, signalsBefore int64) (w store.Waiting, err error) {
	err = l.read(ctx, "peek", func(c *conn, se *session) error {
		w, err = se.waiting(c, l.id)
		return err
	})
	if err != nil || len(w.Signals) == 0 || w.Signals[0].Position >= signalsBefore {
		return w, err
	}
	err = l.do(ctx, "peek", false, func(t *tx, se *session) error {
		from := inboxKey(se.row, store.Signals, 0)
		till := from + min(max(signalsBefore, 0), se.NextSignal)
		n, err := t.number("SELECT count(*) FROM inbox WHERE key >= ? AND key < ?", from, till)
		if err != nil {
			return err
		}
		if err := t.exec("DELETE FROM inbox WHERE key >= ? AND key < ?", from, till); err != nil {
			return err
		}
		se.Forget(int(n))
		if err := t.save(l.id, se); err != nil {
			return err
		}
		w, err = se.waiting(t.conn, l.id)
		return err
	})
	if err != nil {
		return store.Waiting{}, err
	}
	return w, nil
}

// waiting reads what the inbox holds.
func (se *session) waiting(c *conn, id string) (w store.Waiting, err error) {
	err = c.query("SELECT key, id, op, name, quiet, tail, at, data FROM inbox WHERE key >= ? AND key < ? ORDER BY key",
		args(inboxKey(se.row, store.Messages, 0), inboxKey(se.row+1, store.Messages, 0)), func(r row) error {
			q := queued(r)
			q.Session = id
			if q.Lane == store.Signals {
				w.Signals = append(w.Signals, q)
			} else {
				w.Messages = append(w.Messages, q)
			}
			return nil
		})
	return w, err
}

// queued reads a row of inbox.
func queued(r row) store.Queued {
	return store.Queued{
		Event: store.Event{
			ID: r.text(1), Lane: store.Lane(r.int(0) >> 32 & 1), Op: store.Op(r.int(2)), Key: r.text(3), Quiet: r.bool(4),
			Data: r.blob(7),
		},
		Position: position(r.int(0)), Tail: r.int(5), At: time.Unix(0, r.int(6)),
	}
}

func (l *lease) Bury(ctx context.Context, positions []int64, reason string) error {
	positions = slices.Compact(slices.Sorted(slices.Values(positions)))
	return l.do(ctx, "bury", false, func(t *tx, se *session) error {
		for _, p := range positions {
			if p < 0 || p >= se.NextMessage {
				continue
			}
			key := inboxKey(se.row, store.Messages, p)
			var quiet bool
			found, err := t.one("SELECT quiet FROM inbox WHERE key = ?", args(key), func(r row) error {
				quiet = r.bool(0)
				return nil
			})
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			err = t.exec(`INSERT INTO dead (session, position, id, op, name, quiet, at, data, reason, buried)
				SELECT ?, ?, id, op, name, quiet, at, data, ?, ? FROM inbox WHERE key = ?`, l.id, p, reason, t.now, key)
			if err != nil {
				return err
			}
			if err := t.exec("DELETE FROM inbox WHERE key = ?", key); err != nil {
				return err
			}
			se.Dequeue(quiet)
		}
		return t.save(l.id, se)
	})
}

func (l *lease) Intent(ctx context.Context, call string) (bool, error) {
	var before bool
	err := l.do(ctx, "intent", true, func(t *tx, se *session) (err error) {
		if before, err = se.Intent(l.start.Token, call); err != nil {
			return err
		}
		return t.save(l.id, se)
	})
	return before && err == nil, err
}

func (l *lease) SetReply(ctx context.Context, reply store.Reply) error {
	return l.do(ctx, "set reply", false, func(t *tx, se *session) error {
		t.wrote += len(reply.Data)
		if se.ReplyOpen != reply.Open {
			se.ReplyOpen = reply.Open
			if err := t.save(l.id, se); err != nil {
				return err
			}
		}
		return t.exec("INSERT OR REPLACE INTO replies (session, run, open, data) VALUES (?, ?, ?, ?)",
			se.row, reply.Run, flag(reply.Open), reply.Data)
	})
}

func (l *lease) Renew(ctx context.Context) (store.Waiting, error) {
	var w store.Waiting
	err := l.do(ctx, "renew", false, func(t *tx, se *session) (err error) {
		if err := se.Renew(t.now, l.start.Token, l.ttl); err != nil {
			return err
		}
		if err := t.save(l.id, se); err != nil {
			return err
		}
		w, err = se.waiting(t.conn, l.id)
		return err
	})
	if err != nil {
		return store.Waiting{}, err
	}
	return w, nil
}

func (l *lease) ReleaseIfEmpty(ctx context.Context) (bool, error) {
	done, err := write(ctx, l.store, false, func(t *tx) (bool, error) {
		se, err := t.session(l.id)
		if err != nil {
			return false, err
		}
		if se == nil {
			return false, store.ErrFenced
		}
		done, err := se.ReleaseIfEmpty(l.start.Token)
		if err != nil || !done {
			return false, err
		}
		return true, t.save(l.id, se)
	})
	return done, l.wrap("release", err)
}

func (l *lease) HandOff(ctx context.Context, delay time.Duration, crashed bool) error {
	return l.wrap("hand off", l.store.do(ctx, false, func(t *tx) error {
		se, err := t.session(l.id)
		if err != nil {
			return err
		}
		if se == nil {
			return store.ErrFenced
		}
		if err := se.HandOff(t.now, l.start.Token, delay, crashed); err != nil {
			return err
		}
		return t.save(l.id, se)
	}))
}
