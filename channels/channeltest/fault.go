package channeltest

import (
	"context"
	"sync"
	"time"
)

// Fault is what happens to one API call. The zero value is no fault.
type Fault struct {
	// Delay holds the call back before anything else.
	Delay time.Duration
	// Drop closes the connection before the call is applied.
	Drop bool
	// Lost applies the call and closes the connection instead of answering.
	Lost bool
	// Status answers with this HTTP status and does not apply the call.
	Status int
	// Description is the platform's error text that goes with Status.
	Description string
	// RetryAfter goes with Status 429; whole seconds.
	RetryAfter time.Duration
	// Body, if set, is answered with Status as it is, as a proxy would.
	Body string
}

// faults counts calls per method and hands out what was planned for them.
type faults struct {
	mu    sync.Mutex
	calls map[string]int
	plan  map[string]map[int]Fault
}

// add plans f for the nth call of method from now, the next one being 1.
func (p *faults) add(method string, nth int, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plan == nil {
		p.plan = map[string]map[int]Fault{}
		p.calls = map[string]int{}
	}
	if p.plan[method] == nil {
		p.plan[method] = map[int]Fault{}
		p.calls[method] = 0
	}
	p.plan[method][p.calls[method]+nth] = f
}

// next counts a call and returns its fault.
func (p *faults) next(method string) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan := p.plan[method]
	if plan == nil {
		return Fault{}
	}
	p.calls[method]++
	n := p.calls[method]
	f := plan[n]
	delete(plan, n)
	if len(plan) == 0 {
		delete(p.plan, method)
	}
	return f
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
