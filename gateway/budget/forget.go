package budget

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clawbot/store"
)

// forgetTopic tells the processes that share a store whom to forget.
const forgetTopic = "spend/forget"

// ForgetUser takes the name of a person ("platform:id"), and that of the
// conversations, out of what was spent, and returns how many records had it.
// The sums stay, as nobody's. What a process is still collecting is changed by
// that process when it hears of it; where one did, this waits until it has
// written that down, and looks again.
func ForgetUser(ctx context.Context, s store.Store, user string) (int, error) {
	total := 0
	for range 4 { // a lost hint is given again
		if err := s.Bus().Publish(ctx, forgetTopic, []byte(user)); err != nil {
			return total, fmt.Errorf("forget what %s spent: %w", user, err)
		}
		n, err := forgetStored(ctx, s.State(), user)
		total = max(total, n) // rewritten by their process, they are the same again
		if err != nil {
			return total, fmt.Errorf("forget what %s spent: %w", user, err)
		}
		if n == 0 || !pause(ctx, flushAfter+time.Second) {
			break
		}
	}
	return total, context.Cause(ctx)
}

// forgetStored changes what is in the store.
func forgetStored(ctx context.Context, state store.State, user string) (changed int, err error) {
	const end = "spend0" // '0' comes after '/'
	const page = 100
	for from := spendPrefix; ; {
		list, err := state.Range(ctx, from, end, page)
		if err != nil {
			return changed, err
		}
		for _, v := range list {
			n, err := forgetIn(ctx, state, v, user)
			changed += n
			if err != nil {
				return changed, err
			}
		}
		if len(list) < page {
			return changed, nil
		}
		from = list[len(list)-1].Key + "-" // sorts behind it, before any longer key
	}
}

func forgetIn(ctx context.Context, state store.State, v store.Value, user string) (int, error) {
	for {
		rows, err := decodeRows("", v.Data)
		if err != nil {
			return 0, nil // damaged, and told of where it is read
		}
		c := chunk{}
		n := c.replace(rows, user)
		if n == 0 {
			return 0, nil
		}
		data, err := c.encode()
		if err == nil {
			_, err = state.Put(ctx, v.Key, data, v.Version)
		}
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return 0, err
		}
		if v, err = state.Get(ctx, v.Key); err != nil {
			if errors.Is(err, store.ErrNotFound) {
				return 0, nil
			}
			return 0, err
		}
	}
}

// forget takes a person out of what is in memory.
func (l *ledger) forget(user string) {
	l.mu.Lock()
	changed := false
	for _, c := range l.chunks {
		if c.replace(c.rows, user) > 0 {
			c.dirty, changed = true, true
		}
	}
	l.mu.Unlock()
	if changed {
		l.again()
	}
}

// replace fills the chunk with rows, those of user as nobody's, and returns how
// many these were.
func (c *chunk) replace(rows []Row, user string) (n int) {
	kept := make([]Row, 0, len(rows))
	index := make(map[rowKey]int, len(rows))
	for _, r := range rows {
		if r.User == user {
			r.User, r.Session = "", ""
			n++
		}
		if i, ok := index[r.key()]; ok {
			kept[i].add(&r)
			continue
		}
		index[r.key()] = len(kept)
		kept = append(kept, r)
	}
	c.rows, c.index = kept, index
	return n
}
