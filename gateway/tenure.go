package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"clawbot/store"
)

// Why a run or a tenure is ended from outside.
var (
	errLost      = errors.New("the session's lease is lost or can't be trusted any more")
	errStopped   = errors.New("stopped by a person")
	errInterrupt = errors.New("interrupted by a newer message")
	errGather    = errors.New("asked again together with a message that came right after")
	errHandOff   = errors.New("handed off: this process is ending")
)

const (
	// maxIdle bounds how often in a row a tenure finds that it can't be
	// released and that nothing waits either. It happens once when a message
	// comes at that moment.
	maxIdle = 3
	// handOffTimeout bounds the last call of a tenure.
	handOffTimeout = 3 * time.Second
	// retryAfter is when a session that failed here is looked at again.
	retryAfter = 5 * time.Second
	// retryNewer is when a session is looked at again that this version of the
	// program can't read, or whose channel it doesn't have.
	retryNewer = time.Minute
)

// tenure is one process's time with one session: from Acquire to
// ReleaseIfEmpty. work runs on one goroutine, watch on another; what both touch
// is below mu.
type tenure struct {
	session string
	first   hint // what it was begun for
	slot    bool // counts against the cap; guarded by the dispatcher
	gave    bool // would, but waits for a person; guarded by the dispatcher
	began   time.Time

	g     *Gateway
	log   *slog.Logger
	lease store.Lease
	tr    *transcript
	ctx   context.Context // ends when the lease can't be trusted
	lose  context.CancelCauseFunc
	rouse chan struct{} // wakes watch; capacity 1
	// trusted is until when the lease is, as a time since began.
	trusted atomic.Int64
	more    chan struct{} // wakes who waits for the rest of a message; capacity 1
	resume  resumption    // what an earlier tenure left behind
	asked   *signal       // wants a summary once nothing else is to be done
	lost    bool          // a message was found to be damaged
	counts  []string      // reservations to give back
	marks   []*inbound    // messages with a reaction that is to go

	mu      sync.Mutex
	dirty   bool  // poked since the last attempt to release
	look    bool  // something is known to wait, but not what
	waiting bool  // messages wait
	queued  int   // how many, as last heard
	stop    bool  // a signal waits
	before  int64 // the position below which signals are dealt with
	taken   int64 // the inbox position below which messages are drained
	closing bool  // the process is ending
	run     *run
	// since is the inbox position of the first message that run answers: a stop
	// that was sent before it means other work.
	since int64
	// waits are the run's waits for a person's decision, decisions what came.
	waits     map[string]chan *signal
	decisions map[string]*signal
	// restUntil is until when something that belongs to a message of restBy is
	// awaited, restFrom when the first part came and restLast the latest.
	restFrom, restLast, restUntil time.Time
	restBy                        string
	parked                        int // waits in which the run has given its place to others

	// knocks has the senders of messages that came during a wait.
	knocks  chan string
	summing context.CancelFunc // ends a summary that was asked for
}

func newTenure(h hint, slot bool) *tenure {
	t := &tenure{session: h.session, first: h, slot: slot, began: time.Now(), rouse: make(chan struct{}, 1), more: make(chan struct{}, 1), knocks: make(chan string, 8)}
	t.poke(h)
	t.dirty = false
	return t
}

// poke tells the tenure that something came. It is called by any goroutine and
// never waits.
func (t *tenure) poke(h hint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirty = true
	switch {
	case h.lane == store.Signals || h.look:
		t.look = true
		select {
		case t.rouse <- struct{}{}:
		default:
		}
		select {
		case t.more <- struct{}{}:
		default:
		}
	case h.after > t.taken:
		if len(t.waits) > 0 && h.sender != "" {
			select {
			case t.knocks <- h.sender:
			default: // enough others are told
			}
		}
		t.waiting = true
		t.queued = max(t.queued, h.waiting)
		t.hold(h)
		if t.run != nil {
			t.run.arrived(h.sender)
		}
	}
}

func (t *tenure) poked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dirty
}

