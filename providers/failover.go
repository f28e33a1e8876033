package providers

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"time"

	"clawbot/agentcore"
)

// FailoverConfig says how models stand in for each other. The zero value works.
type FailoverConfig struct {
	// Cooldown is how long a model that failed is passed over; 0 means 1
	// minute. A vendor's Retry-After counts if it is longer, up to an hour.
	Cooldown time.Duration
	Logger   *slog.Logger // default: discard
}

// maxCooldown bounds how long a vendor can have itself passed over.
const maxCooldown = time.Hour

// Failover returns a model that asks the first of models, and the next when
// that one is away, limited, refuses its key or its request. A model that
// failed is passed over for a while, unless all are. Errors that would be the
// same elsewhere, or that belong to the run, are passed on: overflow, refusal,
// abort. It describes itself as the first model.
func Failover(models []agentcore.Model, cfg FailoverConfig) agentcore.Model {
	if len(models) == 1 {
		return models[0]
	}
	if cfg.Cooldown <= 0 {
		cfg.Cooldown = time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	f := &failover{models: models, cfg: cfg, until: make([]time.Time, len(models))}
	if len(models) == 0 {
		return f
	}
	return describe(f, models[0])
}

type failover struct {
	models []agentcore.Model
	cfg    FailoverConfig
	mu     sync.Mutex
	until  []time.Time
}

func (f *failover) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		var last *agentcore.Error
		dirty := false
		for _, i := range f.order(time.Now()) {
			if dirty && !yield(agentcore.StreamEvent{Type: agentcore.StreamRestart}, nil) {
				return
			}
			a := attempt{yield: yield}
			last = a.run(f.models[i].Stream(ctx, req))
			if last == nil {
				f.mark(i, time.Time{})
				return
			}
			rest, next := f.judge(last)
			if !next || ctx.Err() != nil {
				break
			}
			dirty = a.emitted
			f.mark(i, time.Now().Add(rest))
			agentcore.LoggerOf(ctx, f.cfg.Logger).Warn("the model failed, the next one is asked", "model", name(f.models[i]), "err", last)
		}
		if last == nil {
			last = &agentcore.Error{Class: agentcore.ErrNotFound, Message: "no model is configured: set agent.model"}
		}
		yield(agentcore.StreamEvent{}, last)
	}
}

// order returns the models to ask: those that do not rest as configured, then
// the others, the one that rests the shortest first.
func (f *failover) order(now time.Time) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	order := make([]int, 0, len(f.models))
	for i := range f.models {
		if !f.until[i].After(now) {
			order = append(order, i)
		}
	}
	if len(order) > 0 {
		return order
	}
	for i := range f.models {
		at := len(order)
		for at > 0 && f.until[i].Before(f.until[order[at-1]]) {
			at--
		}
		order = append(order, 0)
		copy(order[at+1:], order[at:])
		order[at] = i
	}
	return order
}

func (f *failover) mark(i int, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until[i] = until
}

// judge returns how long a model rests after err, and whether the next one is
// asked.
func (f *failover) judge(err *agentcore.Error) (rest time.Duration, next bool) {
	switch err.Class {
	case agentcore.ErrAborted, agentcore.ErrContextOverflow, agentcore.ErrRefused, agentcore.ErrLimit,
		agentcore.ErrPanic, agentcore.ErrHook, agentcore.ErrUnknown:
		return 0, false
	case agentcore.ErrBadRequest, agentcore.ErrEmpty, agentcore.ErrBadResponse:
		return 0, true // this answer failed, the next may not
	}
	return min(max(f.cfg.Cooldown, err.RetryAfter), max(maxCooldown, f.cfg.Cooldown)), true
}

func name(m agentcore.Model) string {
	if d, ok := m.(agentcore.Describer); ok {
		return d.Info().Ref.String()
	}
	return ""
}
