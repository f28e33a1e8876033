package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"clawbot/store"
	rules "clawbot/store/internal/session"
)

type archive Store

func (a *archive) Sessions(ctx context.Context, prefix, after string, limit int) ([]store.SessionInfo, string, error) {
	from, err := rules.ParseCursor(after)
	if err == nil && limit <= 0 {
		_, _, err = rules.Page(nil, limit)
	}
	var found []store.SessionInfo
	if err == nil {
		found, err = (*Store)(a).sessions(ctx, prefix, from, limit+1)
	}
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	return rules.Page(found, limit)
}

func (s *Store) sessions(ctx context.Context, prefix string, from rules.Cursor, limit int) ([]store.SessionInfo, error) {
	upTo := "+inf"
	if from.ID != "" {
		upTo = strconv.FormatInt(from.Active/1000, 10)
	}
	// One more, for the one that the cursor names.
	flat, err := s.sweep(ctx, s.scripts.sessions, s.keys.all("act"), prefix, upTo, limit+1)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(scored(flat), func(e score) bool { return !from.Before(e.at*1000, e.id) })
	slices.SortFunc(list, func(x, y score) int { return cmp.Or(cmp.Compare(y.at, x.at), cmp.Compare(x.id, y.id)) })
	var out []store.SessionInfo
	for _, e := range list {
		if len(out) == limit {
			break
		}
		info, err := s.info(ctx, e)
		if err != nil {
			return nil, err
		}
		if info != nil {
			out = append(out, *info)
		}
	}
	return out, nil
}

// info describes a session, nil if it has just been purged.
func (s *Store) info(ctx context.Context, e score) (*store.SessionInfo, error) {
	reply, err := s.call(ctx, s.scripts.info, s.keys.session(e.id))
	if err != nil {
		return nil, err
	}
	a := list(reply)
	if len(a) != 4 {
		return nil, nil
	}
	return &store.SessionInfo{
		Session: e.id, Tail: number(a[0]), Generation: number(a[1]), Owner: text(a[2]), Waiting: int(number(a[3])),
		LastActive: time.UnixMicro(e.at),
	}, nil
}

func (a *archive) Read(ctx context.Context, id string, from int64, limit int) ([]store.Entry, error) {
	s := (*Store)(a)
	var out []store.Entry
	err := s.usable(ctx)
	if err == nil && store.CheckSession(id) != nil {
		err = store.ErrNotFound
	}
	if err == nil {
		out, err = s.read(ctx, id, max(from, 0), limit)
	}
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	return out, nil
}

func (s *Store) read(ctx context.Context, id string, from int64, limit int) (out []store.Entry, err error) {
	for {
		at := from + int64(len(out))
		reply, err := s.call(ctx, s.scripts.read, s.keys.session(id), at, limit-len(out), pageBytes)
		if err != nil {
			return nil, err
		}
		page, err := entries(at, reply)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if len(page) == 0 || len(out) >= limit {
			return out, nil
		}
	}
}

func (a *archive) Dead(ctx context.Context, limit int) ([]store.DeadLetter, error) {
	s := (*Store)(a)
	if err := s.usable(ctx); err != nil || limit <= 0 {
		return nil, err
	}
	items, err := s.sweep(ctx, s.scripts.dead, s.keys.all("dead"), limit)
	var all []store.DeadLetter
	for _, item := range items {
		if err != nil {
			break
		}
		var d store.DeadLetter
		d, err = deadLetter(text(item))
		all = append(all, d)
	}
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	slices.SortStableFunc(all, func(x, y store.DeadLetter) int { return y.Buried.Compare(x.Buried) })
	return all[:min(len(all), limit)], nil
}

// deadLetter decodes what scripts/bury.lua writes.
func deadLetter(item string) (store.DeadLetter, error) {
	line, rest, _ := strings.Cut(item, "\n")
	h := &head{rest: line}
	if v := h.int(); h.err == nil && v != formatVersion {
		h.err = newerError(v)
	}
	d := store.DeadLetter{Buried: time.UnixMicro(h.int())}
	session, reason := h.word(), h.word()
	if h.err != nil {
		return d, h.err
	}
	q, err := queued(session, store.Messages, rest)
	d.Queued, d.Reason = q, reason
	return d, err
}

func (a *archive) Purge(ctx context.Context, l store.Lease) error {
	s := (*Store)(a)
	id := l.Session()
	keys := append(s.keys.session(id), s.keys.dead(id))
	if _, err := s.call(ctx, s.scripts.purge, keys, id, l.Start().Token); err != nil {
		return fmt.Errorf("purge session %s: %w", id, err)
	}
	return nil
}
