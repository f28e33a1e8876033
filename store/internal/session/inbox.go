package session

import "clawbot/store"

// Enqueue gives an accepted event its place in its lane, and makes the session
// due if nobody holds it and the event is not quiet.
func (s *Session) Enqueue(now int64, lane store.Lane, quiet bool) (position int64) {
	s.Active = now
	switch {
	case lane == store.Signals:
		position = s.NextSignal
		s.NextSignal++
		s.Signals++
		s.wake(now)
	case quiet:
		position = s.NextMessage
		s.NextMessage++
	default:
		position = s.NextMessage
		s.NextMessage++
		s.Waiting++
		s.wake(now)
	}
	return position
}

func (s *Session) wake(now int64) {
	if !s.Held(now) && (s.Due == 0 || s.Due > now) {
		s.Due = now
	}
}

// Dequeue counts a queued message out of the inbox.
func (s *Session) Dequeue(quiet bool) {
	if !quiet {
		s.Waiting--
	}
	s.rest()
}

// Forget counts queued signals out of the inbox.
func (s *Session) Forget(signals int) {
	s.Signals -= signals
	s.rest()
}

// rest ends being due when what made an idle session due was taken back.
func (s *Session) rest() {
	if !s.Running && s.Waiting == 0 && s.Signals == 0 {
		s.Due = 0
	}
}

// Accepted is what an accept answers beside the event's own position.
func (s *Session) Accepted(now int64) store.Accepted {
	return store.Accepted{Owner: s.Holder(now), Waiting: s.Waiting}
}
