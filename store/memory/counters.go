package memory

import (
	"context"
	"fmt"

	"clawbot/store"
)

type counters struct {
	sums     map[string]*sum
	reserved map[string]*reservation
}

// sum is a key's present window.
type sum struct {
	value int64
	ends  int64 // 0: never
}

// reservation remembers to which windows an amount was added.
type reservation struct {
	amount int64
	sums   []*sum
	ends   int64 // when it need not be known any more
}

func (c *counters) sum(key string, t int64) *sum {
	s := c.sums[key]
	if s != nil && s.ends != 0 && s.ends <= t {
		delete(c.sums, key)
		return nil
	}
	return s
}

func (c *counters) reservation(id string, t int64) *reservation {
	r := c.reserved[id]
	if r != nil && r.ends <= t {
		delete(c.reserved, id)
		return nil
	}
	return r
}

// sweep forgets what has passed, a few at a time.
func (c *counters) sweep(t int64) {
	n := 0
	for id := range c.reserved {
		c.reservation(id, t)
		if n++; n == 4 {
			break
		}
	}
	n = 0
	for key := range c.sums {
		c.sum(key, t)
		if n++; n == 4 {
			break
		}
	}
}

type counterStore Store

func (s *counterStore) Reserve(ctx context.Context, id string, amount int64, keys []store.CounterKey) error {
	if err := store.CheckReserve(id, amount, keys); err != nil {
		return fmt.Errorf("reserve: %w", err)
	}
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return fmt.Errorf("reserve: %w", err)
	}
	defer st.mu.Unlock()
	c, t := &s.counters, now()
	if c.reservation(id, t) != nil {
		return nil
	}
	for _, k := range keys {
		has := int64(0)
		if sum := c.sum(k.Key, t); sum != nil {
			has = sum.value
		}
		if k.Limit > 0 && has+amount > k.Limit {
			return fmt.Errorf("reserve %d on %s, which has %d of %d: %w", amount, k.Key, has, k.Limit, store.ErrLimit)
		}
	}
	c.sweep(t)
	c.reserve(t, id, amount, keys)
	return nil
}

func (c *counters) reserve(t int64, id string, amount int64, keys []store.CounterKey) {
	r := &reservation{amount: amount}
	for _, k := range keys {
		at := c.sum(k.Key, t)
		if at == nil {
			at = &sum{}
			if k.Window > 0 {
				at.ends = t + int64(k.Window)
			}
			c.sums[k.Key] = at
		}
		at.value += amount
		r.sums = append(r.sums, at)
		ends := at.ends
		if ends == 0 {
			ends = t + int64(remember)
		}
		r.ends = max(r.ends, ends)
	}
	c.reserved[id] = r
}

func (s *counterStore) Settle(ctx context.Context, id string, used int64) error {
	if used < 0 {
		return fmt.Errorf("settle %s: %w: used %d", id, store.ErrInvalid, used)
	}
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return fmt.Errorf("settle %s: %w", id, err)
	}
	defer st.mu.Unlock()
	r := s.counters.reservation(id, now())
	if r == nil {
		return nil
	}
	for _, at := range r.sums {
		at.value += used - r.amount // of no effect on a window that has passed
	}
	r.amount = used
	return nil
}

func (s *counterStore) Sum(ctx context.Context, key string) (int64, error) {
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return 0, fmt.Errorf("sum %s: %w", key, err)
	}
	defer st.mu.Unlock()
	if at := s.counters.sum(key, now()); at != nil {
		return at.value, nil
	}
	return 0, nil
}
