package session

import (
	"fmt"
	"slices"

	"clawbot/store"
)

// Place finds where n entries from first on would stand: at the tail, or where
// others stand already, which may be the same ones from an earlier attempt.
func (s *Session) Place(first int64, n int) (taken bool, err error) {
	switch {
	case first < 0:
		return false, fmt.Errorf("%w: position %d", store.ErrInvalid, first)
	case first > s.Tail:
		return false, fmt.Errorf("%w: position %d, the tail is %d", store.ErrGap, first, s.Tail)
	case first == s.Tail:
		return false, nil
	case first+int64(n) > s.Tail:
		return false, s.Conflict(first)
	}
	return true, nil
}

// Conflict is the error for a position where something else stands.
func (s *Session) Conflict(first int64) error {
	return fmt.Errorf("%w: position %d is taken, the tail is %d", store.ErrConflict, first, s.Tail)
}

// NoneOpen returns store.ErrOpenCall while a call has no result.
func (s *Session) NoneOpen() error { return noneOpen(s.Open) }

func noneOpen(open []string) error {
	if len(open) > 0 {
		return fmt.Errorf("%w: %q", store.ErrOpenCall, open[0])
	}
	return nil
}

// Append takes entries in at the tail, if calls and results pair.
func (s *Session) Append(now int64, entries []store.Entry) error {
	open := slices.Clone(s.Open)
	var closed []string
	spoke := false
	for i := range entries {
		e := &entries[i]
		switch e.Kind {
		case store.KindUser, store.KindAssistant:
			if err := noneOpen(open); err != nil {
				return err
			}
			open = append(open, e.Opens...)
			spoke = spoke || e.Kind == store.KindAssistant
		case store.KindToolResult:
			at := slices.Index(open, e.Closes)
			if at < 0 {
				return fmt.Errorf("%w: result %s for call %q, which is not open", store.ErrConflict, e.ID, e.Closes)
			}
			open = slices.Delete(open, at, at+1)
			closed = append(closed, e.Closes)
		}
	}
	s.Open = open
	for _, call := range closed {
		delete(s.Intents, call)
	}
	if spoke {
		s.Attempts = 0
	}
	s.grow(now, len(entries))
	return nil
}

func (s *Session) grow(now int64, n int) {
	s.Tail += int64(n)
	s.Active = now
}

// Drained counts n messages out of the inbox and into the transcript.
func (s *Session) Drained(now int64, n, notQuiet int) {
	s.Waiting -= notQuiet
	s.rest()
	s.grow(now, n)
}

// Intent records that the tenure is about to run the call.
func (s *Session) Intent(token, call string) (before bool, err error) {
	if !slices.Contains(s.Open, call) {
		return false, fmt.Errorf("%w: call %q is not open", store.ErrConflict, call)
	}
	if by, ok := s.Intents[call]; ok {
		return by != token, nil
	}
	if s.Intents == nil {
		s.Intents = map[string]string{}
	}
	s.Intents[call] = token
	return false, nil
}

// Compact takes in a summary at the tail.
func (s *Session) Compact(now, keepFrom int64) error {
	if keepFrom < s.KeepFrom || keepFrom > s.Tail+1 {
		return fmt.Errorf("%w: keeping from %d, where %d to %d is possible",
			store.ErrInvalid, keepFrom, s.KeepFrom, s.Tail+1)
	}
	if err := s.NoneOpen(); err != nil {
		return err
	}
	s.SummaryAt, s.KeepFrom = s.Tail, keepFrom
	s.Generation++
	s.grow(now, 1)
	return nil
}

// Live says which positions Load(from) returns: the summary, if withSummary,
// then [from, tail) without any summary.
func (s *Session) Live(from int64) (start int64, withSummary bool, err error) {
	if from > s.Tail {
		return 0, false, fmt.Errorf("%w: position %d, the tail is %d", store.ErrGap, from, s.Tail)
	}
	if s.SummaryAt >= 0 && from <= s.SummaryAt {
		return s.KeepFrom, true, nil
	}
	return max(from, 0), false, nil
}
