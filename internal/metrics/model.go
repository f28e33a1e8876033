package metrics

import (
	"context"
	"iter"

	"clawbot/agentcore"
)

// Model counts every attempt at a model, below whatever repeats attempts. Nil
// metrics count nothing.
func (m *Metrics) Model(model agentcore.Model) agentcore.Model {
	if m == nil {
		return model
	}
	counted := &counted{m: m, model: model}
	if d, ok := model.(agentcore.Describer); ok {
		return described{counted, d}
	}
	return counted
}

type counted struct {
	m     *Metrics
	model agentcore.Model
}

// described passes on what the model says of itself.
type described struct {
	*counted
	agentcore.Describer
}

// Stream implements [agentcore.Model].
func (c *counted) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		name := c.name()
		for ev, err := range c.model.Stream(ctx, req) {
			switch {
			case err != nil:
				c.m.attempts.with(name, className(agentcore.ClassOf(err))).Inc()
			case ev.Type == agentcore.StreamDone:
				c.m.attempts.with(name, "ok").Inc()
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// Cost counts what an attempt at a model cost, in billionths of a US dollar; see
// budget.Config.Observe. Nil metrics count nothing.
func (m *Metrics) Cost(model agentcore.ModelRef, nanos int64) {
	if m != nil {
		m.cost.with(m.models.add(model.String())).Add(float64(max(nanos, 0)) / agentcore.NanosPerDollar)
	}
}

func (c *counted) name() string {
	if d, ok := c.model.(agentcore.Describer); ok {
		return c.m.models.add(d.Info().Ref.String())
	}
	return other
}
