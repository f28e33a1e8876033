package agentcore

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// batch is the tool calls of one assistant message.
type batch struct {
	calls   []invocation
	results []*Message
	stop    bool // AfterToolCall asked for StopAfterBatch
}

// invocation is one call on its way from the model's words to a result.
type invocation struct {
	call     *ToolCall // as the model sent it
	tool     *Tool     // nil: there is none, and problem says so
	problem  string
	args     Call // as the tool gets it
	value    any  // the arguments, decoded; nil when they are not JSON
	result   Result
	executed bool
	slot     slot
}

const (
	skippedText = "Skipped to process an incoming message."
	abortedText = "Operation aborted"
)

// terminated reports whether every result of the batch ends the run.
func (b *batch) terminated() bool {
	for i := range b.calls {
		if !b.calls[i].result.Terminate {
			return false
		}
	}
	return len(b.calls) > 0
}

// execute runs the batch of m; every call of it ends with exactly one result
// in the transcript, unless the consumer leaves, which it reports as false.
func (r *run) execute(b *batch, m *Message) bool {
	calls := m.ToolCalls()
	b.calls = make([]invocation, len(calls))
	b.results = make([]*Message, 0, len(calls))
	sequential := r.l.cfg.ToolExecution == Sequential
	for i := range calls {
		inv := &b.calls[i]
		inv.call = &calls[i]
		r.resolve(b, i)
		sequential = sequential || inv.tool != nil && inv.tool.Mode == Sequential
	}
	if sequential {
		return r.oneByOne(b)
	}
	return r.atOnce(b)
}

// resolve finds the tool of a call, which may make it visible to later turns.
func (r *run) resolve(b *batch, i int) {
	inv := &b.calls[i]
	name := inv.call.Name
	if inv.tool = r.l.tools.byName[name]; inv.tool != nil {
		return
	}
	inv.problem = fmt.Sprintf("Tool %s not found", name)
	if strings.TrimSpace(name) == "" {
		inv.problem = "The call does not name a tool"
		return
	}
	find := r.l.cfg.ResolveDeferredTool
	if find == nil || r.ctx.Err() != nil {
		return
	}
	for j := range b.calls[:i] {
		if b.calls[j].call.Name == name {
			inv.problem = b.calls[j].problem // asked already, to no avail
			return
		}
	}
	var found *Tool
	failed := r.hook("ResolveDeferredTool", func(ctx context.Context) (err error) {
		found, err = find(ctx, name)
		return err
	})
	switch {
	case failed != nil:
		inv.problem = cause(failed)
	case found != nil && found.Name != name:
		inv.problem = fmt.Sprintf("Deferred tool resolver returned %q for requested %q", found.Name, name)
	case found != nil:
		inv.tool = found
		r.l.tools.add(found)
	}
}

// cause is what a model needs to know of a failed hook.
func cause(failed *Error) string {
	switch {
	case failed.Class == ErrAborted:
		return abortedText
	case failed.Err != nil:
		return failed.Err.Error()
	}
	return failed.Message
}

// oneByOne runs the calls in order, each followed by its result. Once a tool
// has run, an incoming message skips the rest.
func (r *run) oneByOne(b *batch) bool {
	started, skip := false, false
	for i := range b.calls {
		inv := &b.calls[i]
		skip = skip || started && r.steered(b)
		if !r.emit(Event{Type: ToolStart, Call: inv.call}) {
			return false
		}
		ready := false
		if skip {
			inv.result = errorResult(skippedText)
		} else if ready = r.prepare(inv); ready && started && r.steered(b) {
			skip, ready = true, false
			inv.result = errorResult(skippedText)
		}
		if ready {
			started = true
			r.crew.queue = append(r.crew.queue[:0], inv)
			if !r.runTools(b) {
				return false
			}
		} else if !r.finish(inv) {
			return false
		}
		if !r.recordResult(b, inv) {
			return false
		}
	}
	return true
}

