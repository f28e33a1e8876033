package sqlite

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"clawbot/store"
)

// remember is how long event ids are known.
const remember = 72 * time.Hour

// inboxKey is the key of a position in a session's lane.
func inboxKey(session int64, lane store.Lane, position int64) int64 {
	return (session<<1|int64(lane))<<32 | position
}

// position is what a key of entries or inbox says of it.
func position(key int64) int64 { return key & (1<<32 - 1) }

// Accept implements store.Inbox.
func (s *Store) Accept(ctx context.Context, ev store.Event) (store.Accepted, error) {
	err := store.CheckEvent(ev)
	if err == nil {
		err = s.owner()
	}
	var acc store.Accepted
	if err == nil {
		acc, err = write(ctx, s, true, func(t *tx) (store.Accepted, error) { return t.accept(ev) })
	}
	if err != nil {
		return store.Accepted{}, fmt.Errorf("accept %s: %w", ev.ID, err)
	}
	return acc, nil
}

// effect is what accepting an event did.
type effect struct {
	position int64
	applied  bool
}

func (t *tx) accept(ev store.Event) (store.Accepted, error) {
	hash := eventHash(ev)
	e, duplicate, err := t.seen(hash)
	if err != nil {
		return store.Accepted{}, err
	}
	se, err := t.opened(ev.Session)
	if err != nil {
		return store.Accepted{}, err
	}
	if !duplicate {
		if e, err = t.enqueue(se, ev); err != nil {
			return store.Accepted{}, err
		}
		if err := t.remember(hash, e); err != nil {
			return store.Accepted{}, err
		}
	}
	acc := se.Accepted(t.now)
	acc.Duplicate, acc.Applied, acc.Position = duplicate, e.applied, e.position
	return acc, nil
}

// enqueue puts a new event into its lane or applies it to its original.
func (t *tx) enqueue(se *session, ev store.Event) (effect, error) {
	t.wrote += len(ev.Data)
	quiet := ev.Lane == store.Messages && (ev.Quiet || ev.Op != store.Put)
	if ev.Op != store.Put {
		e, err := t.change(se, ev)
		if e.applied || err != nil {
			return e, err
		}
	}
	e, tail := effect{}, int64(0)
	if ev.Lane == store.Signals {
		tail = se.NextMessage
	}
	e.position = se.Enqueue(t.now, ev.Lane, quiet)
	if err := t.save(ev.Session, se); err != nil {
		return e, err
	}
	return e, t.exec("INSERT INTO inbox (key, id, op, name, quiet, tail, at, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		inboxKey(se.row, ev.Lane, e.position), ev.ID, int64(ev.Op), ev.Key, flag(quiet), tail, t.now, ev.Data)
}

// change applies the event to the latest queued message that was put with its
// key, if there is one.
func (t *tx) change(se *session, ev store.Event) (effect, error) {
	var key int64
	var quiet bool
	found, err := t.one(
		"SELECT key, quiet FROM inbox WHERE key >= ? AND key < ? AND name = ? AND op = 0 ORDER BY key DESC LIMIT 1",
		args(inboxKey(se.row, store.Messages, 0), inboxKey(se.row, store.Signals, 0), ev.Key),
		func(r row) error {
			key, quiet = r.int(0), r.bool(1)
			return nil
		})
	if !found || err != nil {
		return effect{}, err
	}
	se.Active = t.now
	if ev.Op == store.Replace {
		err = t.exec("UPDATE inbox SET data = ? WHERE key = ?", ev.Data, key)
	} else {
		se.Dequeue(quiet)
		err = t.exec("DELETE FROM inbox WHERE key = ?", key)
	}
	if err != nil {
		return effect{}, err
	}
	return effect{position: position(key), applied: true}, t.save(ev.Session, se)
}

// eventHash stands for a session's event id in seen.
func eventHash(ev store.Event) []byte {
	sum := sha256.Sum256([]byte(ev.Session + "\n" + ev.ID)) // no session id has a newline
	return sum[:16]
}

func (t *tx) seen(hash []byte) (e effect, found bool, err error) {
	if err := t.forget(); err != nil {
		return e, false, err
	}
	var at, n int64
	found, err = t.one("SELECT position, applied, at, n FROM seen WHERE hash = ?", args(hash), func(r row) error {
		e = effect{position: r.int(0), applied: r.bool(1)}
		at, n = r.int(2), r.int(3)
		return nil
	})
	if found && err == nil && at <= t.now-int64(remember) {
		return effect{}, false, t.exec("DELETE FROM seen WHERE n = ?", n)
	}
	return e, found, err
}

// forget drops the oldest ids when their time is over: two at each accept are
// more than come in.
func (t *tx) forget() error {
	w := t.s.writer
	if t.now < w.forgetAt {
		return nil
	}
	err := t.exec("DELETE FROM seen WHERE n IN (SELECT n FROM seen ORDER BY n LIMIT 2) AND at <= ?", t.now-int64(remember))
	if err != nil {
		return err
	}
	oldest, err := t.number("SELECT at FROM seen ORDER BY n LIMIT 1")
	if oldest == 0 {
		oldest = t.now
	}
	w.forgetAt = oldest + int64(remember)
	return err
}

func (t *tx) remember(hash []byte, e effect) error {
	return t.exec("INSERT INTO seen (hash, at, position, applied) VALUES (?, ?, ?, ?)",
		hash, t.now, e.position, flag(e.applied))
}

// Acquire implements store.Inbox.
func (s *Store) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (store.Lease, error) {
	err := store.CheckSession(id)
	if err == nil {
		err = store.CheckHold(owner, ttl)
	}
	if err == nil {
		err = s.owner()
	}
	var start store.Start
	if err == nil {
		start, err = write(ctx, s, false, func(t *tx) (store.Start, error) { return t.acquire(id, owner, ttl) })
	}
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", id, err)
	}
	return &lease{store: s, id: id, ttl: ttl, start: start}, nil
}

func (t *tx) acquire(id, owner string, ttl time.Duration) (store.Start, error) {
	se, err := t.opened(id)
	if err != nil {
		return store.Start{}, err
	}
	if err := se.Acquire(t.now, owner, rand.Text()[:16], ttl); err != nil {
		return store.Start{}, err
	}
	if err := t.save(id, se); err != nil {
		return store.Start{}, err
	}
	var reply store.Reply
	_, err = t.one("SELECT run, open, data FROM replies WHERE session = ?", args(se.row), func(r row) error {
		reply = store.Reply{Run: r.text(0), Open: r.bool(1), Data: r.blob(2)}
		return nil
	})
	return se.Start(reply), err
}

// Due implements store.Inbox.
func (s *Store) Due(ctx context.Context, limit int) (ids []string, err error) {
	err = s.read(ctx, func(c *conn) error {
		return c.query("SELECT session FROM sessions WHERE due > 0 AND due <= ? ORDER BY due, session LIMIT ?",
			args(now(), int64(max(limit, 0))), func(r row) error {
				ids = append(ids, r.text(0))
				return nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("due: %w", err)
	}
	return ids, nil
}

// owner refuses what a guest may not do.
func (s *Store) owner() error {
	if s.guest {
		return fmt.Errorf("%s: only the clawbot that runs on it may do this", s.path)
	}
	return nil
}
