package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"clawbot/store"
)

// remember is how long event ids are known.
const remember = 72 * time.Hour

// Accept implements store.Inbox.
func (s *Store) Accept(ctx context.Context, ev store.Event) (store.Accepted, error) {
	err := store.CheckEvent(ev)
	var reply any
	if err == nil {
		quiet := ev.Lane == store.Messages && (ev.Quiet || ev.Op != store.Put)
		keys := append(s.keys.session(ev.Session), s.keys.seen(ev.Session, ev.ID))
		ctx, cancel := context.WithTimeout(ctx, acceptPatience)
		defer cancel()
		reply, err = s.callDurably(ctx, s.scripts.accept, keys,
			ev.Session, int(ev.Lane), int(ev.Op), quiet, word(ev.ID), word(ev.Key), ev.Data, remember.Milliseconds())
	}
	if err != nil {
		return store.Accepted{}, fmt.Errorf("accept: %w", err)
	}
	a := list(reply)
	if len(a) != 5 {
		return store.Accepted{}, fmt.Errorf("accept: unexpected answer %.80q", reply)
	}
	return store.Accepted{
		Duplicate: number(a[0]) == 1, Applied: number(a[1]) == 1, Position: number(a[2]),
		Owner: text(a[3]), Waiting: int(number(a[4])),
	}, nil
}

// micros is a duration for Redis, never less than asked.
func micros(d time.Duration) int64 {
	n := d.Microseconds()
	if time.Duration(n)*time.Microsecond < d {
		n++
	}
	return n
}

// Acquire implements store.Inbox.
func (s *Store) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (store.Lease, error) {
	err := errors.Join(store.CheckSession(id), store.CheckHold(owner, ttl))
	var start store.Start
	keys := s.keys.session(id)
	if err == nil {
		start, err = s.acquire(ctx, id, keys, owner, ttl)
	}
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", id, err)
	}
	return &lease{store: s, id: id, keys: keys, ttl: ttl, start: start}, nil
}

func (s *Store) acquire(ctx context.Context, id string, keys []string, owner string, ttl time.Duration) (store.Start, error) {
	reply, err := s.call(ctx, s.scripts.acquire, keys, id, owner, nonce(), micros(ttl))
	if err != nil {
		return store.Start{}, err
	}
	a := list(reply)
	if held := heldBy(a); held != nil {
		return store.Start{}, held
	}
	if len(a) != 10 {
		return store.Start{}, fmt.Errorf("unexpected answer %.80q", reply)
	}
	st := store.Start{
		Token: text(a[1]), Tail: number(a[2]), Generation: number(a[3]), SummaryAt: number(a[4]),
		Crashed: number(a[5]) == 1, Attempts: int(number(a[6])), Signals: int(number(a[9])),
	}
	if st.Reply, err = replyOf(text(a[7])); err != nil {
		return store.Start{}, err
	}
	st.Intents, err = intents(text(a[8]), st.Token)
	return st, err
}

// heldBy reads the refusal of a lease or term: 0, its owner, microseconds.
func heldBy(a []any) error {
	if len(a) == 3 && number(a[0]) == 0 {
		return &store.HeldError{Owner: text(a[1]), For: time.Duration(number(a[2])) * time.Microsecond}
	}
	return nil
}

// Due implements store.Inbox.
func (s *Store) Due(ctx context.Context, limit int) ([]string, error) {
	flat, err := s.sweep(ctx, s.scripts.due, s.keys.all("due"), strconv.Itoa(max(limit, 0)))
	if err != nil {
		return nil, fmt.Errorf("due: %w", err)
	}
	list := scored(flat)
	slices.SortFunc(list, func(a, b score) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	var ids []string
	for _, e := range list[:min(len(list), max(limit, 0))] {
		ids = append(ids, e.id)
	}
	return ids, nil
}

// score is a member of a sorted set.
type score struct {
	id string
	at int64
}

func scored(flat []any) []score {
	list := make([]score, 0, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		list = append(list, score{text(flat[i]), number(flat[i+1])})
	}
	return list
}
