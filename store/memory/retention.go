package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"clawbot/store"
)

type retention Store

func (r *retention) ForgetDead(ctx context.Context, before time.Time) (int, error) {
	s := (*Store)(r)
	if err := s.enter(ctx); err != nil {
		return 0, fmt.Errorf("forget dead letters: %w", err)
	}
	defer s.mu.Unlock()
	n := len(s.dead)
	s.dead = slices.DeleteFunc(s.dead, func(d store.DeadLetter) bool { return d.Buried.Before(before) })
	return n - len(s.dead), nil
}

func (r *retention) ForgetBlobs(ctx context.Context, before time.Time, keep func(ref string) bool) (int, error) {
	s := (*Store)(r)
	if err := s.enter(ctx); err != nil {
		return 0, fmt.Errorf("forget blobs: %w", err)
	}
	defer s.mu.Unlock()
	n := len(s.blobs)
	maps.DeleteFunc(s.blobs, func(ref string, b blob) bool { return b.put < before.UnixNano() && !keep(ref) })
	return n - len(s.blobs), nil
}
