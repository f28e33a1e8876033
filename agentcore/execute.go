package agentcore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

const defaultParallelTools = 8

// slot is where a running tool leaves what the ranging goroutine is to yield.
// Its fields are guarded by crew.mu.
type slot struct {
	update   *Update // the latest that was not yielded yet
	reported bool    // the call is in crew.updated
	done     bool    // Execute has returned: later updates are ignored
	result   Result
	err      error
	skipped  bool // aborted before it began
}

// crew is the goroutines that run tools, one batch after another. They take
// calls from queue and never wait for the consumer.
type crew struct {
	r        *run
	wg       sync.WaitGroup
	wake     chan struct{} // holds one signal, which is enough
	mu       sync.Mutex
	queue    []*invocation
	begun    int // calls of the queue that were taken
	updated  []*invocation
	finished []*invocation // in order of completion
	taken    []*invocation // what take returned last
}

// runTools executes the calls in the crew's queue and yields their updates and
// ends as they come. When it returns every tool has returned; false means that
// the consumer has left.
func (r *run) runTools(b *batch) bool {
	c := &r.crew
	calls := len(c.queue)
	if calls == 0 {
		return true
	}
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
	c.begun = 0
	workers := r.l.cfg.MaxParallelTools
	if workers <= 0 {
		workers = defaultParallelTools
	}
	complete := false
	defer func() { // also when the range body panics
		if !complete {
			r.cancel(errBroken)
		}
		c.wg.Wait()
	}()
	for range min(workers, calls) {
		c.wg.Go(c.work)
	}
	complete = c.report(b, calls)
	return complete
}

// report yields what the tools leave until calls of them have ended.
func (c *crew) report(b *batch, calls int) bool {
	for calls > 0 {
		<-c.wake
		updates, finished := c.take()
		for _, ev := range updates {
			if !c.r.emit(ev) {
				return false
			}
		}
		for _, inv := range finished {
			c.r.complete(b, inv)
			if !c.r.finish(inv) {
				return false
			}
		}
		calls -= len(finished)
	}
	return true
}

// take collects the latest update of each call that has a new one, and the
// calls that have ended.
func (c *crew) take() (updates []Event, finished []*invocation) {
	c.mu.Lock()
	for _, inv := range c.updated {
		updates = append(updates, Event{Type: ToolUpdate, Call: inv.call, Update: inv.slot.update})
		inv.slot.update, inv.slot.reported = nil, false
	}
	c.updated = c.updated[:0]
	finished, c.finished = c.finished, c.taken[:0]
	c.taken = finished
	c.mu.Unlock()
	for _, ev := range updates {
		ev.Update.Content = c.r.bounded(ev.Update.Content)
		ev.Update.Details = boundedDetails(ev.Update.Details)
	}
	return updates, finished
}

func (c *crew) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// work runs queued calls until none is left.
func (c *crew) work() {
	for {
		c.mu.Lock()
		if c.begun == len(c.queue) {
			c.mu.Unlock()
			return
		}
		inv := c.queue[c.begun]
		c.begun++
		c.mu.Unlock()
		c.call(inv)
	}
}

// call executes one call and leaves its outcome in the slot, whatever happens.
func (c *crew) call(inv *invocation) {
	returned := false
	var result Result
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = c.r.panicked("tool "+inv.call.Name, p)
		} else if !returned { // runtime.Goexit: this goroutine ends, the queue goes on
			err = errors.New("the tool ended without a result")
			c.wg.Go(c.work)
		}
		c.mu.Lock()
		inv.slot.done, inv.slot.result, inv.slot.err = true, result, err
		c.finished = append(c.finished, inv)
		c.mu.Unlock()
		c.signal()
	}()
	if c.r.ctx.Err() != nil {
		inv.slot.skipped, returned = true, true
		return
	}
	result, err = inv.tool.Execute(c.r.ctx, inv.args, func(u Update) { c.update(inv, u) })
	returned = true
}

func (c *crew) update(inv *invocation, u Update) {
	c.mu.Lock()
	if inv.slot.done {
		c.mu.Unlock()
		return
	}
	inv.slot.update = &u
	if !inv.slot.reported {
		inv.slot.reported = true
		c.updated = append(c.updated, inv)
	}
	c.mu.Unlock()
	c.signal()
}

// complete makes the result of a call that has returned, and shows it to
// AfterToolCall.
func (r *run) complete(b *batch, inv *invocation) {
	out := &inv.slot
	switch {
	case out.skipped:
		inv.result = errorResult(abortedText)
		return
	case out.err != nil && r.ctx.Err() != nil && errors.Is(out.err, context.Cause(r.ctx)),
		out.err != nil && r.ctx.Err() != nil && errors.Is(out.err, context.Canceled):
		inv.result = errorResult(abortedText)
	case out.err != nil:
		inv.result = errorResult(out.err.Error())
	default:
		inv.result = out.result
	}
	inv.executed = true
	if r.l.cfg.AfterToolCall != nil {
		r.after(b, inv)
	}
}

// after lets AfterToolCall override a result. If the hook fails, the model is
// told that the tool did complete, so that it does not run it again.
func (r *run) after(b *batch, inv *invocation) {
	var over AfterResult
	failed := r.hook("AfterToolCall", func(ctx context.Context) (err error) {
		over, err = r.l.cfg.AfterToolCall(ctx, inv.args, inv.result)
		return err
	})
	res := &inv.result
	if failed != nil {
		text := fmt.Sprintf("The tool completed, but what follows it failed: %s. Do not run it again for this reason. Its output:", cause(failed))
		res.Content = append([]Block{Text{Text: text}}, res.Content...)
		res.IsError, res.Terminate = true, false
		return
	}
	if over.Content != nil {
		res.Content = slices.Clone(*over.Content)
	}
	if over.Details != nil {
		res.Details = *over.Details
	}
	if over.IsError != nil {
		res.IsError = *over.IsError
	}
	if over.Terminate != nil {
		res.Terminate = *over.Terminate
	}
	b.stop = b.stop || over.StopAfterBatch
}
