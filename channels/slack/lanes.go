package slack

import (
	"context"
	"slices"
	"sync"
	"time"
)

// maxPending bounds the events that wait in one process. Beyond it they are
// left to Slack, which delivers them again.
const maxPending = 10_000

// lanes accept events: those of one channel in the order in which they
// happened, channels beside each other. A lane has a goroutine for as long as
// there is something in it.
type lanes struct {
	ctx context.Context
	// accept takes an event to the host; an error is the end of ctx.
	accept func(context.Context, *arrival) error
	// hold is how long an event waits for an earlier one on another connection.
	hold func() time.Duration

	mu      sync.Mutex
	lanes   map[string]*lane
	pending int
	running sync.WaitGroup
}

type lane struct {
	queue []*entry
	busy  *entry        // being accepted
	wake  chan struct{} // buffered: the head changed
}

// entry is an event in a lane, with everybody who waits for it: its twin's and
// its redeliveries' envelopes.
type entry struct {
	arrival
	due  time.Time
	done []func(error)
}

// submit puts an event into its lane; done is called once, when the event is
// accepted or won't be any more. It reports false when there is no room.
func (l *lanes) submit(a *arrival, done func(error)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	at := l.lanes[a.lane]
	if at != nil && at.join(a, done) {
		return true
	}
	if l.pending >= maxPending {
		return false
	}
	l.pending++
	e := &entry{arrival: *a, due: time.Now().Add(l.hold()), done: []func(error){done}}
	if at != nil {
		at.insert(e)
		return true
	}
	if l.lanes == nil {
		l.lanes = map[string]*lane{}
	}
	at = &lane{queue: []*entry{e}, wake: make(chan struct{}, 1)}
	l.lanes[a.lane] = at
	l.running.Go(func() { l.run(a.lane, at) })
	return true
}

// join adds a twin or a redelivery to the event that waits already.
func (at *lane) join(a *arrival, done func(error)) bool {
	same := func(e *entry) bool { return e != nil && e.in.EventID == a.in.EventID }
	if same(at.busy) {
		at.busy.done = append(at.busy.done, done)
		return true
	}
	i := slices.IndexFunc(at.queue, same)
	if i < 0 {
		return false
	}
	e := at.queue[i]
	e.done, e.form = append(e.done, done), e.form|a.form
	if len(e.in.Attachments) == 0 {
		e.in.Attachments = a.in.Attachments
	}
	return true
}

// insert keeps the order of what has a time; what has none is overtaken by
// nothing.
func (at *lane) insert(e *entry) {
	i := len(at.queue)
	for i > 0 && e.stamp != "" && at.queue[i-1].stamp > e.stamp {
		i--
	}
	at.queue = slices.Insert(at.queue, i, e)
	if i+1 < len(at.queue) && at.queue[i+1].due.Before(e.due) {
		e.due = at.queue[i+1].due // what waits behind it waits no longer
	}
	if i == 0 {
		select {
		case at.wake <- struct{}{}:
		default:
		}
	}
}

func (l *lanes) run(name string, at *lane) {
	for {
		e := l.next(name, at)
		if e == nil {
			return
		}
		err := l.accept(l.ctx, &e.arrival)
		l.mu.Lock()
		at.busy = nil
		l.pending--
		done := e.done
		l.mu.Unlock()
		for _, tell := range done {
			tell(err)
		}
	}
}

// next waits until the lane's head is due and takes it out. When the lane is
// empty it is gone; when ctx has ended, all that waits is told so.
func (l *lanes) next(name string, at *lane) *entry {
	for {
		l.mu.Lock()
		if len(at.queue) == 0 || l.ctx.Err() != nil {
			rest := at.queue
			at.queue = nil
			l.pending -= len(rest)
			delete(l.lanes, name)
			l.mu.Unlock()
			for _, e := range rest {
				for _, tell := range e.done {
					tell(context.Cause(l.ctx))
				}
			}
			return nil
		}
		head := at.queue[0]
		wait := time.Until(head.due)
		if wait <= 0 {
			at.queue, at.busy = at.queue[1:], head
			l.mu.Unlock()
			return head
		}
		l.mu.Unlock()
		at.sleep(l.ctx, wait)
	}
}

func (at *lane) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-at.wake:
	case <-ctx.Done():
	}
}

// wait returns when all lanes have ended, after ctx.
func (l *lanes) wait() { l.running.Wait() }
