package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"clawbot/store"
)

type state Store

// lateDelete is how long a deletion that was made is known, so that an attempt
// of it that comes late does nothing.
const lateDelete = 10 * time.Minute

// value decodes what scripts/putstate.lua writes.
func value(key, item string) (store.Value, error) {
	line, data, ok := strings.Cut(item, "\n")
	version, _, _ := strings.Cut(line, " ")
	n, err := strconv.ParseInt(version, 10, 64)
	if !ok || err != nil {
		return store.Value{}, fmt.Errorf("the value of %s is damaged", key)
	}
	return store.Value{Key: key, Data: []byte(data), Version: n}, nil
}

func (st *state) Get(ctx context.Context, key string) (v store.Value, err error) {
	s := (*Store)(st)
	var item []any
	err = s.retry(ctx, func() (err error) {
		item, err = s.client.HMGet(ctx, s.keys.state()[0], key).Result()
		return err
	})
	switch {
	case err != nil:
	case len(item) == 0 || item[0] == nil:
		err = store.ErrNotFound
	default:
		v, err = value(key, text(item[0]))
	}
	if err != nil {
		return store.Value{}, fmt.Errorf("get state %s: %w", key, err)
	}
	return v, nil
}

func (st *state) Put(ctx context.Context, key string, data []byte, version int64) (int64, error) {
	s := (*Store)(st)
	err := store.CheckKey(key)
	var reply any
	if err == nil {
		reply, err = s.call(ctx, s.scripts.putState, s.keys.state(), key, data, version)
	}
	if err != nil {
		return 0, fmt.Errorf("put state %s at version %d: %w", key, version, err)
	}
	return number(reply), nil
}

func (st *state) Delete(ctx context.Context, key string) error {
	s := (*Store)(st)
	keys := s.keys.state()
	keys[2] = s.keys.deletion(nonce())
	if _, err := s.call(ctx, s.scripts.deleteState, keys, key, lateDelete.Milliseconds()); err != nil {
		return fmt.Errorf("delete state %s: %w", key, err)
	}
	return nil
}

// afterAll sorts behind every character of a key.
const afterAll = "\x7f"

// statePage is how many values are read at a time: a script holds Redis up.
const statePage = 200

func (st *state) List(ctx context.Context, prefix string) ([]store.Value, error) {
	all, err := st.pages(ctx, prefix, prefix+afterAll, -1)
	if err != nil {
		return nil, fmt.Errorf("list state %s: %w", prefix, err)
	}
	return all, nil
}

func (st *state) Range(ctx context.Context, from, before string, limit int) ([]store.Value, error) {
	all, err := st.pages(ctx, from, before, max(limit, 1))
	if err != nil {
		return nil, fmt.Errorf("list state from %s: %w", from, err)
	}
	return all, nil
}

// pages reads what stands between two keys, all of it if limit is negative.
func (st *state) pages(ctx context.Context, from, before string, limit int) (all []store.Value, err error) {
	s := (*Store)(st)
	low := "[" + from
	if from == "" {
		low = "-"
	}
	for limit != 0 {
		n := statePage
		if limit > 0 {
			n = min(limit, statePage)
		}
		reply, err := s.call(ctx, s.scripts.listState, s.keys.state(), low, "("+before, n)
		if err != nil {
			return nil, err
		}
		page := list(reply)
		for i := 0; i+1 < len(page); i += 2 {
			v, err := value(text(page[i]), text(page[i+1]))
			if err != nil {
				return nil, err
			}
			all = append(all, v)
			low = "(" + v.Key
		}
		if len(page) < 2*n {
			return all, nil
		}
		if limit > 0 {
			limit -= n
		}
	}
	return all, nil
}
