package sqlite

import (
	"context"

	"clawbot/store"
)

// read runs fn on a reading connection, in one transaction: everything that it
// reads is of one moment.
func (s *Store) read(ctx context.Context, fn func(c *conn) error) (err error) {
	if err := s.usable(ctx); err != nil {
		return err
	}
	var c *conn
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return ctx.Err()
	}
	// The closed flag again: Close takes the connections away one by one.
	defer func() { s.readers <- c }()
	if s.closed.Load() {
		return store.ErrClosed
	}
	if c == nil {
		if c, err = dial(s.path, "rw", "query_only(true)", "cache_size(-1000)"); err != nil {
			return explain(s.path, err)
		}
	}
	if err := c.exec("BEGIN"); err != nil {
		return explain(s.path, err)
	}
	err = fn(c)
	if end := c.exec("COMMIT"); err == nil {
		err = end
	}
	if err != nil && !own(err) {
		return explain(s.path, err)
	}
	return err
}
