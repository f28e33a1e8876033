package sqlite

import (
	"context"
	"errors"

	"clawbot/store"
)

// maxBatch bounds the calls in one transaction, so that none waits long for
// the others.
const maxBatch = 128

// call is a write that somebody waits for.
type call struct {
	ctx context.Context
	// run does it. It may run again if the transaction fails for another's
	// fault. It checks first and writes then: when it returns an error that is
	// not the database's, it has written nothing.
	run     func(t *tx) error
	durable bool
	err     error
	// done gets the transaction's outcome, then, if that was good and the call
	// is durable, the barrier's.
	done chan error
}

// tx is a transaction in the writer.
type tx struct {
	*conn
	s     *Store
	now   int64
	dirty []string // sessions whose cached copy is not committed yet
	wrote int      // bytes, about
	grown []int64  // rows of sessions that have more to find
}

// writer owns the writing connection.
type writer struct {
	s     *Store
	conn  *conn
	calls chan *call // unbuffered: what was sent is being worked on
	quit  chan struct{}
	sync  queue
	// pages written since the last checkpoint, about.
	pages int
	// forgetAt is when the oldest event id need not be known any more.
	forgetAt int64
	cache    map[string]*session
}

// do hands run to the writer and waits for it, and for the disk if durable.
// When ctx ends while it waits for the disk, the outcome is unknown.
func (s *Store) do(ctx context.Context, durable bool, run func(t *tx) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := s.broken(); err != nil {
		return err
	}
	c := &call{ctx: ctx, run: run, durable: durable, done: make(chan error, 2)}
	select {
	case s.writer.calls <- c:
	case <-s.writer.quit:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	// Once begun it is awaited, because it reads what the caller passed in.
	if err := <-c.done; err != nil || !durable {
		return err
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write is do with a result.
func write[T any](ctx context.Context, s *Store, durable bool, run func(t *tx) (T, error)) (T, error) {
	var out T
	err := s.do(ctx, durable, func(t *tx) (err error) {
		out, err = run(t)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

func (w *writer) loop() {
	defer close(w.sync.signal)
	defer close(w.s.kick)
	var batch []*call
	for {
		select {
		case c := <-w.calls:
			batch = w.gather(append(batch[:0], c))
			w.commit(batch)
		case <-w.quit:
			return
		}
	}
}

// gather adds the calls that wait already.
func (w *writer) gather(batch []*call) []*call {
	for len(batch) < maxBatch {
		select {
		case c := <-w.calls:
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// commit runs the calls in one transaction and answers them.
func (w *writer) commit(batch []*call) {
	if err := w.transaction(batch); err != nil {
		// One call's fault must not be the others': each for itself.
		for _, c := range batch {
			c.err = nil
			if err := w.transaction([]*call{c}); err != nil {
				c.err = explain(w.s.path, err)
			}
		}
	}
	var wait []*call
	for _, c := range batch {
		c.done <- c.err
		if c.durable && c.err == nil {
			wait = append(wait, c)
		}
	}
	w.sync.put(wait)
	w.checkpoint()
}

// transaction returns the database's error, after which nothing is written.
// What the calls themselves object to is left in them.
func (w *writer) transaction(batch []*call) (err error) {
	if err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	t := &tx{conn: w.conn, s: w.s, now: now()}
	defer func() {
		if err == nil {
			return
		}
		for _, id := range t.dirty {
			delete(w.cache, id)
		}
		// SQLite may have rolled back on its own; then this fails, and may.
		_ = w.conn.exec("ROLLBACK")
	}()
	for _, c := range batch {
		if c.err = c.ctx.Err(); c.err != nil {
			continue
		}
		if c.err = c.run(t); c.err != nil && !own(c.err) {
			return c.err
		}
	}
	if err := w.conn.exec("COMMIT"); err != nil {
		return err
	}
	w.s.index.grown(t.grown)
	w.pages += 4*len(batch) + t.wrote>>12
	return nil
}

// own reports whether an error is the store's answer, not the database's.
func own(err error) bool {
	if _, ok := errors.AsType[*store.HeldError](err); ok {
		return true
	}
	for _, e := range []error{
		store.ErrFenced, store.ErrGap, store.ErrConflict, store.ErrOpenCall,
		store.ErrNotFound, store.ErrLimit, store.ErrInvalid,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
