package sqlite

import (
	"fmt"
	"sync"
)

// queue holds the calls that wait for the disk. It is not bounded but by its
// callers: the writer must not wait while the disk is slow.
type queue struct {
	mu     sync.Mutex
	calls  []*call
	signal chan struct{} // of capacity 1: there are calls
}

func (q *queue) put(calls []*call) {
	if len(calls) == 0 {
		return
	}
	q.mu.Lock()
	q.calls = append(q.calls, calls...)
	q.mu.Unlock()
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

func (q *queue) take() []*call {
	q.mu.Lock()
	defer q.mu.Unlock()
	calls := q.calls
	q.calls = nil
	return calls
}

// syncer makes commits durable. While it waits for the disk, the writer goes
// on, and the next barrier serves all that was committed meanwhile.
func (s *Store) syncer() {
	for range s.writer.sync.signal {
		calls := s.writer.sync.take()
		if len(calls) == 0 {
			continue
		}
		err := s.broken()
		if err == nil {
			if err = s.barrier(); err != nil {
				err = s.fail(fmt.Errorf("%s: %w: the disk did not take what was written; start clawbot again when the disk is well", s.path, err))
			}
		}
		for _, c := range calls {
			c.done <- err
		}
	}
}

// failure is why the store takes no more writes.
type failure struct {
	mu  sync.Mutex
	err error
}

func (s *Store) fail(err error) error {
	s.failure.mu.Lock()
	defer s.failure.mu.Unlock()
	s.failure.err = err
	return err
}

func (s *Store) broken() error {
	s.failure.mu.Lock()
	defer s.failure.mu.Unlock()
	return s.failure.err
}
