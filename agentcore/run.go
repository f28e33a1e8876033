package agentcore

import (
	"context"
	"errors"
	"fmt"
)

// run is one range over a loop. Everything in it is touched only by the
// goroutine that ranges; tools report through [batch].
type run struct {
	l      *Loop
	ctx    context.Context
	cancel context.CancelCauseFunc
	clock  *clock
	yield  func(Event, error) bool

	broken   bool // the consumer has left the range
	inTurn   bool
	added    []*Message
	pending  []*Message // to be injected before the next model call
	model    Model
	system   string
	thinking ThinkingLevel
	note     string // for the next request only
	extended bool   // the one continuation of a cut text was asked for
	pauses   int    // StopPause in a row
	guard    guard
	asm      Assembler
	call     modelCall
	onEvent  func(StreamEvent, error) bool // next, bound once
	crew     crew
}

// maxPauses bounds how often in a row a model may ask to be called again
// without having done anything that the loop can see.
const maxPauses = 16

var errBroken = errors.New("the consumer left the run")

func newRun(ctx context.Context, l *Loop, yield func(Event, error) bool) *run {
	r := &run{l: l, yield: yield, model: l.cfg.Model, system: l.cfg.System, thinking: l.cfg.Thinking, added: make([]*Message, 0, 8)}
	r.guard.init(l.cfg.LoopGuard)
	r.onEvent = r.next
	r.crew.r = r
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if l.cfg.Timeout > 0 {
		r.clock = startClock(l.cfg.Timeout, func() { r.cancel(errTimeout) })
		r.ctx = context.WithValue(r.ctx, clockKey{}, r.clock)
	}
	return r
}

func (r *run) close() {
	r.cancel(errBroken)
	if r.clock != nil {
		r.clock.stop()
	}
}

// emit yields an event and reports whether to go on.
func (r *run) emit(ev Event) bool {
	if !r.broken && !r.yield(ev, nil) {
		r.broken = true
		r.cancel(errBroken)
	}
	return !r.broken
}

func (r *run) main(prompts []*Message) {
	if !r.emit(Event{Type: AgentStart}) || !r.openTurn() || !r.closeOpenCalls() || !r.inject(prompts) {
		return
	}
	err := r.turns()
	r.emit(Event{Type: AgentEnd, Messages: r.added, Err: err})
}

// turns is the double loop: turns while there are tool results or injected
// messages to answer, then follow-ups, then once more whatever has arrived.
func (r *run) turns() *Error {
	if failed := r.pollSteering(); failed != nil {
		return r.fail(failed)
	}
	for more := true; ; {
		for more || len(r.pending) > 0 {
			var ended bool
			var err *Error
			if more, ended, err = r.turn(); r.broken || ended {
				return err
			}
		}
		if r.exhausted() {
			return nil // what is queued stays queued for a run that can answer it
		}
		if failed := r.poll("FollowUpMessages", r.l.cfg.FollowUpMessages); failed != nil {
			return r.fail(failed)
		}
		if len(r.pending) == 0 {
			if failed := r.pollSteering(); failed != nil {
				return r.fail(failed)
			}
		}
		if len(r.pending) == 0 && (r.ctx.Err() != nil || r.l.seal == nil || r.l.seal()) {
			return nil
		}
	}
}

// turn makes one model call and runs the tools it asks for. ended says that the
// run is over, because of err if that is not nil.
func (r *run) turn() (more, ended bool, err *Error) {
	if r.exhausted() {
		return false, true, r.limit(r.iterationLimit())
	}
	if !r.openTurn() || !r.injectPending() {
		return false, true, nil
	}
	if r.ctx.Err() != nil {
		return false, true, r.abort()
	}
	note := r.note
	r.note = ""
	req, failed := r.request(note)
	if failed != nil {
		return false, true, r.fail(failed)
	}
	r.l.iterations++
	m := r.stream(req)
	if m == nil {
		return false, true, nil
	}
	if m.Stop == StopError {
		r.l.iterations-- // Continue makes the call again
	}
	lost := r.asm.dropped
	if !r.publish(m) {
		return false, true, nil
	}
	if m.Stop == StopError || m.Stop == StopAborted {
		r.closeTurn(m, nil)
		return false, true, m.Error
	}
	var b batch
	if m.Stop == StopToolUse && !r.execute(&b, m) {
		return false, true, nil
	}
	if !r.closeTurn(m, b.results) {
		return false, true, nil
	}
	return r.afterTurn(m, &b, lost > 0)
}

