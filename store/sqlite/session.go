package sqlite

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	rules "clawbot/store/internal/session"
)

// maxCached bounds the sessions that the writer keeps at hand, about 500 bytes
// each.
const maxCached = 4096

// session is a row of sessions.
type session struct {
	row int64 // 0: not in the table yet
	rules.Session
}

func (s *session) clone() *session {
	c := *s
	c.Open = slices.Clone(s.Open)
	c.Intents = maps.Clone(s.Intents)
	return &c
}

// session returns a copy of the session to change and save, nil if there is
// none.
func (t *tx) session(id string) (*session, error) {
	if s := t.s.writer.cache[id]; s != nil {
		return s.clone(), nil
	}
	s, err := readSession(t.conn, id)
	if s == nil || err != nil {
		return nil, err
	}
	t.keep(id, s)
	return s.clone(), nil
}

// opened is session, made if need be.
func (t *tx) opened(id string) (*session, error) {
	s, err := t.session(id)
	if s == nil && err == nil {
		s = &session{Session: *rules.New(t.now)}
	}
	return s, err
}

// held is session for the tenure with this token.
func (t *tx) held(id, token string) (*session, error) {
	s, err := t.session(id)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, (*rules.Session)(nil).Fence(token)
	}
	return s, s.Fence(token)
}

func readSession(c *conn, id string) (*session, error) {
	s := &session{}
	found, err := c.one("SELECT id, meta FROM sessions WHERE session = ?", args(id), func(r row) error {
		s.row = r.int(0)
		return decode(r.text(1), &s.Session, id)
	})
	if !found || err != nil {
		return nil, err
	}
	return s, nil
}

func decode(meta string, s *rules.Session, id string) error {
	if err := json.Unmarshal([]byte(meta), s); err != nil {
		return fmt.Errorf("the row of session %s is damaged: %w", id, err)
	}
	return nil
}

// save writes the session. It belongs to the cache from then on.
func (t *tx) save(id string, s *session) error {
	meta, err := json.Marshal(&s.Session)
	if err != nil {
		return err
	}
	t.wrote += len(meta)
	t.dirty = append(t.dirty, id)
	if s.row == 0 {
		s.row, err = t.insert("INSERT INTO sessions (session, due, active, meta) VALUES (?, ?, ?, ?)",
			id, s.Due, s.Active, string(meta))
	} else {
		err = t.exec("UPDATE sessions SET due = ?, active = ?, meta = ? WHERE id = ?",
			s.Due, s.Active, string(meta), s.row)
	}
	t.keep(id, s)
	return err
}

// keep puts the session into the cache, in place of an idle one if need be.
func (t *tx) keep(id string, s *session) {
	cache := t.s.writer.cache
	if len(cache) >= maxCached {
		for other, c := range cache {
			if c.Token == "" {
				delete(cache, other)
				break
			}
		}
	}
	cache[id] = s
}

// void lets all leases and terms expire: their holders are dead.
func void(t *tx) error {
	held := map[string]*session{}
	err := t.query("SELECT session, id, meta FROM sessions WHERE due > 0", nil, func(r row) error {
		s := &session{row: r.int(1)}
		if err := decode(r.text(2), &s.Session, r.text(0)); err != nil {
			return err
		}
		if s.Token != "" {
			held[r.text(0)] = s
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, s := range held {
		s.Void(t.now)
		if err := t.save(id, s); err != nil {
			return err
		}
	}
	if err := voidTerms(t); err != nil {
		return err
	}
	// Blobs that were being put when the process died.
	if err := t.exec("DELETE FROM chunks WHERE key >> 20 IN (SELECT id FROM blobs WHERE ref IS NULL)"); err != nil {
		return err
	}
	return t.exec("DELETE FROM blobs WHERE ref IS NULL")
}
