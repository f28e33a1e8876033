package agentcore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// hook runs one of the configuration's hooks and types what goes wrong in it.
// Only the hook itself is inside: a panic of the caller's range body passes.
func (r *run) hook(name string, call func(ctx context.Context) error) (failed *Error) {
	defer func() {
		if p := recover(); p != nil {
			failed = r.panicked("hook "+name, p)
		}
	}()
	if err := call(r.ctx); err != nil {
		if r.ctx.Err() != nil {
			return r.abortError()
		}
		return &Error{Class: ErrHook, Message: fmt.Sprintf("hook %s failed: %v", name, err), Err: err}
	}
	return nil
}

// panicked makes a recovered panic an error and logs where it came from.
func (r *run) panicked(what string, p any) *Error {
	r.l.cfg.Logger.Error("agentcore: panic", "in", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	err, _ := p.(error)
	return &Error{Class: ErrPanic, Message: fmt.Sprintf("%s panicked: %v", what, p), Err: err,
		User: "Something broke inside the bot. The error is in its log."}
}

// asError types any error that came out of a model.
func asError(err error) *Error {
	if typed, ok := errors.AsType[*Error](err); ok {
		return typed
	}
	return &Error{Message: err.Error(), Err: err}
}

// poll takes messages from a queue hook into pending. An aborted run takes
// none, so that they stay queued.
func (r *run) poll(name string, take func(context.Context) ([]*Message, error)) *Error {
	if take == nil || r.ctx.Err() != nil {
		return nil
	}
	return r.hook(name, func(ctx context.Context) error {
		messages, err := take(ctx)
		r.pending = append(r.pending, messages...)
		return err
	})
}

// pollSteering takes steering messages if a model call can still answer them.
func (r *run) pollSteering() *Error {
	if r.exhausted() {
		return nil
	}
	return r.poll("SteeringMessages", r.l.cfg.SteeringMessages)
}
