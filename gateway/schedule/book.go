package schedule

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"clawbot/store"
)

// Limits bound what is kept; 0 is no limit.
type Limits struct {
	PerUser         int // schedules of one person on one channel
	PerConversation int // schedules in one conversation
}

// LimitError says that there are as many schedules as there may be.
type LimitError struct {
	Limit int
	Whose string // "this person" or "this conversation"
	Key   string // of the configuration
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s has %d schedules already, which is the most (%s): cancel one first", e.Whose, e.Limit, e.Key)
}

// Book is where schedules are kept. It is safe for concurrent use, in several
// processes at once.
type Book struct {
	State  store.State
	Limits Limits
}

// Add keeps an item and returns it with its id. It fails with a *LimitError.
func (b Book) Add(ctx context.Context, it Item) (Item, error) {
	if most := b.Limits.PerConversation; most > 0 {
		there, err := b.OfConversation(ctx, it.Target.Conversation)
		if err != nil {
			return it, err
		}
		if len(there) >= most {
			return it, &LimitError{most, "this conversation", "schedules.per_conversation"}
		}
	}
	user := userKey(it.Channel, it.Sender.ID)
	have, err := b.items(ctx, user)
	if err != nil {
		return it, err
	}
	for it.ID == "" || slices.ContainsFunc(have, func(h Item) bool { return h.ID == it.ID }) {
		it.ID = newID()
	}
	if most := b.Limits.PerUser; most > 0 && len(have) >= most {
		return it, &LimitError{most, "this person", "schedules.per_user"}
	}
	if err := b.index(ctx, user, &it); err != nil {
		return it, err
	}
	full := false
	err = b.change(ctx, user, func(items []Item) ([]Item, bool) {
		items = slices.DeleteFunc(items, func(h Item) bool { return h.ID == it.ID }) // an earlier attempt's
		full = b.Limits.PerUser > 0 && len(items) >= b.Limits.PerUser
		return append(items, it), !full
	})
	switch {
	case err != nil:
		return it, err
	case full:
		return it, errors.Join(b.unindex(ctx, user, &it), &LimitError{b.Limits.PerUser, "this person", "schedules.per_user"})
	}
	return it, nil
}

// index writes the two keys that refer to an item.
func (b Book) index(ctx context.Context, user string, it *Item) error {
	if err := b.refer(ctx, dueKey(user, it.ID, it.Next), user, it); err != nil {
		return err
	}
	return b.refer(ctx, roomKey(it.Target.Conversation, user, it.ID), user, it)
}

func (b Book) unindex(ctx context.Context, user string, it *Item) error {
	return errors.Join(b.State.Delete(ctx, dueKey(user, it.ID, it.Next)),
		b.State.Delete(ctx, roomKey(it.Target.Conversation, user, it.ID)))
}

// refer writes a reference to an item; one that is there says the same.
func (b Book) refer(ctx context.Context, key, user string, it *Item) error {
	data, err := json.Marshal(ref{User: user, ID: it.ID, Session: it.Target.Conversation})
	if err != nil {
		return err
	}
	if _, err = b.State.Put(ctx, key, data, 0); err != nil && !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("write a schedule's index: %w", err)
	}
	return nil
}

// OfUser lists the schedules of a person on a channel, the next one first.
func (b Book) OfUser(ctx context.Context, channel, user string) ([]Item, error) {
	return b.items(ctx, userKey(channel, user))
}

// OfConversation lists the schedules of everybody in a conversation, the next
// one first.
func (b Book) OfConversation(ctx context.Context, session string) ([]Item, error) {
	list, err := b.State.List(ctx, roomPrefix+session+"/")
	if err != nil {
		return nil, fmt.Errorf("list the schedules of %s: %w", session, err)
	}
	items := make([]Item, 0, len(list))
	of := map[string][]Item{}
	for _, v := range list {
		var r ref
		if json.Unmarshal(v.Data, &r) != nil {
			continue
		}
		theirs, known := of[r.User]
		if !known {
			if theirs, err = b.items(ctx, r.User); err != nil {
				return nil, err
			}
			of[r.User] = theirs
		}
		for i := range theirs {
			if theirs[i].ID == r.ID && theirs[i].Target.Conversation == session {
				items = append(items, theirs[i])
			}
		}
	}
	sortItems(items)
	return items, nil
}

