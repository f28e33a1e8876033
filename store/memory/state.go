package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"clawbot/store"
)

type state struct {
	values map[string]stateValue
	last   int64 // the last version given out
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
	delete(s.state.values, key)
	return nil
}

func (s *stateStore) List(ctx context.Context, prefix string) ([]store.Value, error) {
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return nil, fmt.Errorf("list state %s: %w", prefix, err)
	}
	defer st.mu.Unlock()
	var list []store.Value
	for key, v := range s.state.values {
		if strings.HasPrefix(key, prefix) {
			list = append(list, v.Value)
		}
	}
	slices.SortFunc(list, func(a, b store.Value) int { return cmp.Compare(a.Key, b.Key) })
	return list, nil
}