// steered takes steering messages in the middle of a batch. After a
// StopAfterBatch they stay queued.
func (r *run) steered(b *batch) bool {
	if len(r.pending) == 0 && !b.stop {
		if failed := r.pollSteering(); failed != nil {
			// It is asked again after the turn, and fails the run there.
			r.l.cfg.Logger.Warn("agentcore: steering was not polled", "error", failed)
		}
	}
	return len(r.pending) > 0
}

// atOnce prepares the calls in order, runs those that are ready side by side,
// and records the results in order.
func (r *run) atOnce(b *batch) bool {
	r.crew.queue = r.crew.queue[:0]
	for i := range b.calls {
		inv := &b.calls[i]
		if !r.emit(Event{Type: ToolStart, Call: inv.call}) {
			return false
		}
		if r.prepare(inv) {
			r.crew.queue = append(r.crew.queue, inv)
		} else if !r.finish(inv) {
			return false
		}
	}
	if !r.runTools(b) {
		return false
	}
	for i := range b.calls {
		if !r.recordResult(b, &b.calls[i]) {
			return false
		}
	}
	return true
}

// recordResult puts a call's result into the transcript.
func (r *run) recordResult(b *batch, inv *invocation) bool {
	m := r.resultMessage(*inv.call, inv.result)
	b.results = append(b.results, m)
	return r.emit(Event{Type: MessageStart, Message: m}) && r.record(m)
}

// prepare takes a call as far as its execution; false means that it has its
// result already.
func (r *run) prepare(inv *invocation) bool {
	problem := r.prepared(inv)
	if problem == "" && r.ctx.Err() != nil {
		problem = abortedText
	}
	if problem != "" {
		inv.result = errorResult(problem)
	}
	return problem == ""
}

func (r *run) prepared(inv *invocation) (problem string) {
	if r.ctx.Err() != nil {
		return abortedText
	}
	if inv.tool == nil {
		return inv.problem
	}
	raw := inv.call.Arguments
	if inv.tool.PrepareArguments != nil {
		failed := r.hook("PrepareArguments", func(context.Context) (err error) {
			raw, err = inv.tool.PrepareArguments(slices.Clone(raw))
			return err
		})
		if failed != nil {
			return cause(failed)
		}
	}
	valid, err := r.l.schemas.check(inv.tool, raw)
	inv.value = valid.value
	if err != nil {
		return err.Error()
	}
	inv.args = Call{ID: inv.call.ID, Name: inv.call.Name, Arguments: valid.text}
	if r.l.cfg.BeforeToolCall == nil {
		return ""
	}
	return r.before(inv)
}

// before asks BeforeToolCall about a validated call.
func (r *run) before(inv *invocation) (problem string) {
	var decision BeforeResult
	failed := r.hook("BeforeToolCall", func(ctx context.Context) (err error) {
		decision, err = r.l.cfg.BeforeToolCall(ctx, inv.args)
		return err
	})
	switch {
	case failed != nil:
		return cause(failed)
	case decision.Block && decision.Reason != "":
		return decision.Reason
	case decision.Block:
		return "Tool execution was blocked"
	case decision.Arguments == nil:
		return ""
	}
	valid, err := r.l.schemas.check(inv.tool, decision.Arguments)
	if err != nil {
		return err.Error()
	}
	inv.args.Arguments = valid.text
	return ""
}

// finish gives a call's result its final shape and emits ToolEnd.
func (r *run) finish(inv *invocation) bool {
	inv.result.Content = r.bounded(inv.result.Content)
	inv.result.Details = boundedDetails(inv.result.Details)
	if note := r.guard.note(inv, &inv.result); note != "" {
		inv.result.Content = append(slices.Clip(inv.result.Content), Text{Text: note})
	}
	return r.emit(Event{Type: ToolEnd, Call: inv.call, Result: &inv.result, Executed: inv.executed})
}