// All lists the schedules of everybody, person by person, at least limit of
// them while there are more; an empty next ends the list.
func (b Book) All(ctx context.Context, after string, limit int) (items []Item, next string, err error) {
	from := cmp.Or(after, userPrefix)
	for len(items) < limit {
		list, err := b.State.Range(ctx, from, userEnd, 50)
		if err != nil {
			return nil, "", fmt.Errorf("list the schedules: %w", err)
		}
		for _, v := range list {
			items = append(items, decode(v.Data)...)
			from = v.Key + "-" // sorts right behind it, before any longer key
		}
		if len(list) < 50 {
			return items, "", nil
		}
	}
	return items, from, nil
}

// Remove cancels a schedule of a person. It reports whether there was one.
func (b Book) Remove(ctx context.Context, channel, user, id string) (gone Item, ok bool, err error) {
	key := userKey(channel, user)
	err = b.change(ctx, key, func(items []Item) ([]Item, bool) {
		i := slices.IndexFunc(items, func(it Item) bool { return it.ID == id })
		if ok = i >= 0; ok {
			gone = items[i]
			items = slices.Delete(items, i, i+1)
		}
		return items, ok
	})
	if err != nil || !ok {
		return gone, false, err
	}
	return gone, true, b.unindex(ctx, key, &gone)
}

// DeleteUser removes all schedules of a person on a channel, and what says that
// there were any. It returns how many there were.
func (b Book) DeleteUser(ctx context.Context, channel, user string) (int, error) {
	key := userKey(channel, user)
	var gone []Item
	err := b.change(ctx, key, func(items []Item) ([]Item, bool) {
		gone = items
		return nil, len(items) > 0
	})
	if err != nil {
		return 0, err
	}
	for i := range gone {
		if err := b.unindex(ctx, key, &gone[i]); err != nil {
			return i, err
		}
	}
	return len(gone), b.State.Delete(ctx, key)
}

// DeleteConversation removes all schedules of a conversation and returns how
// many there were.
func (b Book) DeleteConversation(ctx context.Context, session string) (int, error) {
	items, err := b.OfConversation(ctx, session)
	if err != nil {
		return 0, err
	}
	for i := range items {
		if _, _, err := b.Remove(ctx, items[i].Channel, items[i].Sender.ID, items[i].ID); err != nil {
			return i, err
		}
	}
	return len(items), nil
}

// page is what is kept of one person.
type page struct {
	Items []Item `json:"items"`
}

func decode(data []byte) []Item {
	var p page
	if json.Unmarshal(data, &p) != nil {
		return nil // damaged: nothing of it can be run
	}
	return p.Items
}

func (b Book) items(ctx context.Context, key string) ([]Item, error) {
	v, err := b.State.Get(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	items := decode(v.Data)
	sortItems(items)
	return items, nil
}

// change replaces what is kept of a person, if fn wants it so. fn may be called
// more than once.
func (b Book) change(ctx context.Context, key string, fn func(items []Item) (changed []Item, do bool)) error {
	for {
		v, err := b.State.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read schedules: %w", err)
		}
		items, do := fn(decode(v.Data))
		if !do {
			return nil
		}
		data, err := json.Marshal(page{items})
		if err != nil {
			return err
		}
		if _, err = b.State.Put(ctx, key, data, v.Version); err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return fmt.Errorf("write schedules: %w", err)
		}
	}
}

func sortItems(items []Item) {
	slices.SortFunc(items, func(a, b Item) int { return cmp.Or(a.Next.Compare(b.Next), cmp.Compare(a.ID, b.ID)) })
}

// idLetters have no two that look alike, and no vowels to make words of.
const idLetters = "bcdfghjkmnpqrstvwxz23456789"

func newID() string {
	var raw [6]byte
	_, _ = rand.Read(raw[:]) // it never fails
	for i := range raw {
		raw[i] = idLetters[int(raw[i])%len(idLetters)]
	}
	return string(raw[:])
}
