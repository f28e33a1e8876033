package channeltest

import "context"

// signal wakes everyone who waits for a change. The owner guards it with the
// lock that guards the state.
type signal struct{ ch chan struct{} }

// wait returns a channel that closes at the next change.
func (s *signal) wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// wake tells those who wait; it costs nothing when nobody does.
func (s *signal) wake() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// await calls look until it is satisfied, each time after the change it told to
// wait for. look takes and releases its own lock.
func await(ctx context.Context, look func() (done bool, changed <-chan struct{})) error {
	for {
		done, changed := look()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
