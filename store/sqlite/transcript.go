package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"clawbot/store"
)

func entryKey(session, position int64) int64 { return session<<32 | position }

const selectEntry = "SELECT key, kind, id, opens, closes, keep, token, at, inbox, data FROM entries "

// entry reads a row of selectEntry.
func entry(r row) (store.Entry, error) {
	e := store.Entry{
		Position: position(r.int(0)), Kind: store.EntryKind(r.int(1)), ID: r.text(2), Closes: r.text(4), KeepFrom: r.int(5),
		Token: r.text(6), At: time.Unix(0, r.int(7)), Inbox: r.int(8), Data: r.blob(9),
	}
	if opens := r.text(3); opens != "" {
		if err := json.Unmarshal([]byte(opens), &e.Opens); err != nil {
			return e, fmt.Errorf("entry %s is damaged: %w", e.ID, err)
		}
	}
	return e, nil
}

// entries reads entries from a position on, up to limit (-1: all).
func (se *session) entries(c *conn, from int64, limit int, each func(e store.Entry)) error {
	return c.query(selectEntry+"WHERE key >= ? AND key < ? ORDER BY key LIMIT ?",
		args(entryKey(se.row, from), entryKey(se.row, se.Tail), int64(limit)), func(r row) error {
			e, err := entry(r)
			if err == nil {
				each(e)
			}
			return err
		})
}

// at reads the entry at a position that is taken, and by which drain it came.
func (se *session) at(c *conn, position int64) (e store.Entry, drain string, err error) {
	_, err = c.one("SELECT key, kind, id, opens, closes, keep, token, at, inbox, data, drain FROM entries WHERE key = ?",
		args(entryKey(se.row, position)), func(r row) (err error) {
			e, err = entry(r)
			drain = r.text(10)
			return err
		})
	return e, drain, err
}

func (l *lease) Load(ctx context.Context, from int64) (out store.Transcript, err error) {
	err = l.read(ctx, "load", func(c *conn, se *session) error {
		start, withSummary, err := se.Live(from)
		if err != nil {
			return err
		}
		out = store.Transcript{Tail: se.Tail, Generation: se.Generation}
		if n := se.Tail - start; n > 0 {
			out.Entries = make([]store.Entry, 0, n)
		}
		if withSummary {
			e, _, err := se.at(c, se.SummaryAt)
			if err != nil {
				return err
			}
			out.Entries = append(out.Entries, e)
		}
		return se.entries(c, start, -1, func(e store.Entry) {
			if e.Kind != store.KindSummary {
				out.Entries = append(out.Entries, e)
			}
		})
	})
	if err != nil {
		return store.Transcript{}, err
	}
	return out, nil
}

func (l *lease) Drain(ctx context.Context, first int64, max int, before int64) ([]store.Entry, error) {
	d := drain{first: first, max: max, before: before}
	out, err := write(ctx, l.store, false, func(t *tx) ([]store.Entry, error) {
		se, err := t.held(l.id, l.start.Token)
		if err != nil {
			return nil, err
		}
		taken, err := se.Place(first, 0)
		if err != nil {
			return nil, err
		}
		if taken {
			return t.drained(se, d)
		}
		if err := se.NoneOpen(); err != nil {
			return nil, err
		}
		return t.drain(l, se, d)
	})
	return out, l.wrap("drain", err)
}

// drain identifies a call of Drain.
type drain struct {
	first  int64
	max    int
	before int64
}

func (d drain) String() string { return fmt.Sprintf("%d/%d/%d", d.first, d.max, d.before) }

// drained returns what an earlier, identical drain moved.
func (t *tx) drained(se *session, d drain) ([]store.Entry, error) {
	var out []store.Entry
	for at := d.first; at < se.Tail; at++ {
		e, by, err := se.at(t.conn, at)
		if err != nil {
			return nil, err
		}
		if by != d.String() {
			break
		}
		out = append(out, e)
	}
	if out == nil {
		return nil, se.Conflict(d.first)
	}
	return out, nil
}

