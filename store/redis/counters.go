package redis

import (
	"context"
	"fmt"
	"strings"

	"clawbot/store"
)

// Counters share one slot, so that a reservation of several is one step.
type counters Store

// maxAmount is what Redis's scripts count exactly.
const maxAmount = 1 << 53

func (cs *counters) Reserve(ctx context.Context, id string, amount int64, keys []store.CounterKey) error {
	err := store.CheckReserve(id, amount, keys)
	if err == nil && amount > maxAmount {
		err = fmt.Errorf("%w: a reservation of %d, at most %d", store.ErrInvalid, amount, int64(maxAmount))
	}
	if err == nil {
		err = (*Store)(cs).reserve(ctx, id, amount, keys)
	}
	if err != nil {
		return fmt.Errorf("reserve %s: %w", id, err)
	}
	return nil
}

func (s *Store) reserve(ctx context.Context, id string, amount int64, counters []store.CounterKey) error {
	keys := []string{s.keys.reservation(id), s.keys.windows()}
	args := []any{amount, micros(remember)}
	for _, c := range counters {
		keys = append(keys, s.keys.counter(c.Key))
		args = append(args, c.Key, c.Limit, micros(c.Window))
	}
	reply, err := s.call(ctx, s.scripts.reserve, keys, args...)
	if err != nil {
		return err
	}
	if words := strings.Fields(text(reply)); len(words) == 4 && words[0] == "LIMIT" {
		return fmt.Errorf("%d on %s, which has %s of %s: %w", amount, words[1], words[2], words[3], store.ErrLimit)
	}
	return nil
}

func (cs *counters) Settle(ctx context.Context, id string, used int64) error {
	s := (*Store)(cs)
	var err error
	if used < 0 || used > maxAmount {
		err = fmt.Errorf("%w: used %d", store.ErrInvalid, used)
	} else {
		_, err = s.call(ctx, s.scripts.settle, []string{s.keys.reservation(id)}, used)
	}
	if err != nil {
		return fmt.Errorf("settle %s: %w", id, err)
	}
	return nil
}

func (cs *counters) Sum(ctx context.Context, key string) (int64, error) {
	s := (*Store)(cs)
	reply, err := s.call(ctx, s.scripts.sum, []string{s.keys.counter(key)})
	if err != nil {
		return 0, fmt.Errorf("sum %s: %w", key, err)
	}
	return number(reply), nil
}
