package sqlite

import "log/slog"

// The write-ahead log is brought into the database file after about pagesWanted
// pages of 4 kB, beside the writer. When it has grown to pagesMost, the writer
// does the rest itself, with no commit between, so that the log starts anew.
const (
	pagesWanted = 1000
	pagesMost   = 4000
)

// checkpoint asks for one when enough was written.
func (w *writer) checkpoint() {
	if w.pages < pagesWanted {
		return
	}
	if w.s.behind.CompareAndSwap(true, false) {
		w.pages = 0
		if _, err := checkpoint(w.conn, "PRAGMA wal_checkpoint(RESTART)"); err != nil {
			w.s.log.Warn("sqlite: checkpoint", "path", w.s.path, "err", explain(w.s.path, err))
		}
		return
	}
	select {
	case w.s.kick <- struct{}{}:
		w.pages = 0
	default: // one is running
	}
}

// checkpointer runs checkpoints on its own connection.
func (s *Store) checkpointer(c *conn) {
	for range s.kick {
		pages, err := checkpoint(c, "PRAGMA wal_checkpoint(PASSIVE)")
		if err != nil {
			s.log.Warn("sqlite: checkpoint", "path", s.path, "err", explain(s.path, err))
			continue
		}
		// A log that is always written to never starts anew, however much of it
		// is in the database file.
		s.behind.Store(pages > pagesMost)
	}
	if err := c.close(); err != nil {
		s.log.Warn("sqlite: close", slog.String("path", s.path), slog.Any("err", err))
	}
}

// checkpoint returns how many pages the log has.
func checkpoint(c *conn, pragma string) (pages int64, err error) {
	err = c.query(pragma, nil, func(r row) error {
		pages = r.int(1)
		return nil
	})
	return pages, err
}
