// Package session holds the rules by which a session changes: who holds it,
// when it is due, where its transcript ends and which calls are open. It is
// pure bookkeeping, shared by the stores that run in this process; entries and
// events themselves are theirs. A method either succeeds or changes nothing.
package session

import (
	"fmt"
	"time"

	"clawbot/store"
)

// Session is what a store keeps of a session beside its entries, events and
// reply. The zero value is not usable; see [New]. Times are Unix nanoseconds.
type Session struct {
	Epoch   int64  `json:"ep,omitempty"`
	Token   string `json:"tok,omitempty"` // empty while nobody has the lease
	Owner   string `json:"own,omitempty"`
	Expires int64  `json:"exp,omitempty"`
	// Running is set from Acquire until ReleaseIfEmpty: through a hand-off and
	// past an expired lease, there is work left.
	Running bool `json:"run,omitempty"`
	// Given is the tenure that last gave up the lease, so that its doing so
	// again is a success.
	Given    string `json:"giv,omitempty"`
	Crashed  bool   `json:"cra,omitempty"` // how the present tenure began
	Attempts int    `json:"att,omitempty"`

	Tail       int64    `json:"tail,omitempty"`
	Generation int64    `json:"gen,omitempty"`
	SummaryAt  int64    `json:"sum"`
	KeepFrom   int64    `json:"keep,omitempty"`
	Open       []string `json:"open,omitempty"`
	// Intents maps the open calls that were begun to the tenure that did.
	Intents   map[string]string `json:"int,omitempty"`
	ReplyOpen bool              `json:"rep,omitempty"`

	NextMessage int64 `json:"nm,omitempty"`
	NextSignal  int64 `json:"ns,omitempty"`
	Waiting     int   `json:"wm,omitempty"` // queued messages that are not quiet
	Signals     int   `json:"ws,omitempty"` // queued signals

	// Due is when somebody must look; 0 is never. While the lease is held it
	// is Expires.
	Due    int64 `json:"due,omitempty"`
	Active int64 `json:"act,omitempty"`
}

// New returns a session that nobody has used.
func New(now int64) *Session {
	return &Session{SummaryAt: -1, Active: now}
}

// Held reports whether somebody has the lease and it has not expired.
func (s *Session) Held(now int64) bool { return s.Token != "" && now < s.Expires }

// Holder is the owner of a lease that has not expired.
func (s *Session) Holder(now int64) string {
	if s.Held(now) {
		return s.Owner
	}
	return ""
}

// Fence returns store.ErrFenced unless token is that of the present tenure.
func (s *Session) Fence(token string) error {
	if s == nil || s.Token != token {
		return store.ErrFenced
	}
	return nil
}

// Acquire gives owner the lease, or the same tenure again if it has it. nonce
// makes a new tenure's token unique.
func (s *Session) Acquire(now int64, owner, nonce string, ttl time.Duration) error {
	switch {
	case !s.Held(now):
		s.Crashed = s.Token != ""
		if s.Crashed {
			s.Attempts++
		}
		s.Epoch++
		s.Token = fmt.Sprintf("%d:%s", s.Epoch, nonce)
		s.Owner = owner
		s.Running = true
	case s.Owner != owner:
		return &store.HeldError{Owner: s.Owner, For: time.Duration(s.Expires - now)}
	}
	s.extend(now, ttl)
	return nil
}

// Renew extends the lease.
func (s *Session) Renew(now int64, token string, ttl time.Duration) error {
	if err := s.Fence(token); err != nil {
		return err
	}
	s.extend(now, ttl)
	return nil
}

func (s *Session) extend(now int64, ttl time.Duration) {
	s.Expires = now + int64(ttl)
	s.Due = s.Expires
}

// Start describes the session to the tenure that begins.
func (s *Session) Start(reply store.Reply) store.Start {
	st := store.Start{
		Token: s.Token, Tail: s.Tail, Generation: s.Generation, SummaryAt: s.SummaryAt,
		Crashed: s.Crashed, Attempts: s.Attempts, Reply: reply, Signals: s.Signals,
	}
	for _, call := range s.Open {
		if tok, ok := s.Intents[call]; ok && tok != s.Token {
			st.Intents = append(st.Intents, call)
		}
	}
	return st
}

// ReleaseIfEmpty ends the tenure if there is nothing left to do.
func (s *Session) ReleaseIfEmpty(token string) (bool, error) {
	if s != nil && s.Token != token && s.Given == token {
		return true, nil
	}
	if err := s.Fence(token); err != nil {
		return false, err
	}
	if s.Waiting > 0 || s.Signals > 0 || len(s.Open) > 0 || s.ReplyOpen {
		return false, nil
	}
	s.give()
	s.Running, s.Attempts, s.Due = false, 0, 0
	return true, nil
}

// HandOff ends the tenure with work left.
func (s *Session) HandOff(now int64, token string, delay time.Duration, crashed bool) error {
	if s != nil && s.Token != token && s.Given == token {
		return nil
	}
	if err := s.Fence(token); err != nil {
		return err
	}
	s.give()
	s.Due = now + int64(max(delay, 0))
	if crashed {
		s.Attempts++
	}
	return nil
}

func (s *Session) give() {
	s.Given = s.Token
	s.Token, s.Owner, s.Expires = "", "", 0
}

// Void lets the lease expire: its holder is known to be dead.
func (s *Session) Void(now int64) {
	if s.Token != "" {
		s.Expires, s.Due = now, now
	}
}

// Info describes the session to the archive.
func (s *Session) Info(id string, now int64) store.SessionInfo {
	return store.SessionInfo{
		Session: id, Tail: s.Tail, Generation: s.Generation, Owner: s.Holder(now),
		Waiting: s.Waiting, LastActive: time.Unix(0, s.Active),
	}
}