// observe takes in what the store says is waiting, which may be a moment old.
func (t *tenure) observe(w store.Waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range w.Signals {
		switch {
		case s.Position < t.before:
		case t.decides(&s):
		case endsRun(s.Data):
			if t.run != nil && t.since >= s.Tail {
				t.look = true // once this run is done
			} else {
				t.stop = true
			}
		default:
			t.look = true
		}
	}
	n, written := 0, 0
	for i := range w.Messages {
		if m := &w.Messages[i]; !m.Quiet && m.Position >= t.taken {
			n++
			if !isOccurrence(m) {
				written++
			}
		}
	}
	t.queued = n
	t.waiting = t.waiting || n > 0
	t.holdFor(w.Messages)
	if t.stop && t.run != nil {
		t.run.cancel(errStopped)
	}
	if t.stop && t.summing != nil {
		t.summing()
	}
	if written > 0 && t.run != nil {
		t.run.arrived("")
	}
}

// wantsLook reports, once, whether the lanes must be looked at.
func (t *tenure) wantsLook() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	look := t.look || t.stop
	t.look, t.stop = false, false
	return look
}

// takeWaiting reports, once, whether messages are known to wait.
func (t *tenure) takeWaiting() (bool, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, n := t.waiting, t.queued
	t.waiting, t.queued = false, 0
	return w, n
}

// cut ends the tenure's run, to be taken up by another process.
func (t *tenure) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = true
	if t.run != nil {
		t.run.cancel(errHandOff)
	}
}

// begin makes r the run that pokes and signals act on. It reports false when a
// signal came before that.
func (t *tenure) begin(r *run) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop || t.look || t.closing {
		return false
	}
	t.run, t.since = r, -1
	if len(t.tr.pending) > 0 {
		t.since = t.tr.pending[0].Inbox
	}
	return true
}

func (t *tenure) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = nil
}

func (t *tenure) ending() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing
}

// end says how a tenure ends.
type ending struct {
	// released: there is nothing left to do.
	released bool
	// again: there is, and it shall get another turn here after others had
	// theirs.
	again bool
	delay time.Duration
}

// hold works on a session from Acquire to release.
func (g *Gateway) hold(t *tenure) {
	again := false
	defer func() { g.dispatch.finish(t, again) }()
	t.g = g
	t.log = g.log.With("session", t.session)
	lease, err := g.acquire(t.session)
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		t.log.Debug("held by another", "owner", held.Owner)
		g.wake(context.Background(), held.Owner, t.first)
		return
	}
	if err != nil {
		t.log.Error("the session can't be taken; the sweep will try again", "err", err)
		return
	}
	t.lease = lease
	if lease.Start().Signals > 0 {
		t.lookFirst()
	}
	t.ctx, t.lose = context.WithCancelCause(context.Background())
	stop := t.watch()
	end, err := t.work()
	if err != nil && t.ctx.Err() != nil {
		err = errors.Join(context.Cause(t.ctx), err) // a store says no more than that it was canceled
	}
	stop()
	t.lose(nil)
	again = t.leave(end, err)
}

// lookFirst has signals dealt with before messages are taken up: they were sent
// earlier than whatever woke this tenure.
func (t *tenure) lookFirst() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look = true
}

// work takes up what is left and answers until nothing waits.
func (t *tenure) work() (end ending, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	if err := t.load(); err != nil {
		return ending{delay: retryAfter}, err
	}
	if err := t.takeOver(); err != nil {
		return ending{delay: retryAfter}, err
	}
	idle := 0
	for turns := 0; ; {
		if t.wantsLook() {
			before := t.before
			if err := t.dealWithSignals(nil); err != nil {
				return ending{delay: retryAfter}, err
			}
			if t.before != before {
				idle = 0
			}
		}
		if t.ending() || t.g.dispatch.closed() {
			return t.release()
		}
		waiting, queued := t.takeWaiting()
		if waiting || t.tr.unfinished {
			if !t.g.dispatch.claim(t) || turns > 0 && t.g.dispatch.crowded() {
				return ending{again: true}, nil
			}
			if err := t.turn(waiting, queued); err != nil {
				return ending{delay: retryAfter}, err
			}
			turns++
			idle = 0
			continue
		}
		if t.asked != nil {
			if err := t.compactAsked(); err != nil {
				return ending{delay: retryAfter}, err
			}
			continue
		}
		if end, err = t.release(); err != nil || end.released {
			return end, err
		}
		if idle++; idle > maxIdle {
			return ending{delay: retryAfter}, errors.New("the store keeps the session, but there is nothing to do in it")
		}
	}
}

