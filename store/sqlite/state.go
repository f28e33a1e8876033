package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"clawbot/store"
)

// State implements store.Store. Put and Delete wait for the disk.
func (s *Store) State() store.State { return (*state)(s) }

type state Store

const selectValue = "SELECT key, data, version, before FROM state "

func value(r row) store.Value {
	return store.Value{Key: r.text(0), Data: r.blob(1), Version: r.int(2)}
}

func (st *state) Get(ctx context.Context, key string) (v store.Value, err error) {
	err = (*Store)(st).read(ctx, func(c *conn) error {
		found, err := c.one(selectValue+"WHERE key = ?", args(key), func(r row) error {
			v = value(r)
			return nil
		})
		if !found && err == nil {
			err = store.ErrNotFound
		}
		return err
	})
	if err != nil {
		return store.Value{}, fmt.Errorf("get state %s: %w", key, err)
	}
	return v, nil
}

func (st *state) Put(ctx context.Context, key string, data []byte, version int64) (int64, error) {
	err := store.CheckKey(key)
	var v int64
	if err == nil {
		v, err = write(ctx, (*Store)(st), true, func(t *tx) (int64, error) { return t.putState(key, data, version) })
	}
	if err != nil {
		return 0, fmt.Errorf("put state %s at version %d: %w", key, version, err)
	}
	return v, nil
}

func (t *tx) putState(key string, data []byte, version int64) (int64, error) {
	var has store.Value
	var before int64
	found, err := t.one(selectValue+"WHERE key = ?", args(key), func(r row) error {
		has, before = value(r), r.int(3)
		return nil
	})
	switch {
	case err != nil:
		return 0, err
	case found && before == version && bytes.Equal(has.Data, data):
		return has.Version, nil
	case has.Version != version:
		return 0, store.ErrConflict
	}
	t.wrote += len(data)
	return t.insert("INSERT OR REPLACE INTO state (key, data, before) VALUES (?, ?, ?)", key, data, version)
}

func (st *state) Delete(ctx context.Context, key string) error {
	err := (*Store)(st).do(ctx, true, func(t *tx) error {
		return t.exec("DELETE FROM state WHERE key = ?", key)
	})
	if err != nil {
		return fmt.Errorf("delete state %s: %w", key, err)
	}
	return nil
}

func (st *state) List(ctx context.Context, prefix string) (list []store.Value, err error) {
	err = (*Store)(st).read(ctx, func(c *conn) error {
		return c.query(selectValue+"WHERE key >= ? AND key < ? ORDER BY key", args(prefix, prefix+afterAll), func(r row) error {
			list = append(list, value(r))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list state %s: %w", prefix, err)
	}
	return list, nil
}

func (st *state) Range(ctx context.Context, from, before string, limit int) (list []store.Value, err error) {
	err = (*Store)(st).read(ctx, func(c *conn) error {
		return c.query(selectValue+"WHERE key >= ? AND key < ? ORDER BY key LIMIT ?", args(from, before, int64(max(limit, 1))), func(r row) error {
			list = append(list, value(r))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list state from %s: %w", from, err)
	}
	return list, nil
}

// afterAll sorts behind every character of a key or session id, so that
// [p, p+afterAll) is all that begins with p.
const afterAll = "\x7f"
