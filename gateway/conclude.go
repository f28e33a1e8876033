package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"clawbot/agentcore"
)

// conclude ends the answer: what is still owed is said, recorded and delivered.
func (r *run) conclude(failed error) error {
	t := r.t
	cause := r.cause()
	e, isAgent := errors.AsType[*agentcore.Error](failed)
	var end runEnd
	switch {
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case errors.Is(cause, errHandOff):
		return nil
	case errors.Is(cause, errStopped):
		if err := t.dealWithSignals(r); err != nil {
			return err
		}
		end.text = stoppedText
	case errors.Is(cause, errInterrupt), errors.Is(failed, errGather):
	case failed != nil && !isAgent:
		return failed
	case e != nil:
		text, err := r.failed(e)
		if err != nil {
			return err
		}
		end.err = text
	case t.tr.unfinished:
		if err := t.note(r.id, newID(), note{Kind: noteEnded, Final: true}); err != nil {
			return err
		}
	}
	if cut := r.account.CutShort(); cut != nil && failed == nil && cause == nil {
		r.out.remark("⚠️ My answer had to end here. " + cut.ForPeople(time.Now()))
		r.overspent(cut)
	}
	if err := r.out.finish(end); err != nil {
		return err
	}
	r.log.Info("run finished", "turns", r.turns, "input", r.usage.Input, "cached", r.usage.CacheRead,
		"output", r.usage.Output, "took", time.Since(r.began).Round(time.Millisecond))
	return nil
}

// outcome says how the run ended that conclude left with err.
func (r *run) outcome(err error) RunOutcome {
	switch cause := r.cause(); {
	case errors.Is(cause, errHandOff):
		return RunHandedOff
	case err != nil:
		return RunLost
	case errors.Is(cause, errStopped):
		return RunStopped
	case errors.Is(cause, errInterrupt):
		return RunInterrupted
	case r.failure:
		return RunFailed
	}
	return RunAnswered
}

// failed tells the person why there is no answer, and the operator what to do.
func (r *run) failed(e *agentcore.Error) (text string, err error) {
	r.failure, r.class = true, e.Class
	level := slog.LevelError
	if e.Class == agentcore.ErrLimit || e.Class == agentcore.ErrRefused || e.Class == agentcore.ErrEmpty {
		level = slog.LevelWarn // nothing that an operator could mend
	}
	r.log.Log(r.t.ctx, level, "run failed", "class", string(e.Class), "status", e.Status, "err", e)
	text = e.UserMessage()
	if e.Class == agentcore.ErrContextOverflow {
		text = "This conversation has grown longer than the model can take. Send /new to start a fresh one; what we said stays in the history."
	}
	if err := r.t.note(r.id, newID(), note{Kind: noteFailed, Text: text, Final: true}); err != nil {
		return "", err
	}
	r.out.remark("⚠️ " + text)
	r.overspent(e)
	return text, nil
}

// rawMessage encodes m for live events.
func rawMessage(m *agentcore.Message) json.RawMessage {
	data, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return data
}
