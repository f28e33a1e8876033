package channeltest

import (
	"context"
	"sync"
	"time"
)

// Call is one API call as the fake received it.
type Call struct {
	Method string
	Params map[string]string
	At     time.Time
	// Status is the HTTP status of the answer; 0 when the connection was
	// closed instead.
	Status int
	// Error is the description of a refusal.
	Error string
}

// callLog remembers calls, and counts them per method.
type callLog struct {
	mu      sync.Mutex
	all     []Call
	count   map[string]int
	changed signal
}

func (l *callLog) add(c Call, keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == nil {
		l.count = map[string]int{}
	}
	l.count[c.Method]++
	if keep {
		l.all = append(l.all, c)
	}
	l.changed.wake()
}

// Calls returns the calls so far in the order in which they were answered; with
// methods, only those.
func (t *Telegram) Calls(methods ...string) []Call {
	t.calls.mu.Lock()
	defer t.calls.mu.Unlock()
	if len(methods) == 0 {
		return append([]Call(nil), t.calls.all...)
	}
	var out []Call
	for _, c := range t.calls.all {
		for _, m := range methods {
			if c.Method == m {
				out = append(out, c)
			}
		}
	}
	return out
}

// CallCount returns how many calls of method were answered; it counts in Lean
// mode too.
func (t *Telegram) CallCount(method string) int {
	t.calls.mu.Lock()
	defer t.calls.mu.Unlock()
	return t.calls.count[method]
}

// WaitCalls waits until method was answered n times.
func (t *Telegram) WaitCalls(ctx context.Context, method string, n int) error {
	return await(ctx, func() (bool, <-chan struct{}) {
		t.calls.mu.Lock()
		defer t.calls.mu.Unlock()
		return t.calls.count[method] >= n, t.calls.changed.wait()
	})
}
