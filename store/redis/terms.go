package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"clawbot/store"
)

// Elect implements store.Terms.
func (s *Store) Elect(ctx context.Context, name, owner string, ttl time.Duration) (store.Term, error) {
	err := errors.Join(store.CheckKey(name), store.CheckHold(owner, ttl))
	var token string
	keys := s.keys.term(name)
	if err == nil {
		token, err = s.elect(ctx, keys, owner, ttl)
	}
	if err != nil {
		return nil, fmt.Errorf("elect %s: %w", name, err)
	}
	return &term{store: s, name: name, keys: keys, token: token, ttl: ttl}, nil
}

func (s *Store) elect(ctx context.Context, keys []string, owner string, ttl time.Duration) (string, error) {
	reply, err := s.call(ctx, s.scripts.elect, keys[:1], owner, nonce(), micros(ttl))
	if err != nil {
		return "", err
	}
	a := list(reply)
	if held := heldBy(a); held != nil {
		return "", held
	}
	if len(a) != 2 {
		return "", fmt.Errorf("unexpected answer %.80q", reply)
	}
	return text(a[1]), nil
}

type term struct {
	store *Store
	name  string
	keys  []string // the term, its values
	token string
	ttl   time.Duration
}

var _ store.Term = (*term)(nil)

func (t *term) wrap(op string, err error) error {
	if err != nil {
		return fmt.Errorf("%s term %s: %w", op, t.name, err)
	}
	return nil
}

func (t *term) Renew(ctx context.Context) error {
	_, err := t.store.call(ctx, t.store.scripts.renewTerm, t.keys[:1], t.token, micros(t.ttl))
	return t.wrap("renew", err)
}

func (t *term) Resign(ctx context.Context) error {
	_, err := t.store.call(ctx, t.store.scripts.resign, t.keys[:1], t.token)
	return t.wrap("resign", err)
}

func (t *term) Get(ctx context.Context, key string) ([]byte, error) {
	reply, err := t.store.call(ctx, t.store.scripts.getTerm, t.keys, t.token, key)
	if err != nil {
		return nil, t.wrap("get "+key+" of", err)
	}
	_, data, ok := strings.Cut(text(reply), "\n")
	if !ok {
		return nil, nil
	}
	return []byte(data), nil
}

func (t *term) Put(ctx context.Context, key string, value []byte) error {
	err := store.CheckKey(key)
	if err == nil {
		_, err = t.store.call(ctx, t.store.scripts.putTerm, t.keys, t.token, key, t.store.next(), value)
	}
	return t.wrap("put "+key+" of", err)
}
