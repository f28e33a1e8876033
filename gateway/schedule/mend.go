package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"clawbot/store"
)

// Mend reads everything and puts right what a clock or a crash left: a
// schedule that was moved far ahead because the clock was wrong for a while
// comes when it should, and what refers to nothing is looked for no more. It is
// for the start, and for when a clock was put back; it returns how many it
// changed.
func (b Book) Mend(ctx context.Context, now time.Time) (changed int, err error) {
	known := map[string]bool{}
	err = b.each(ctx, "schedule/", "schedule0", func(v store.Value) error {
		known[v.Key] = true
		return nil
	})
	if err != nil {
		return 0, err
	}
	err = b.each(ctx, userPrefix, userEnd, func(v store.Value) error {
		for _, it := range decode(v.Data) {
			done, err := b.mend(ctx, v.Key, it, now, known)
			if err != nil {
				return err
			}
			if done {
				changed++
			}
		}
		return nil
	})
	return changed, err
}

// each calls fn for what lies between two keys.
func (b Book) each(ctx context.Context, from, before string, fn func(store.Value) error) error {
	const page = 200
	for {
		list, err := b.State.Range(ctx, from, before, page)
		if err != nil {
			return fmt.Errorf("read all schedules: %w", err)
		}
		for _, v := range list {
			if err := fn(v); err != nil {
				return err
			}
			from = v.Key + "-"
		}
		if len(list) < page {
			return nil
		}
	}
}

func (b Book) mend(ctx context.Context, user string, it Item, now time.Time, known map[string]bool) (done bool, err error) {
	was := it.Next
	if it.Ran.After(now.Add(ahead)) {
		if at := it.after(it.Last, now); !at.IsZero() && at.Before(was) {
			it.Next = at
		}
	}
	for _, key := range []string{dueKey(user, it.ID, it.Next), roomKey(it.Target.Conversation, user, it.ID)} {
		if !known[key] {
			done = true
			if err := b.refer(ctx, key, user, &it); err != nil {
				return done, err
			}
		}
	}
	if it.Next.Equal(was) {
		return done, nil
	}
	err = b.change(ctx, user, func(items []Item) ([]Item, bool) {
		i := slices.IndexFunc(items, func(is Item) bool { return is.ID == it.ID && is.Next.Equal(was) })
		if i < 0 {
			return nil, false
		}
		items[i].Next, items[i].Ran = it.Next, now.UTC()
		return items, true
	})
	if err != nil {
		return true, err
	}
	return true, b.State.Delete(ctx, dueKey(user, it.ID, was))
}