// afterTurn decides what follows a turn that did not fail.
func (r *run) afterTurn(m *Message, b *batch, cut bool) (more, ended bool, err *Error) {
	more = m.Stop == StopToolUse && !b.terminated()
	if b.stop {
		return false, true, nil
	}
	if again, err := r.unfinished(m, cut); err != nil {
		return false, true, err
	} else if again {
		more = true
	}
	if r.ctx.Err() != nil {
		return false, true, r.abort()
	}
	turn := Turn{Iteration: r.l.iterations, Message: m, Results: b.results, Messages: r.l.Messages()}
	if failed := r.prepareNext(turn); failed != nil {
		return false, true, r.fail(failed)
	}
	if r.ctx.Err() != nil {
		return false, true, r.abort()
	}
	if stop, failed := r.shouldStop(turn); failed != nil {
		return false, true, r.fail(failed)
	} else if stop {
		return false, true, nil
	}
	if r.guard.tripped() && more {
		return false, true, r.limit(r.guard.error())
	}
	if len(r.pending) == 0 {
		if failed := r.pollSteering(); failed != nil {
			return false, true, r.fail(failed)
		}
	}
	if r.ctx.Err() != nil {
		return false, true, r.abort()
	}
	return more, false, nil
}

// unfinished handles answers that ended before they were done: it reports
// whether the model is to be called again, or why the run ends.
func (r *run) unfinished(m *Message, callCut bool) (again bool, err *Error) {
	if m.Stop != StopPause {
		r.pauses = 0
	}
	switch m.Stop {
	case StopEnd:
		if callCut {
			return false, &Error{Class: ErrBadResponse, Message: "the model ended its turn with a tool call that is not complete JSON; it was not run",
				User: "The model asked for a tool in a broken way, so nothing was run. Please try again."}
		}
	case StopPause:
		if r.pauses++; r.pauses > maxPauses {
			return false, &Error{Class: ErrLimit, Message: fmt.Sprintf("the model asked to be called again %d times in a row", maxPauses)}
		}
		return true, nil
	case StopRefusal:
		return false, &Error{Class: ErrRefused, Message: "the model declined to answer",
			User: "The model declined to answer this."}
	case StopLength:
		if r.l.cfg.ContinueOnLength && !r.extended {
			r.extended = true
			r.note = continueNote
			if callCut {
				r.note = continueCallNote
			}
			return true, nil
		}
		if callCut || !hasText(m.Content) {
			return false, &Error{Class: ErrLimit, Message: "the model's answer was cut at its output limit before it was complete (agent.max_tokens)",
				User: "The model's answer was cut off at its output limit before it was complete. Raise agent.max_tokens, or ask for less at once."}
		}
	}
	return false, nil
}

const (
	continueNote     = "Your answer was cut off at the output limit. Go on exactly where it stopped; repeat nothing and do not comment on the cut."
	continueCallNote = "Your answer was cut off at the output limit before its tool call was complete, so the tool did not run. Call it again with less in one call."
)

func (r *run) prepareNext(turn Turn) *Error {
	if r.l.cfg.PrepareNextTurn == nil {
		return nil
	}
	var next *NextTurn
	failed := r.hook("PrepareNextTurn", func(ctx context.Context) (err error) {
		next, err = r.l.cfg.PrepareNextTurn(ctx, turn)
		return err
	})
	if failed != nil || next == nil {
		return failed
	}
	if next.Model != nil {
		r.model = next.Model
	}
	if next.System != nil {
		r.system = *next.System
	}
	if next.Thinking != nil {
		r.thinking = *next.Thinking
	}
	if next.Messages != nil {
		r.l.SetMessages(next.Messages)
	}
	if next.Tools != nil {
		r.l.tools.set(next.Tools)
	}
	return nil
}

func (r *run) shouldStop(turn Turn) (stop bool, failed *Error) {
	if r.l.cfg.ShouldStopAfterTurn == nil || len(r.pending) > 0 {
		return false, nil
	}
	turn.Messages = r.l.Messages()
	failed = r.hook("ShouldStopAfterTurn", func(ctx context.Context) (err error) {
		stop, err = r.l.cfg.ShouldStopAfterTurn(ctx, turn)
		return err
	})
	return stop, failed
}
