package builtin

import (
	"context"
	"sync"
)

// pathLocks is one lock per workspace path, shared by all file tools. A path
// that nobody holds takes no memory.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]*pathLock
}

type pathLock struct {
	free    chan struct{} // holds one token while nobody has the lock
	waiters int
}

func newPathLocks() *pathLocks { return &pathLocks{held: make(map[string]*pathLock)} }

// lock waits for the path, or for ctx to end, and returns the unlock function.
func (l *pathLocks) lock(ctx context.Context, path string) (unlock func(), err error) {
	l.mu.Lock()
	p := l.held[path]
	if p == nil {
		p = &pathLock{free: make(chan struct{}, 1)}
		p.free <- struct{}{}
		l.held[path] = p
	}
	p.waiters++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if p.waiters--; p.waiters == 0 {
			delete(l.held, path)
		}
	}
	select {
	case <-p.free:
		return func() { p.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
