package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"clawbot/store"
	rules "clawbot/store/internal/session"
)

// Archive implements store.Store. Purge waits for the disk.
func (s *Store) Archive() store.Archive { return (*archive)(s) }

type archive Store

func (a *archive) Sessions(ctx context.Context, prefix, after string, limit int) ([]store.SessionInfo, string, error) {
	from, err := rules.ParseCursor(after)
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	var list []store.SessionInfo
	t := now()
	err = (*Store)(a).read(ctx, func(c *conn) error {
		return c.query(`SELECT session, meta FROM sessions WHERE session >= ? AND session < ?
			AND (active < ? OR active = ? AND session > ?) ORDER BY active DESC, session LIMIT ?`,
			args(prefix, prefix+afterAll, from.Active, from.Active, from.ID, int64(max(limit, 0))+1), func(r row) error {
				var s rules.Session
				if err := decode(r.text(1), &s, r.text(0)); err != nil {
					return err
				}
				list = append(list, s.Info(r.text(0), t))
				return nil
			})
	})
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	return rules.Page(list, limit)
}

func (a *archive) Session(ctx context.Context, id string) (info store.SessionInfo, err error) {
	err = (*Store)(a).read(ctx, func(c *conn) error {
		se, err := readSession(c, id)
		if err == nil && se == nil {
			err = store.ErrNotFound
		}
		if err == nil {
			info = se.Info(id, now())
		}
		return err
	})
	if err != nil {
		return store.SessionInfo{}, fmt.Errorf("session %s: %w", id, err)
	}
	return info, nil
}

func (a *archive) Read(ctx context.Context, id string, from int64, limit int) (list []store.Entry, err error) {
	err = (*Store)(a).read(ctx, func(c *conn) error {
		se, err := readSession(c, id)
		if err != nil {
			return err
		}
		if se == nil {
			return store.ErrNotFound
		}
		if from >= se.Tail {
			return nil
		}
		return se.entries(c, max(from, 0), max(limit, 0), func(e store.Entry) { list = append(list, e) })
	})
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	return list, nil
}

func (a *archive) Dead(ctx context.Context, limit int) (list []store.DeadLetter, err error) {
	err = (*Store)(a).read(ctx, func(c *conn) error {
		return c.query("SELECT session, position, id, op, name, quiet, at, data, reason, buried FROM dead ORDER BY n DESC LIMIT ?",
			args(int64(max(limit, 0))), func(r row) error {
				list = append(list, store.DeadLetter{
					Queued: store.Queued{
						Event: store.Event{
							Session: r.text(0), ID: r.text(2), Op: store.Op(r.int(3)), Key: r.text(4), Quiet: r.bool(5), Data: r.blob(7),
						},
						Position: r.int(1), At: time.Unix(0, r.int(6)),
					},
					Reason: r.text(8), Buried: time.Unix(0, r.int(9)),
				})
				return nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return list, nil
}

func (a *archive) Purge(ctx context.Context, l store.Lease) error {
	s := (*Store)(a)
	err := s.owner()
	if err == nil {
		err = s.do(ctx, true, func(t *tx) error { return t.purge(l.Session(), l.Start().Token) })
	}
	if err != nil {
		return fmt.Errorf("purge session %s: %w", l.Session(), err)
	}
	return nil
}

func (t *tx) purge(id, token string) error {
	se, err := t.session(id)
	if se == nil || err != nil {
		return err
	}
	if err := se.Fence(token); err != nil {
		return err
	}
	t.dirty = append(t.dirty, id)
	delete(t.s.writer.cache, id)
	for _, del := range []struct {
		sql  string
		args []driver.Value
	}{
		{"DELETE FROM inbox WHERE key >= ? AND key < ?", args(inboxKey(se.row, 0, 0), inboxKey(se.row+1, 0, 0))},
		{"DELETE FROM found WHERE rowid IN (SELECT -key FROM entries WHERE key >= ? AND key < ? AND kind IN (1, 2))", args(entryKey(se.row, 0), entryKey(se.row+1, 0))},
		{"DELETE FROM indexed WHERE session = ?", args(se.row)},
		{"DELETE FROM entries WHERE key >= ? AND key < ?", args(entryKey(se.row, 0), entryKey(se.row+1, 0))},
		{"DELETE FROM replies WHERE session = ?", args(se.row)},
		{"DELETE FROM dead WHERE session = ?", args(id)},
		{"DELETE FROM sessions WHERE id = ?", args(se.row)},
	} {
		if err := t.exec(del.sql, del.args...); err != nil {
			return err
		}
	}
	t.s.index.purged()
	return nil
}
