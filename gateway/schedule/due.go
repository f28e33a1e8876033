package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// unfinished is how long a reference to nothing may be one of an item that
	// is just being added, or moved by a process whose clock is ahead.
	unfinished = 10 * time.Minute
	// ahead is how far the clocks of two processes may differ.
	ahead = 2 * time.Minute
)

// Due is an occurrence whose time has come.
type Due struct {
	Item
	key  string
	user string
}

// EventID names the occurrence: the same on every replica, and no other's.
func (d *Due) EventID() string {
	return fmt.Sprintf("%s%s@%d", EventPrefix, unique(d.user, d.ID), d.Next.Unix())
}

// EventPrefix begins the ids of all events that are occurrences.
const EventPrefix = "schedule:"

// Due returns up to limit references of what has come by now, those after a
// cursor, the earliest first; an empty next ends the list. Those of sessions that
// mine refuses are left out.
func (b Book) Due(ctx context.Context, now time.Time, after string, limit int, mine func(session string) bool) (due []Due, next string, err error) {
	if after == "" {
		after = duePrefix
	}
	list, err := b.State.Range(ctx, after, dueBound(now.Add(time.Second)), limit)
	if err != nil {
		return nil, "", fmt.Errorf("list what is due: %w", err)
	}
	for _, v := range list {
		next = v.Key + "-"
		var r ref
		if json.Unmarshal(v.Data, &r) != nil {
			err = errors.Join(err, b.State.Delete(ctx, v.Key))
			continue
		}
		if !mine(r.Session) {
			continue
		}
		d, ok, rerr := b.read(ctx, v.Key, r)
		switch {
		case rerr != nil:
			return due, "", rerr
		case ok:
			due = append(due, d)
		case now.Sub(dueAt(v.Key)) > unfinished:
			err = errors.Join(err, b.State.Delete(ctx, v.Key))
		}
	}
	if len(list) < limit {
		next = ""
	}
	return due, next, err
}

// read finds what a key of the index refers to.
func (b Book) read(ctx context.Context, key string, r ref) (d Due, ok bool, err error) {
	items, err := b.items(ctx, r.User)
	if err != nil {
		return d, false, err
	}
	i := slices.IndexFunc(items, func(it Item) bool { return it.ID == r.ID })
	if i < 0 || dueKey(r.User, r.ID, items[i].Next) != key {
		return d, false, nil
	}
	return Due{Item: items[i], key: key, user: r.User}, true, nil
}

// Earliest returns when the first thing after now comes; the zero time if
// nothing does.
func (b Book) Earliest(ctx context.Context, now time.Time) (time.Time, error) {
	list, err := b.State.Range(ctx, dueBound(now.Add(time.Second)), duePrefix+"a", 1)
	if err != nil {
		return time.Time{}, fmt.Errorf("look for what comes next: %w", err)
	}
	if len(list) == 0 {
		return time.Time{}, nil
	}
	return dueAt(list[0].Key), nil
}

// Advance moves a schedule on from an occurrence that was taken care of: to the
// first one that is still to come, however many were missed, or away if there
// is none. It does nothing if that was done already.
func (b Book) Advance(ctx context.Context, d Due, now time.Time) error {
	next := d.after(d.Next, now)
	if !next.IsZero() {
		if err := b.refer(ctx, dueKey(d.user, d.ID, next), d.user, &d.Item); err != nil {
			return err
		}
	}
	err := b.change(ctx, d.user, func(items []Item) ([]Item, bool) {
		i := slices.IndexFunc(items, func(it Item) bool { return it.ID == d.ID && it.Next.Equal(d.Next) })
		switch {
		case i < 0:
			return nil, false
		case next.IsZero():
			return slices.Delete(items, i, i+1), true
		}
		items[i].Last, items[i].Ran, items[i].Next = d.Next, now.UTC(), next
		return items, true
	})
	if err != nil {
		return err
	}
	if next.IsZero() {
		return b.unindex(ctx, d.user, &d.Item)
	}
	return b.State.Delete(ctx, d.key)
}
