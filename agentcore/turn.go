package agentcore

import (
	"context"
	"errors"
	"fmt"
)

func (r *run) openTurn() bool {
	if r.inTurn {
		return true
	}
	r.inTurn = true
	return r.emit(Event{Type: TurnStart})
}

func (r *run) closeTurn(m *Message, results []*Message) bool {
	r.inTurn = false
	return r.emit(Event{Type: TurnEnd, Message: m, Results: results})
}

// inject adds messages to the transcript as they are.
func (r *run) inject(messages []*Message) bool {
	for _, m := range messages {
		m = r.l.own(m)
		if !r.emit(Event{Type: MessageStart, Message: m}) || !r.record(m) {
			return false
		}
	}
	return true
}

func (r *run) injectPending() bool {
	messages := r.pending
	r.pending = nil
	return r.inject(messages)
}

// record ends a message: it is in the transcript when the event is out.
func (r *run) record(m *Message) bool {
	if r.broken {
		return false
	}
	r.l.append(m)
	r.added = append(r.added, m)
	return r.emit(Event{Type: MessageEnd, Message: m})
}

// publish records an assistant message that stream returned.
func (r *run) publish(m *Message) bool {
	r.l.claim(m)
	return r.record(m)
}

// stream makes a model call and returns its finished message, which has been
// started but not ended, or nil if the consumer has left. Whatever goes wrong
// is in the message.
func (r *run) stream(req *Request) *Message {
	r.asm.Reset()
	id, now := r.l.stamp()
	r.call = modelCall{open: &Message{ID: id, Role: RoleAssistant, Time: now}}
	r.consume(req)
	if r.broken || !r.call.started && !r.emit(Event{Type: MessageStart, Message: r.call.open}) {
		return nil
	}
	m := r.call.message
	m.ID, m.Time = id, now
	if m.Model == (ModelRef{}) {
		if d, ok := r.model.(Describer); ok {
			m.Model = d.Info().Ref
		}
	}
	return m
}

// modelCall is the state of the open model call.
type modelCall struct {
	open     *Message // what MessageStart shows
	message  *Message // the outcome
	failed   error
	started  bool
	over     bool // the model was told to stop
	yielding bool // the caller's range body is running
}

// consume reads the model's stream to its end. A panic of the model becomes an
// error; one of the caller's range body passes through.
func (r *run) consume(req *Request) {
	c := &r.call
	defer func() {
		if c.yielding {
			return // not ours to recover
		}
		if p := recover(); p != nil {
			c.message = r.asm.Partial(StopError, r.panicked("the model", p))
		}
	}()
	r.model.Stream(r.ctx, req)(r.onEvent)
	c.over = true
	switch {
	case c.message != nil || r.broken:
	case r.ctx.Err() != nil:
		c.message = r.asm.Partial(StopAborted, r.abortError())
	case c.failed != nil:
		c.message = r.asm.Partial(StopError, asError(c.failed))
	default:
		c.message = r.asm.Partial(StopError, &Error{Class: ErrBadResponse, Retryable: true,
			Message: "the model's stream ended before its answer was complete"})
	}
}

// next is the body of the range over a model's stream. It is called as a
// function, because what a range captures is allocated anew for every call.
func (r *run) next(ev StreamEvent, err error) bool {
	if r.call.over {
		panic("it went on after it was told to stop")
	}
	r.call.over = !r.take(ev, err)
	return !r.call.over
}

// take handles one event of the stream and reports whether to read on.
func (r *run) take(ev StreamEvent, err error) bool {
	c := &r.call
	if err != nil {
		c.failed = err
		return false
	}
	if ev.Type == StreamDone {
		c.message = r.asm.Finish(ev)
		return false
	}
	if r.ctx.Err() != nil {
		return false // however long the model would go on
	}
	r.asm.Add(ev)
	c.yielding = true
	if !c.started {
		c.started = true
		r.emit(Event{Type: MessageStart, Message: c.open})
	}
	goOn := r.emit(Event{Type: MessageUpdate, Delta: ev})
	c.yielding = false
	return goOn
}

// abortError says why the run's context is done.
func (r *run) abortError() *Error {
	cause := context.Cause(r.ctx)
	if errors.Is(cause, errTimeout) {
		limit := r.l.cfg.Timeout
		return &Error{Class: ErrLimit, Err: cause, Message: fmt.Sprintf("Reached the time limit of %s (loop.timeout)", limit)}
	}
	err := &Error{Class: ErrAborted, Message: "Agent run aborted", Err: cause}
	if cause != nil && !errors.Is(cause, context.Canceled) {
		err.Message = cause.Error()
	}
	return err
}

// abort ends the run in order: with what was taken from the queues, and an
// aborted assistant message.
func (r *run) abort() *Error { return r.endWith(StopAborted, r.abortError()) }

// fail ends the run with an assistant message that carries err.
func (r *run) fail(err *Error) *Error {
	if r.ctx.Err() != nil {
		return r.abort()
	}
	return r.endWith(StopError, err)
}

func (r *run) endWith(stop StopReason, err *Error) *Error {
	if !r.openTurn() || !r.injectPending() {
		return err
	}
	m := r.l.own(&Message{Role: RoleAssistant, Content: []Block{Text{}}, Stop: stop, Error: err})
	if r.emit(Event{Type: MessageStart, Message: &Message{ID: m.ID, Role: m.Role, Time: m.Time}}) && r.record(m) {
		r.closeTurn(m, nil)
	}
	return err
}

// closeOpenCalls answers calls that a run before this one left open because
// its consumer went away.
func (r *run) closeOpenCalls() bool {
	messages := r.l.messages
	at := len(messages) - 1
	for at >= 0 && messages[at].Role == RoleToolResult {
		at--
	}
	if at < 0 || messages[at].Role != RoleAssistant {
		return true
	}
	answered := make(map[string]bool)
	for _, m := range messages[at+1:] {
		answered[m.ToolCallID] = true
	}
	for _, call := range messages[at].ToolCalls() {
		if answered[call.ID] {
			continue
		}
		m := r.resultMessage(call, errorResult("The call was interrupted. Whether it took effect is unknown."))
		if !r.emit(Event{Type: MessageStart, Message: m}) || !r.record(m) {
			return false
		}
	}
	return true
}
