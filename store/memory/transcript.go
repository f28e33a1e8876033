package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"clawbot/store"
)

func (l *lease) Load(ctx context.Context, from int64) (out store.Transcript, err error) {
	err = l.do(ctx, "load", func(r *room, _ int64) error {
		start, withSummary, err := r.Live(from)
		if err != nil {
			return err
		}
		out = store.Transcript{Tail: r.Tail, Generation: r.Generation}
		if withSummary {
			out.Entries = append(out.Entries, r.log[r.SummaryAt].Entry)
		}
		if start >= r.Tail {
			return nil
		}
		out.Entries = slices.Grow(out.Entries, int(r.Tail-start))
		for _, rec := range r.log[start:] {
			if rec.Kind != store.KindSummary {
				out.Entries = append(out.Entries, rec.Entry)
			}
		}
		return nil
	})
	return out, err
}

func (l *lease) Drain(ctx context.Context, first int64, max int, before int64) (out []store.Entry, err error) {
	d := drain{first: first, max: max, before: before, is: true}
	err = l.do(ctx, "drain", func(r *room, t int64) error {
		taken, err := r.Place(first, 0)
		if err != nil {
			return err
		}
		if taken {
			for at := first; at < r.Tail && r.log[at].drain == d; at++ {
				out = append(out, r.log[at].Entry)
			}
			if out == nil {
				return r.Conflict(first)
			}
			return nil
		}
		if err := r.NoneOpen(); err != nil {
			return err
		}
		out = r.drain(t, l.start.Token, d)
		return nil
	})
	return out, err
}

// drain moves messages to the transcript.
func (r *room) drain(t int64, token string, d drain) []store.Entry {
	var out []store.Entry
	notQuiet := 0
	for _, q := range r.messages {
		if d.max > 0 && len(out) == d.max || d.before > 0 && q.Position >= d.before {
			break
		}
		if !q.Quiet {
			notQuiet++
		}
		e := store.Entry{
			Position: d.first + int64(len(out)), Kind: store.KindUser, ID: q.ID,
			Token: token, At: q.At, Data: q.Data, Inbox: q.Position,
		}
		out = append(out, e)
		r.log = append(r.log, record{Entry: e, drain: d})
	}
	if len(out) > 0 {
		r.messages = slices.Delete(r.messages, 0, len(out))
		r.Drained(t, len(out), notQuiet)
	}
	return out
}

func (l *lease) Append(ctx context.Context, first int64, entries []store.Entry) error {
	return l.do(ctx, "append", func(r *room, t int64) error {
		if err := store.CheckEntries(entries); err != nil {
			return err
		}
		taken, err := r.Place(first, len(entries))
		if err != nil {
			return err
		}
		if taken {
			return r.same(first, entries)
		}
		if err := r.Session.Append(t, entries); err != nil {
			return err
		}
		for i, e := range entries {
			r.write(t, l.start.Token, first+int64(i), e)
		}
		return nil
	})
}

// same reports a conflict unless entries are what stands from first on.
func (r *room) same(first int64, entries []store.Entry) error {
	for i := range entries {
		if r.log[first+int64(i)].ID != entries[i].ID {
			return r.Conflict(first)
		}
	}
	return nil
}

// write copies e to the end of the log.
func (r *room) write(t int64, token string, position int64, e store.Entry) {
	e.Position, e.Token, e.Inbox = position, token, -1
	if e.At.IsZero() {
		e.At = time.Unix(0, t)
	}
	e.Opens = slices.Clone(e.Opens)
	e.Data = bytes.Clone(e.Data)
	r.log = append(r.log, record{Entry: e})
}

func (l *lease) Compact(ctx context.Context, first int64, summary store.Entry, keepFrom int64) error {
	return l.do(ctx, "compact", func(r *room, t int64) error {
		summary.KeepFrom = keepFrom
		if err := store.CheckSummary(summary); err != nil {
			return err
		}
		taken, err := r.Place(first, 1)
		if err != nil {
			return err
		}
		if taken {
			if at := r.log[first]; at.ID != summary.ID || at.Kind != summary.Kind || at.KeepFrom != keepFrom {
				return r.Conflict(first)
			}
			return nil
		}
		if err := r.Session.Compact(t, keepFrom); err != nil {
			return err
		}
		r.write(t, l.start.Token, first, summary)
		return nil
	})
}