// drain moves messages from the inbox to the transcript.
func (t *tx) drain(l *lease, se *session, d drain) ([]store.Entry, error) {
	from, till := inboxKey(se.row, store.Messages, 0), inboxKey(se.row, store.Signals, 0)
	if d.before > 0 {
		till = from + min(d.before, se.NextMessage)
	}
	limit := int64(-1)
	if d.max > 0 {
		limit = int64(d.max)
	}
	var out []store.Entry
	last, notQuiet := int64(0), 0
	err := t.query("SELECT key, id, op, name, quiet, tail, at, data FROM inbox WHERE key >= ? AND key < ? ORDER BY key LIMIT ?",
		args(from, till, limit), func(r row) error {
			q := queued(r)
			if !q.Quiet {
				notQuiet++
			}
			last = r.int(0)
			out = append(out, store.Entry{
				Position: d.first + int64(len(out)), Kind: store.KindUser, ID: q.ID, Token: l.start.Token,
				At: q.At, Data: q.Data, Inbox: q.Position,
			})
			return nil
		})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	for i := range out {
		if err := t.put(se, &out[i], d.String()); err != nil {
			return nil, err
		}
	}
	if err := t.exec("DELETE FROM inbox WHERE key >= ? AND key <= ?", from, last); err != nil {
		return nil, err
	}
	se.Drained(t.now, len(out), notQuiet)
	return out, t.save(l.id, se)
}

// put inserts an entry at its position.
func (t *tx) put(se *session, e *store.Entry, drain string) error {
	var opens, by any
	if len(e.Opens) > 0 {
		b, err := json.Marshal(e.Opens)
		if err != nil {
			return err
		}
		opens = string(b)
	}
	if drain != "" {
		by = drain
	}
	t.wrote += len(e.Data) + 100
	if e.Kind == store.KindUser || e.Kind == store.KindAssistant {
		t.grown = append(t.grown, se.row)
	}
	return t.exec("INSERT INTO entries (key, kind, id, opens, closes, keep, token, at, inbox, drain, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		entryKey(se.row, e.Position), int64(e.Kind), e.ID, opens, e.Closes, e.KeepFrom, e.Token, e.At.UnixNano(), e.Inbox, by, e.Data)
}

func (l *lease) Append(ctx context.Context, first int64, entries []store.Entry) error {
	return l.do(ctx, "append", false, func(t *tx, se *session) error {
		if err := store.CheckEntries(entries); err != nil {
			return err
		}
		taken, err := se.Place(first, len(entries))
		if err != nil {
			return err
		}
		if taken {
			return t.same(se, first, entries)
		}
		if len(entries) == 0 {
			return nil
		}
		if err := se.Append(t.now, entries); err != nil {
			return err
		}
		for i, e := range entries {
			if err := t.append(l, se, first+int64(i), e); err != nil {
				return err
			}
		}
		return t.save(l.id, se)
	})
}

// append writes a caller's entry at a position.
func (t *tx) append(l *lease, se *session, position int64, e store.Entry) error {
	e.Position, e.Token, e.Inbox = position, l.start.Token, -1
	if e.At.IsZero() {
		e.At = time.Unix(0, t.now)
	}
	return t.put(se, &e, "")
}

// same reports a conflict unless entries are what stands from first on.
func (t *tx) same(se *session, first int64, entries []store.Entry) error {
	for i := range entries {
		e, _, err := se.at(t.conn, first+int64(i))
		if err != nil {
			return err
		}
		if e.ID != entries[i].ID {
			return se.Conflict(first)
		}
	}
	return nil
}

func (l *lease) Compact(ctx context.Context, first int64, summary store.Entry, keepFrom int64) error {
	summary.KeepFrom = keepFrom
	return l.do(ctx, "compact", false, func(t *tx, se *session) error {
		if err := store.CheckSummary(summary); err != nil {
			return err
		}
		taken, err := se.Place(first, 1)
		if err != nil {
			return err
		}
		if taken {
			e, _, err := se.at(t.conn, first)
			if err == nil && (e.ID != summary.ID || e.Kind != summary.Kind || e.KeepFrom != keepFrom) {
				err = se.Conflict(first)
			}
			return err
		}
		if err := se.Compact(t.now, keepFrom); err != nil {
			return err
		}
		if err := t.append(l, se, first, summary); err != nil {
			return err
		}
		return t.save(l.id, se)
	})
}
