package reply

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"

	"clawbot/channels"
)

// Config of a reply. Channel and Target are required.
type Config struct {
	Channel channels.Channel
	Target  channels.Target
	// Journal keeps the delivery state; nil keeps none.
	Journal Journal
	// State is where an earlier process left this reply: the messages that it
	// names are edited further. The text has to be written again from its
	// beginning, with the same freezes.
	State State
	// Pacer is shared by all replies on one channel; nil is one of its own.
	Pacer *Pacer
	// BeforeWrite is called right before each write to the platform, which must
	// be the last thing that whoever lost the conversation does: it may end
	// Run's context. nil: nothing.
	BeforeWrite func()
	Logger      *slog.Logger
}

// Reply is one reply being delivered. Its methods are safe for concurrent use.
type Reply struct {
	cfg    Config
	limits channels.Limits

	wake chan struct{} // buffered: something to look at
	done chan struct{} // closed when Run has returned
	stop context.CancelCauseFunc

	mu       sync.Mutex
	text     []byte // never written over: Truncate makes a new one
	freezes  []int  // offsets at which a new message begins
	low      int    // the least length that text had since the actor looked
	status   string
	finished bool
	closed   bool // nothing will be delivered any more
	wakeAt   int  // the length of text at which the actor wants to be woken
	err      error
	stats    Stats
}

// Stats counts what a reply asked of the platform.
type Stats struct {
	Posts, Edits int
	// Refused counts writes that hit a rate limit.
	Refused int
	// Resent counts finals that were sent once more after an unknown outcome,
	// and so may have arrived twice.
	Resent int
}

// ErrEnded is returned by Finish when Run ended before the reply was delivered.
var ErrEnded = errors.New("the reply's delivery was ended before the reply was complete")

// New returns a reply. Nothing happens until Run is called.
func New(cfg Config) *Reply {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Pacer == nil {
		cfg.Pacer = NewPacer()
	}
	return &Reply{
		cfg: cfg, limits: cfg.Channel.Limits(cfg.Target),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		wakeAt: 1, low: math.MaxInt,
	}
}

// Write appends to the text. It never blocks and costs O(delta).
func (r *Reply) Write(delta string) {
	r.mu.Lock()
	if r.closed || r.finished {
		r.mu.Unlock()
		return
	}
	r.text = append(r.text, delta...)
	signal := len(r.text) >= r.wakeAt
	if signal {
		r.wakeAt = math.MaxInt
	}
	r.mu.Unlock()
	if signal {
		r.signal()
	}
}

// Mark returns the place in the text to give to Truncate.
func (r *Reply) Mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.text)
}

// Truncate takes back what was written since mark, when a model's answer
// begins anew. What is shown of it already is replaced as new text comes.
func (r *Reply) Truncate(mark int) {
	r.mu.Lock()
	if mark < 0 || mark >= len(r.text) || r.finished {
		r.mu.Unlock()
		return
	}
	r.text = slices.Clone(r.text[:mark])
	r.low = min(r.low, mark)
	r.freezes = slices.DeleteFunc(r.freezes, func(at int) bool { return at > mark })
	r.mu.Unlock()
	r.signal()
}

// Status sets the line about work in progress below the text; empty removes
// it, as the final does.
func (r *Reply) Status(line string) {
	r.mu.Lock()
	changed := r.status != line
	r.status = line
	r.mu.Unlock()
	if changed {
		r.signal()
	}
}

// Freeze ends the current message: text after it begins a new one below.
func (r *Reply) Freeze() {
	r.mu.Lock()
	n := len(r.text)
	if n > 0 && !r.finished && (len(r.freezes) == 0 || r.freezes[len(r.freezes)-1] < n) {
		r.freezes = append(r.freezes, n)
	}
	r.mu.Unlock()
	r.signal()
}

// Finish says that the text is complete and waits until it is delivered or
// given up, which is an error. When ctx ends, delivery is given up. Run must
// have been started.
func (r *Reply) Finish(ctx context.Context) error {
	r.mu.Lock()
	r.finished = true
	r.mu.Unlock()
	r.signal()
	select {
	case <-r.done:
	case <-ctx.Done():
		r.abort(context.Cause(ctx))
		<-r.done
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Stats returns the counts so far.
func (r *Reply) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

func (r *Reply) count(add func(*Stats)) {
	r.mu.Lock()
	add(&r.stats)
	r.mu.Unlock()
}

func (r *Reply) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// abort ends Run, or keeps it from starting.
func (r *Reply) abort(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stop != nil:
		r.stop(cause)
	case !r.closed:
		r.closed, r.err = true, cause
		close(r.done)
	}
}
