package redis

import (
	"context"
	"errors"
	"fmt"

	"clawbot/store"
)

// pageBytes bounds what one answer carries beyond its first entry.
const pageBytes = 4 << 20

func (l *lease) Load(ctx context.Context, from int64) (store.Transcript, error) {
	out, err := l.load(ctx, from)
	if err != nil {
		return store.Transcript{}, l.wrap("load", err)
	}
	return out, nil
}

// load reads in pages: the holder alone writes, so they fit together.
func (l *lease) load(ctx context.Context, from int64) (out store.Transcript, err error) {
	for page := false; ; page = true {
		reply, err := l.call(ctx, l.store.scripts.load, l.start.Token, from, page, pageBytes)
		if err != nil {
			return out, err
		}
		a := list(reply)
		if len(a) != 6 {
			return out, fmt.Errorf("unexpected answer %.80q", reply)
		}
		if !page {
			out.Tail, out.Generation = number(a[0]), number(a[1])
			if summary := text(a[3]); summary != "" {
				e, err := entry(number(a[2]), summary)
				if err != nil {
					return out, err
				}
				out.Entries = append(out.Entries, e)
			}
		}
		first := number(a[4])
		got, err := entries(first, a[5])
		if err != nil {
			return out, err
		}
		for _, e := range got {
			if e.Kind != store.KindSummary && e.Position < out.Tail {
				out.Entries = append(out.Entries, e)
			}
		}
		if from = first + int64(len(got)); len(got) == 0 || from >= out.Tail {
			return out, nil
		}
	}
}

func (l *lease) Drain(ctx context.Context, first int64, max int, before int64) ([]store.Entry, error) {
	reply, err := l.call(ctx, l.store.scripts.drain, l.id, l.start.Token, first, max, before,
		fmt.Sprintf("%d/%d/%d", first, max, before))
	var out []store.Entry
	if err == nil {
		out, err = entries(first, reply)
	}
	if err != nil {
		return nil, l.wrap("drain", err)
	}
	return out, nil
}

func (l *lease) Append(ctx context.Context, first int64, entries []store.Entry) error {
	err := l.valid(ctx, store.CheckEntries(entries))
	if err == nil {
		args := make([]any, 0, 3+2*len(entries))
		args = append(args, l.id, l.start.Token, first)
		for i := range entries {
			e := entries[i]
			e.KeepFrom = 0
			args = append(args, when(e.At), encode(&e, l.start.Token))
		}
		_, err = l.call(ctx, l.store.scripts.append, args...)
	}
	return l.wrap("append", err)
}

func (l *lease) Compact(ctx context.Context, first int64, summary store.Entry, keepFrom int64) error {
	err := l.valid(ctx, store.CheckSummary(summary))
	if err == nil {
		summary.KeepFrom = keepFrom
		_, err = l.call(ctx, l.store.scripts.compact, l.id, l.start.Token, first, keepFrom, when(summary.At), encode(&summary, l.start.Token))
	}
	return l.wrap("compact", err)
}

// valid passes a malformed argument's error on, unless the lease is lost, which
// matters more.
func (l *lease) valid(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, perr := l.call(ctx, l.store.scripts.peek, l.id, l.start.Token, 0); errors.Is(perr, store.ErrFenced) || errors.Is(perr, store.ErrClosed) {
		return perr
	}
	return err
}
