package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

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
	for len(list) > 0 && len(out) < limit {
		n := min(len(list), limit-len(out))
		infos, err := s.infos(ctx, list[:n])
		if err != nil {
			return nil, err
		}
		out, list = append(out, infos...), list[n:]
	}
	return out, nil
}

// infos describes sessions, in one pipeline; those that have just been purged
// are left out.
func (s *Store) infos(ctx context.Context, of []score) (out []store.SessionInfo, err error) {
	pipe := s.client.Pipeline()
	answers := make([]*goredis.Cmd, len(of))
	for i, e := range of {
		answers[i] = pipe.EvalSha(ctx, s.scripts.info.hash, s.keys.session(e.id), e.id)
	}
	_, _ = pipe.Exec(ctx) // what failed is called again
	for i, answer := range answers {
		reply, err := answer.Result()
		if err != nil {
			if reply, err = s.call(ctx, s.scripts.info, s.keys.session(of[i].id), of[i].id); err != nil {
				return nil, err
			}
		}
		if info := infoOf(of[i].id, reply); info != nil {
			info.LastActive = time.UnixMicro(of[i].at) // as the list is ordered
			out = append(out, *info)
		}
	}
	return out, nil
}

// infoOf decodes what scripts/info.lua says, nil where there is no session.
func infoOf(id string, reply any) *store.SessionInfo {
	a := list(reply)
	if len(a) != 5 {
		return nil
	}
	return &store.SessionInfo{
		Session: id, Tail: number(a[0]), Generation: number(a[1]), Owner: text(a[2]), Waiting: int(number(a[3])),
		LastActive: time.UnixMicro(number(a[4])),
	}
}

func (a *archive) Session(ctx context.Context, id string) (store.SessionInfo, error) {
	s := (*Store)(a)
	var reply any
	err := store.CheckSession(id)
	if err != nil {
		err = store.ErrNotFound
	} else {
		reply, err = s.call(ctx, s.scripts.info, s.keys.session(id), id)
	}
	info := infoOf(id, reply)
	if err == nil && info == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.SessionInfo{}, fmt.Errorf("session %s: %w", id, err)
	}
	return *info, nil
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
