package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"clawbot/store"
)

// Counters implements store.Store. Reservations do not wait for the disk.
func (s *Store) Counters() store.Counters { return (*counters)(s) }

type counters Store

func (cs *counters) Reserve(ctx context.Context, id string, amount int64, keys []store.CounterKey) error {
	s := (*Store)(cs)
	err := store.CheckReserve(id, amount, keys)
	if err == nil {
		err = s.owner()
	}
	if err == nil {
		err = s.do(ctx, false, func(t *tx) error { return t.reserve(id, amount, keys) })
	}
	if err != nil {
		return fmt.Errorf("reserve %s: %w", id, err)
	}
	return nil
}

// counter is a key's present window.
type counter struct {
	id, sum, ends int64
}

func (t *tx) reserve(id string, amount int64, keys []store.CounterKey) error {
	if _, _, known, err := t.reservation(id); known || err != nil {
		return err
	}
	found := make([]counter, len(keys))
	for i, k := range keys {
		var err error
		if found[i], err = readCounter(t.conn, k.Key, t.now); err != nil {
			return err
		}
		if has := found[i].sum; k.Limit > 0 && has+amount > k.Limit {
			return fmt.Errorf("%d on %s, which has %d of %d: %w", amount, k.Key, has, k.Limit, store.ErrLimit)
		}
	}
	ids, ends := make([]int64, len(keys)), int64(0)
	for i, k := range keys {
		c, err := t.add(k, found[i], amount)
		if err != nil {
			return err
		}
		ids[i] = c.id
		if c.ends == 0 {
			c.ends = t.now + int64(remember)
		}
		ends = max(ends, c.ends)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO reservations (id, amount, counters, ends) VALUES (?, ?, ?, ?)", id, amount, string(list), ends)
}

// readCounter returns the zero counter if the key has no window now.
func readCounter(c *conn, key string, now int64) (out counter, err error) {
	_, err = c.one("SELECT id, sum, ends FROM counters WHERE key = ? AND (ends = 0 OR ends > ?)", args(key, now), func(r row) error {
		out = counter{r.int(0), r.int(1), r.int(2)}
		return nil
	})
	return out, err
}

// add counts amount, in a new window if the key has none. A new window is a new
// row, so that late settlements of an old one find nothing.
func (t *tx) add(k store.CounterKey, c counter, amount int64) (counter, error) {
	if c.id != 0 {
		return c, t.exec("UPDATE counters SET sum = sum + ? WHERE id = ?", amount, c.id)
	}
	if k.Window > 0 {
		c.ends = t.now + int64(k.Window)
	}
	var err error
	c.id, err = t.insert("INSERT OR REPLACE INTO counters (key, sum, ends) VALUES (?, ?, ?)", k.Key, amount, c.ends)
	return c, err
}

// reservation finds a reservation whose windows have not all passed. A few that
// have are forgotten at each call.
func (t *tx) reservation(id string) (amount int64, ids []int64, found bool, err error) {
	err = t.exec("DELETE FROM reservations WHERE id IN (SELECT id FROM reservations WHERE ends <= ? ORDER BY ends LIMIT 4)", t.now)
	if err != nil {
		return 0, nil, false, err
	}
	found, err = t.one("SELECT amount, counters FROM reservations WHERE id = ? AND ends > ?", args(id, t.now), func(r row) error {
		amount = r.int(0)
		return json.Unmarshal([]byte(r.text(1)), &ids)
	})
	return amount, ids, found, err
}

func (cs *counters) Settle(ctx context.Context, id string, used int64) error {
	s := (*Store)(cs)
	err := s.owner()
	if err == nil && used < 0 {
		err = fmt.Errorf("%w: used %d", store.ErrInvalid, used)
	}
	if err == nil {
		err = s.do(ctx, false, func(t *tx) error { return t.settle(id, used) })
	}
	if err != nil {
		return fmt.Errorf("settle %s: %w", id, err)
	}
	return nil
}

func (t *tx) settle(id string, used int64) error {
	amount, ids, found, err := t.reservation(id)
	if !found || err != nil {
		return err
	}
	for _, c := range ids {
		if err := t.exec("UPDATE counters SET sum = sum + ? WHERE id = ?", used-amount, c); err != nil {
			return err
		}
	}
	return t.exec("UPDATE reservations SET amount = ? WHERE id = ?", used, id)
}

func (cs *counters) Sum(ctx context.Context, key string) (sum int64, err error) {
	err = (*Store)(cs).read(ctx, func(c *conn) error {
		found, err := readCounter(c, key, now())
		sum = found.sum
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sum %s: %w", key, err)
	}
	return sum, nil
}
