package memory

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"clawbot/store"
	"clawbot/store/internal/session"
)

// tenancy is a named term: a session's lease without a session, and the values
// that its holders leave to each other.
type tenancy struct {
	*session.Session
	values map[string][]byte
}

// Elect implements store.Terms.
func (s *Store) Elect(ctx context.Context, name, owner string, ttl time.Duration) (store.Term, error) {
	if err := store.CheckKey(name); err != nil {
		return nil, fmt.Errorf("elect: %w", err)
	}
	if err := store.CheckHold(owner, ttl); err != nil {
		return nil, fmt.Errorf("elect %s: %w", name, err)
	}
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("elect %s: %w", name, err)
	}
	defer s.mu.Unlock()
	t := s.terms[name]
	if t == nil {
		t = &tenancy{Session: session.New(now()), values: map[string][]byte{}}
		s.terms[name] = t
	}
	if err := t.Acquire(now(), owner, nonce(), ttl); err != nil {
		return nil, fmt.Errorf("elect %s: %w", name, err)
	}
	return &term{store: s, tenancy: t, name: name, token: t.Token, ttl: ttl}, nil
}

type term struct {
	store   *Store
	tenancy *tenancy
	name    string
	token   string
	ttl     time.Duration
}

var _ store.Term = (*term)(nil)

func (t *term) do(ctx context.Context, op string, fn func() error) error {
	err := t.store.enter(ctx)
	if err == nil {
		defer t.store.mu.Unlock()
		err = fn()
	}
	if err != nil {
		return fmt.Errorf("%s term %s: %w", op, t.name, err)
	}
	return nil
}

func (t *term) Renew(ctx context.Context) error {
	return t.do(ctx, "renew", func() error { return t.tenancy.Renew(now(), t.token, t.ttl) })
}

func (t *term) Resign(ctx context.Context) error {
	return t.do(ctx, "resign", func() error {
		_, err := t.tenancy.ReleaseIfEmpty(t.token)
		return err
	})
}

func (t *term) Get(ctx context.Context, key string) (value []byte, err error) {
	err = t.do(ctx, "get "+key+" of", func() error {
		value = t.tenancy.values[key]
		return t.tenancy.Fence(t.token)
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}

func (t *term) Put(ctx context.Context, key string, value []byte) error {
	return t.do(ctx, "put "+key+" of", func() error {
		if err := store.CheckKey(key); err != nil {
			return err
		}
		if err := t.tenancy.Fence(t.token); err != nil {
			return err
		}
		t.tenancy.values[key] = append([]byte{}, bytes.Clone(value)...)
		return nil
	})
}
