package providers

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"clawbot/agentcore"
)

// RetryConfig says how often and how long a call is retried. The zero value
// never retries.
type RetryConfig struct {
	// Max is how many times a call is made again after the first.
	Max int
	// Base is the first pause, doubled with each retry and jittered; 0 means
	// 1 s.
	Base time.Duration
	// MaxDelay bounds one pause; 0 means 30 s. A vendor that asks for more is
	// not waited for: the call fails and says how long it would be.
	MaxDelay time.Duration
	// Budget bounds all pauses of a call; 0 means 90 s.
	Budget time.Duration
	Logger *slog.Logger // default: discard
}

// Retry returns a model that makes a failed call again if its error says that
// this may help, or if the answer was empty. What the failed attempt streamed
// is taken back with [agentcore.StreamRestart].
func Retry(model agentcore.Model, cfg RetryConfig) agentcore.Model {
	if cfg.Base <= 0 {
		cfg.Base = time.Second
	}
	if cfg.MaxDelay <= 0 {
		cfg.MaxDelay = 30 * time.Second
	}
	if cfg.Budget <= 0 {
		cfg.Budget = 90 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return describe(&retry{model: model, cfg: cfg}, model)
}

type retry struct {
	model agentcore.Model
	cfg   RetryConfig
}

func (r *retry) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		left := r.cfg.Budget
		for try := 0; ; try++ {
			a := attempt{yield: yield}
			failure := a.run(r.model.Stream(ctx, req))
			if failure == nil {
				return
			}
			if ctx.Err() != nil {
				yield(agentcore.StreamEvent{}, Aborted(ctx))
				return
			}
			pause, reason := r.pause(failure, try, left)
			if reason != "" {
				yield(agentcore.StreamEvent{}, explain(failure, reason))
				return
			}
			left -= pause
			agentcore.LoggerOf(ctx, r.cfg.Logger).Warn("retrying the model call", "attempt", try+2, "in", pause, "err", failure)
			if a.emitted && !yield(agentcore.StreamEvent{Type: agentcore.StreamRestart}, nil) {
				return
			}
			if !sleep(ctx, pause) {
				yield(agentcore.StreamEvent{}, Aborted(ctx))
				return
			}
		}
	}
}

// pause returns how long to wait before the next attempt, or why there is none;
// a reason of one space says nothing.
func (r *retry) pause(failure *agentcore.Error, try int, left time.Duration) (pause time.Duration, reason string) {
	if !failure.Retryable || r.cfg.Max <= 0 {
		return 0, " "
	}
	if try >= r.cfg.Max {
		return 0, fmt.Sprintf("gave up after %d attempts", try+1)
	}
	if failure.RetryAfter > 0 {
		if failure.RetryAfter > r.cfg.MaxDelay {
			return 0, fmt.Sprintf("the vendor asks to wait %s, which is too long", failure.RetryAfter.Round(time.Second))
		}
		// A little later than asked, so that many do not come back at once.
		pause = failure.RetryAfter + jitter(r.cfg.Base/4)
	} else {
		pause = min(r.cfg.Base<<min(try, 16), r.cfg.MaxDelay)
		pause = pause/2 + jitter(pause/2)
	}
	if pause > left {
		return 0, "waited as long as it makes sense"
	}
	return pause, ""
}

// jitter returns a random time up to most.
func jitter(most time.Duration) time.Duration {
	return rand.N(most + 1) //nolint:gosec // nobody gains by guessing it
}

func explain(failure *agentcore.Error, reason string) *agentcore.Error {
	if reason == " " {
		return failure
	}
	e := *failure
	e.Message = failure.Error() + " (" + reason + ")"
	if failure.RetryAfter >= time.Minute {
		e.User = fmt.Sprintf("The model asks to wait %s. Please try again then.", failure.RetryAfter.Round(time.Minute))
	}
	return &e
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt forwards one stream until it fails.
type attempt struct {
	yield   func(agentcore.StreamEvent, error) bool
	emitted bool
	text    bool // something to show or to run
	thought bool
}

// run returns why the attempt failed; nil if it succeeded or the consumer
// stopped.
func (a *attempt) run(stream iter.Seq2[agentcore.StreamEvent, error]) *agentcore.Error {
	for ev, err := range stream {
		if err != nil {
			return asError(err)
		}
		switch ev.Type {
		case agentcore.StreamText:
			a.text = a.text || !IsBlank(ev.Delta)
		case agentcore.StreamThinking:
			a.thought = true
		case agentcore.StreamToolCall:
			a.text = true
		case agentcore.StreamBlockEnd:
			switch b := ev.Block.(type) {
			case agentcore.Text:
				a.text = a.text || !IsBlank(b.Text)
			case agentcore.ToolCall:
				a.text = true
			}
		case agentcore.StreamRestart:
			a.text, a.thought = false, false
		case agentcore.StreamDone:
			if failure := a.empty(ev); failure != nil {
				return failure
			}
			a.yield(ev, nil)
			return nil
		}
		a.emitted = true
		if !a.yield(ev, nil) {
			return nil
		}
	}
	return &agentcore.Error{Class: agentcore.ErrBadResponse, Message: "the model's stream ended without an end", Retryable: true,
		User: userText[agentcore.ErrBadResponse]}
}

// empty returns an error if done ends an answer that has neither text nor calls.
func (a *attempt) empty(done agentcore.StreamEvent) *agentcore.Error {
	if a.text {
		return nil
	}
	switch done.Stop {
	case agentcore.StopEnd, agentcore.StopToolUse:
		return &agentcore.Error{Class: agentcore.ErrEmpty, Retryable: true,
			Message: "the model ended its turn with neither text nor a tool call",
			User:    "The model gave an empty answer. Please try again, or say it differently."}
	case agentcore.StopLength:
		what := "before it wrote anything"
		if a.thought {
			what = "while it was thinking"
		}
		return &agentcore.Error{Class: agentcore.ErrEmpty,
			Message: "the model used up its tokens " + what + ": raise agent.max_tokens or lower agent.thinking",
			User:    "The model used up its tokens " + what + ". Please ask for less at once."}
	}
	return nil
}

func asError(err error) *agentcore.Error {
	if e, ok := errors.AsType[*agentcore.Error](err); ok {
		return e
	}
	return &agentcore.Error{Message: strings.TrimSpace(err.Error()), Err: err}
}

// describe gives a decorator the description of the model within, if it has
// one.
func describe(outer, inner agentcore.Model) agentcore.Model {
	d, ok := inner.(agentcore.Describer)
	if !ok {
		return outer
	}
	return described{outer, d}
}

type described struct {
	agentcore.Model
	agentcore.Describer
}
