package sqlite

import "log/slog"

// The write-ahead log is brought into the database file after about this many
// pages of 4 kB, beside the writer; if that can't keep up, the writer waits for
// it.
const (
	pagesWanted = 1000
	pagesMost   = 16000
)

// checkpoint asks for one when enough was written.
func (w *writer) checkpoint() {
	if w.pages < pagesWanted {
		return
	}
	select {
	case w.s.kick <- struct{}{}:
		w.pages = 0
	default: // one is running
	}
	if w.s.behind.CompareAndSwap(true, false) {
		// No commit comes between, so it can finish and the log starts anew.
		if _, err := checkpoint(w.conn, "PRAGMA wal_checkpoint(RESTART)"); err != nil {
			w.s.log.Warn("sqlite: checkpoint", "path", w.s.path, "err", explain(w.s.path, err))
		}
	}
}

// checkpointer runs checkpoints on its own connection.
func (s *Store) checkpointer(c *conn) {
	for range s.kick {
		left, err := checkpoint(c, "PRAGMA wal_checkpoint(PASSIVE)")
		if err != nil {
			s.log.Warn("sqlite: checkpoint", "path", s.path, "err", explain(s.path, err))
			continue
		}
		s.behind.Store(left > pagesMost)
	}
	if err := c.close(); err != nil {
		s.log.Warn("sqlite: close", slog.String("path", s.path), slog.Any("err", err))
	}
}

// checkpoint returns the pages in the log that are not yet, or may not be,
// overwritten.
func checkpoint(c *conn, pragma string) (left int64, err error) {
	err = c.query(pragma, nil, func(r row) error {
		if r.int(1) > r.int(2) || r.bool(0) {
			left = r.int(1)
		}
		return nil
	})
	return left, err
}
