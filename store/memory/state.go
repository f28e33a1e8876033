package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"clawbot/store"
)

type state struct {
	values map[string]stateValue
	keys   []string // of values, sorted
	last   int64    // the last version given out
}

type stateValue struct {
	store.Value
	before int64 // the version that this one replaced
}

type stateStore Store

func (s *stateStore) Get(ctx context.Context, key string) (store.Value, error) {
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return store.Value{}, fmt.Errorf("get state %s: %w", key, err)
	}
	defer st.mu.Unlock()
	v, ok := s.state.values[key]
	if !ok {
		return store.Value{}, fmt.Errorf("get state %s: %w", key, store.ErrNotFound)
	}
	return v.Value, nil
}

func (s *stateStore) Put(ctx context.Context, key string, data []byte, version int64) (int64, error) {
	if err := store.CheckKey(key); err != nil {
		return 0, fmt.Errorf("put state: %w", err)
	}
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return 0, fmt.Errorf("put state %s: %w", key, err)
	}
	defer st.mu.Unlock()
	v, ok := s.state.values[key]
	if ok && v.before == version && bytes.Equal(v.Data, data) {
		return v.Version, nil
	}
	if v.Version != version {
		return 0, fmt.Errorf("put state %s at version %d: %w", key, version, store.ErrConflict)
	}
	if i, found := slices.BinarySearch(s.state.keys, key); !found {
		s.state.keys = slices.Insert(s.state.keys, i, strings.Clone(key))
	}
	s.state.last++
	s.state.values[key] = stateValue{
		Value:  store.Value{Key: key, Data: append([]byte{}, data...), Version: s.state.last},
		before: version,
	}
	return s.state.last, nil
}

func (s *stateStore) Delete(ctx context.Context, key string) error {
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return fmt.Errorf("delete state %s: %w", key, err)
	}
	defer st.mu.Unlock()
	if i, found := slices.BinarySearch(s.state.keys, key); found {
		s.state.keys = slices.Delete(s.state.keys, i, i+1)
	}
	delete(s.state.values, key)
	return nil
}

func (s *stateStore) List(ctx context.Context, prefix string) ([]store.Value, error) {
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return nil, fmt.Errorf("list state %s: %w", prefix, err)
	}
	defer st.mu.Unlock()
	return s.state.from(prefix, func(key string, _ int) bool { return strings.HasPrefix(key, prefix) }), nil
}

func (s *stateStore) Range(ctx context.Context, from, before string, limit int) ([]store.Value, error) {
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return nil, fmt.Errorf("list state from %s: %w", from, err)
	}
	defer st.mu.Unlock()
	return s.state.from(from, func(key string, n int) bool { return key < before && n < max(limit, 1) }), nil
}

// from returns values from a key on for as long as more, which is told how many
// there are so far, says so.
func (s *state) from(first string, more func(key string, n int) bool) []store.Value {
	var list []store.Value
	i, _ := slices.BinarySearch(s.keys, first)
	for ; i < len(s.keys) && more(s.keys[i], len(list)); i++ {
		list = append(list, s.values[s.keys[i]].Value)
	}
	return list
}
