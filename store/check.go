package store

import (
	"fmt"
	"slices"
	"time"
)

// The bounds of ids, in bytes.
const (
	maxSession = 200
	maxKey     = 300
	maxEventID = 500
)

// CheckSession returns an ErrInvalid that says why, if id is no session id.
func CheckSession(id string) error {
	return checkName("session id", id, maxSession, false)
}

// CheckKey returns an ErrInvalid that says why, if key is no key of [State],
// [Terms] or [Counters].
func CheckKey(key string) error {
	return checkName("key", key, maxKey, true)
}

func checkName(what, s string, limit int, slash bool) error {
	if s == "" || len(s) > limit {
		return fmt.Errorf("%w: a %s has 1 to %d bytes, this one %d", ErrInvalid, what, limit, len(s))
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == ':', c == '_', c == '.', c == '@', c == '-':
		case c == '/' && slash:
		default:
			return fmt.Errorf("%w: byte %q in %s %q", ErrInvalid, c, what, s)
		}
	}
	return nil
}

// CheckEvent returns an ErrInvalid that says why, if ev can't be accepted.
func CheckEvent(ev Event) error {
	if err := CheckSession(ev.Session); err != nil {
		return err
	}
	switch {
	case ev.ID == "" || len(ev.ID) > maxEventID:
		return fmt.Errorf("%w: an event id has 1 to %d bytes, this one %d", ErrInvalid, maxEventID, len(ev.ID))
	case len(ev.Key) > maxEventID:
		return fmt.Errorf("%w: an event key has at most %d bytes, this one %d", ErrInvalid, maxEventID, len(ev.Key))
	case ev.Lane > Signals:
		return fmt.Errorf("%w: lane %d", ErrInvalid, ev.Lane)
	case ev.Op > Remove:
		return fmt.Errorf("%w: op %d", ErrInvalid, ev.Op)
	case ev.Op != Put && ev.Lane != Messages:
		return fmt.Errorf("%w: a signal can only be put", ErrInvalid)
	case ev.Op != Put && ev.Key == "":
		return fmt.Errorf("%w: an event that changes a message needs its key", ErrInvalid)
	}
	return nil
}

// CheckEntries returns an ErrInvalid that says why, if entries can't be
// appended to any transcript.
func CheckEntries(entries []Entry) error {
	for i := range entries {
		if err := checkEntry(&entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// CheckSummary returns an ErrInvalid that says why, if e can't be a summary.
func CheckSummary(e Entry) error {
	switch {
	case e.ID == "":
		return fmt.Errorf("%w: an entry without id", ErrInvalid)
	case e.Kind != KindSummary || len(e.Opens) > 0 || e.Closes != "":
		return fmt.Errorf("%w: entry %s is no summary", ErrInvalid, e.ID)
	}
	return nil
}

func checkEntry(e *Entry) error {
	switch {
	case e.ID == "":
		return fmt.Errorf("%w: an entry without id", ErrInvalid)
	case e.Kind == KindSummary:
		return fmt.Errorf("%w: entry %s is a summary, which only Compact writes", ErrInvalid, e.ID)
	case e.Kind < KindUser || e.Kind > KindNote:
		return fmt.Errorf("%w: entry %s has kind %d", ErrInvalid, e.ID, e.Kind)
	case len(e.Opens) > 0 && e.Kind != KindAssistant:
		return fmt.Errorf("%w: entry %s opens calls but is no assistant entry", ErrInvalid, e.ID)
	case (e.Closes != "") != (e.Kind == KindToolResult):
		return fmt.Errorf("%w: entry %s: tool results, and nothing else, close a call", ErrInvalid, e.ID)
	}
	for i, call := range e.Opens {
		if call == "" {
			return fmt.Errorf("%w: entry %s opens a call without id", ErrInvalid, e.ID)
		}
		if slices.Contains(e.Opens[:i], call) {
			return fmt.Errorf("%w: entry %s opens call %q twice", ErrInvalid, e.ID, call)
		}
	}
	return nil
}

// CheckHold returns an ErrInvalid that says why, if nobody can hold a lease or
// term as owner for ttl.
func CheckHold(owner string, ttl time.Duration) error {
	if owner == "" {
		return fmt.Errorf("%w: an owner needs a name", ErrInvalid)
	}
	if ttl <= 0 {
		return fmt.Errorf("%w: a lease needs a time to live", ErrInvalid)
	}
	return nil
}

// CheckReserve returns an ErrInvalid that says why, if a reservation is
// malformed.
func CheckReserve(id string, amount int64, keys []CounterKey) error {
	if id == "" || len(id) > maxEventID {
		return fmt.Errorf("%w: a reservation id has 1 to %d bytes, this one %d", ErrInvalid, maxEventID, len(id))
	}
	if amount < 0 {
		return fmt.Errorf("%w: a reservation of %d", ErrInvalid, amount)
	}
	for i, k := range keys {
		if err := CheckKey(k.Key); err != nil {
			return err
		}
		if k.Window < 0 || k.Limit < 0 {
			return fmt.Errorf("%w: counter %s has window %v and limit %d", ErrInvalid, k.Key, k.Window, k.Limit)
		}
		for _, other := range keys[:i] {
			if other.Key == k.Key {
				return fmt.Errorf("%w: counter %s twice", ErrInvalid, k.Key)
			}
		}
	}
	return nil
}
