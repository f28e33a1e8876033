package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"clawbot/store"
	"clawbot/store/internal/session"
)

type archive Store

func (a *archive) Sessions(ctx context.Context, prefix, after string, limit int) ([]store.SessionInfo, string, error) {
	from, err := session.ParseCursor(after)
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	s := (*Store)(a)
	if err := s.enter(ctx); err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	defer s.mu.Unlock()
	t := now()
	var list []store.SessionInfo
	for id, r := range s.sessions {
		if strings.HasPrefix(id, prefix) && from.Before(r.Active, id) {
			list = append(list, r.Info(id, t))
		}
	}
	slices.SortFunc(list, func(x, y store.SessionInfo) int {
		return cmp.Or(y.LastActive.Compare(x.LastActive), cmp.Compare(x.Session, y.Session))
	})
	return session.Page(list, limit)
}

func (a *archive) Session(ctx context.Context, id string) (store.SessionInfo, error) {
	s := (*Store)(a)
	if err := s.enter(ctx); err != nil {
		return store.SessionInfo{}, fmt.Errorf("session %s: %w", id, err)
	}
	defer s.mu.Unlock()
	r := s.sessions[id]
	if r == nil {
		return store.SessionInfo{}, fmt.Errorf("session %s: %w", id, store.ErrNotFound)
	}
	return r.Info(id, now()), nil
}

func (a *archive) Read(ctx context.Context, id string, from int64, limit int) ([]store.Entry, error) {
	s := (*Store)(a)
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	defer s.mu.Unlock()
	r := s.sessions[id]
	if r == nil {
		return nil, fmt.Errorf("read session %s: %w", id, store.ErrNotFound)
	}
	var list []store.Entry
	for at := max(from, 0); at < r.Tail && len(list) < limit; at++ {
		list = append(list, r.log[at].Entry)
	}
	return list, nil
}

func (a *archive) Dead(ctx context.Context, limit int) ([]store.DeadLetter, error) {
	s := (*Store)(a)
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	defer s.mu.Unlock()
	var list []store.DeadLetter
	for _, d := range slices.Backward(s.dead) {
		if len(list) >= limit {
			break
		}
		list = append(list, d)
	}
	return list, nil
}

func (a *archive) Purge(ctx context.Context, l store.Lease) error {
	s := (*Store)(a)
	id := l.Session()
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("purge session %s: %w", id, err)
	}
	defer s.mu.Unlock()
	r := s.sessions[id]
	if r == nil {
		return nil
	}
	if err := r.Fence(l.Start().Token); err != nil {
		return fmt.Errorf("purge session %s: %w", id, err)
	}
	delete(s.sessions, id)
	s.dead = slices.DeleteFunc(s.dead, func(d store.DeadLetter) bool { return d.Session == id })
	return nil
}
