package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"clawbot/store"
	rules "clawbot/store/internal/session"
)

// A term is a session's lease without a session.

func readTerm(c *conn, name string) (*rules.Session, error) {
	s := &rules.Session{}
	found, err := c.one("SELECT meta FROM terms WHERE name = ?", args(name), func(r row) error {
		return decode(r.text(0), s, "term "+name)
	})
	if !found || err != nil {
		return nil, err
	}
	return s, nil
}

func (t *tx) saveTerm(name string, s *rules.Session) error {
	meta, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return t.exec("INSERT OR REPLACE INTO terms (name, meta) VALUES (?, ?)", name, string(meta))
}

// voidTerms lets all terms expire.
func voidTerms(t *tx) error {
	held := map[string]*rules.Session{}
	err := t.query("SELECT name, meta FROM terms", nil, func(r row) error {
		s := &rules.Session{}
		held[r.text(0)] = s
		return decode(r.text(1), s, "term "+r.text(0))
	})
	if err != nil {
		return err
	}
	for name, s := range held {
		s.Void(t.now)
		if err := t.saveTerm(name, s); err != nil {
			return err
		}
	}
	return nil
}

// Elect implements store.Terms.
func (s *Store) Elect(ctx context.Context, name, owner string, ttl time.Duration) (store.Term, error) {
	err := store.CheckKey(name)
	if err == nil {
		err = store.CheckHold(owner, ttl)
	}
	if err == nil {
		err = s.owner()
	}
	var token string
	if err == nil {
		token, err = write(ctx, s, false, func(t *tx) (string, error) { return t.elect(name, owner, ttl) })
	}
	if err != nil {
		return nil, fmt.Errorf("elect %s: %w", name, err)
	}
	return &term{store: s, name: name, token: token, ttl: ttl}, nil
}

func (t *tx) elect(name, owner string, ttl time.Duration) (string, error) {
	s, err := readTerm(t.conn, name)
	if err != nil {
		return "", err
	}
	if s == nil {
		s = rules.New(t.now)
	}
	if err := s.Acquire(t.now, owner, rand.Text()[:16], ttl); err != nil {
		return "", err
	}
	return s.Token, t.saveTerm(name, s)
}

type term struct {
	store *Store
	name  string
	token string
	ttl   time.Duration
}

var _ store.Term = (*term)(nil)

func (tm *term) wrap(op string, err error) error {
	if err != nil {
		return fmt.Errorf("%s term %s: %w", op, tm.name, err)
	}
	return nil
}

// change runs fn on the term in the writer and saves it.
func (tm *term) change(ctx context.Context, op string, fn func(t *tx, s *rules.Session) error) error {
	return tm.wrap(op, tm.store.do(ctx, false, func(t *tx) error {
		s, err := readTerm(t.conn, tm.name)
		if err != nil {
			return err
		}
		if err := fn(t, s); err != nil {
			return err
		}
		return t.saveTerm(tm.name, s)
	}))
}

func (tm *term) Renew(ctx context.Context) error {
	return tm.change(ctx, "renew", func(t *tx, s *rules.Session) error {
		return s.Renew(t.now, tm.token, tm.ttl)
	})
}

func (tm *term) Resign(ctx context.Context) error {
	return tm.change(ctx, "resign", func(_ *tx, s *rules.Session) error {
		_, err := s.ReleaseIfEmpty(tm.token)
		return err
	})
}

func (tm *term) Get(ctx context.Context, key string) (value []byte, err error) {
	err = tm.store.read(ctx, func(c *conn) error {
		s, err := readTerm(c, tm.name)
		if err != nil {
			return err
		}
		if err := s.Fence(tm.token); err != nil {
			return err
		}
		_, err = c.one("SELECT value FROM term_values WHERE name = ? AND key = ?", args(tm.name, key), func(r row) error {
			value = append([]byte{}, r.blob(0)...)
			return nil
		})
		return err
	})
	return value, tm.wrap("get "+key+" of", err)
}

func (tm *term) Put(ctx context.Context, key string, value []byte) error {
	return tm.wrap("put "+key+" of", tm.store.do(ctx, false, func(t *tx) error {
		if err := store.CheckKey(key); err != nil {
			return err
		}
		s, err := readTerm(t.conn, tm.name)
		if err != nil {
			return err
		}
		if err := s.Fence(tm.token); err != nil {
			return err
		}
		return t.exec("INSERT OR REPLACE INTO term_values (name, key, value) VALUES (?, ?, ?)",
			tm.name, key, append([]byte{}, value...))
	}))
}