// turn drains what waits and runs the loop over it.
func (t *tenure) turn(waiting bool, queued int) error {
	if len(t.tr.open) > 0 {
		if err := t.closeCalls(true); err != nil {
			return err
		}
		if len(t.tr.open) > 0 {
			return nil // a signal decides first, or the process is ending
		}
	}
	if waiting {
		if err := t.gather(queued); err != nil {
			return err
		}
	}
	if err := t.tellLost(); err != nil || !t.tr.unfinished {
		return err
	}
	return t.answer()
}

// release gives the lease up if nothing is left. The dirty mark is cleared
// before: whatever comes after that keeps the session or gets a new tenure.
func (t *tenure) release() (ending, error) {
	t.mu.Lock()
	t.dirty = false
	t.mu.Unlock()
	if t.tr.unfinished {
		return ending{}, nil
	}
	done, err := t.lease.ReleaseIfEmpty(t.ctx)
	if err != nil {
		return ending{delay: retryAfter}, err
	}
	if done {
		return ending{released: true}, nil
	}
	if t.ending() {
		return ending{}, nil
	}
	t.mu.Lock()
	t.look = true
	t.mu.Unlock()
	return ending{}, nil
}

// panicError is a panic of the gateway's own code. It counts as a crash, so
// that what causes it is given up in the end.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// about is the log with the message that is answered, or was last.
func (t *tenure) about() *slog.Logger {
	if t.tr == nil || t.tr.last == nil {
		return t.log
	}
	return t.log.With("message", t.tr.last.ID)
}

// leave ends the tenure as work decided and reports whether the session is to
// be taken up again here.
func (t *tenure) leave(end ending, err error) (again bool) {
	ctx, cancel := context.WithTimeout(context.Background(), handOffTimeout)
	defer cancel()
	if newer, ok := errors.AsType[newerError](err); ok {
		t.about().Error("left to a newer replica", "err", newer)
		end.delay = retryNewer
	} else if errors.Is(err, store.ErrFenced) || errors.Is(err, errLost) {
		t.about().Warn("the session was taken over by another process", "err", err)
		t.g.abandoned.add(t.lease, t.g.cfg.LeaseTTL)
		return false
	} else if err != nil {
		t.about().Error("work on the session failed; it will be taken up again", "err", err)
	}
	t.giveBack(ctx)
	if t.tr != nil {
		t.clearMarks(false)
	}
	if err == nil {
		t.g.cache.put(t.tr)
	}
	if end.released {
		return false
	}
	_, crashed := errors.AsType[*panicError](err)
	if herr := t.lease.HandOff(ctx, end.delay, crashed); herr != nil && !errors.Is(herr, store.ErrFenced) {
		t.about().Warn("the session was not handed off; its lease will expire", "err", herr)
		t.g.abandoned.add(t.lease, t.g.cfg.LeaseTTL)
		return false
	}
	if t.ending() || t.g.dispatch.closed() {
		t.g.wake(ctx, "", hint{session: t.session, look: true})
		return false
	}
	return end.again
}

// load brings the transcript up to date.
func (t *tenure) load() error {
	start := t.lease.Start()
	t.tr = t.g.cache.take(t.session)
	if t.tr == nil || t.tr.generation != start.Generation || t.tr.tail > start.Tail {
		t.tr = &transcript{session: t.session, generation: start.Generation, summaryAt: -1}
	}
	if t.tr.tail != start.Tail {
		entries, err := t.lease.Load(t.ctx, t.tr.tail)
		if err == nil {
			err = t.tr.load(entries)
		}
		if err != nil {
			return err
		}
	}
	for _, m := range t.tr.pending {
		t.counted(m)
		t.marked(m)
	}
	return nil
}
