package budget

import (
	"context"
	"errors"
	"iter"
	"net"
	"time"

	"clawbot/agentcore"
)

// Model bounds and counts what single attempts at model cost. It belongs below
// whatever repeats attempts, since each of them is paid for. A call that would
// pass a cap, or whose price is not known while one is set, fails with an error
// of class [agentcore.ErrLimit], before anything is sent.
func (b *Budget) Model(model agentcore.Model) agentcore.Model {
	m := &metered{b: b, model: model}
	if d, ok := model.(agentcore.Describer); ok {
		return described{m, d}
	}
	return m
}

type metered struct {
	b     *Budget
	model agentcore.Model
}

// described passes on what the model says of itself.
type described struct {
	*metered
	agentcore.Describer
}

// Stream implements [agentcore.Model].
func (m *metered) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		var info agentcore.ModelInfo
		if d, ok := m.model.(agentcore.Describer); ok {
			info = d.Info()
		}
		c, req, err := m.b.open(ctx, &info, req)
		if err != nil {
			yield(agentcore.StreamEvent{}, err)
			return
		}
		stopped := true // unless the stream ends by itself
		defer func() { c.cut(ctx, stopped) }()
		for ev, err := range m.model.Stream(ctx, req) {
			switch {
			case err != nil:
				c.failed(ctx, err)
				stopped = ctx.Err() != nil
			case ev.Type == agentcore.StreamDone:
				ev.Usage.Cost = c.done(ctx, ev.Usage)
				if c.short != nil && ev.Stop == agentcore.StopLength {
					c.account.cutShort(c.short.after(ev.Usage))
				}
			default:
				c.seen += int64(len(ev.Delta))
			}
			if !yield(ev, err) {
				return
			}
		}
		stopped = ctx.Err() != nil
	}
}

// done settles a call that was answered, and returns what it cost. A server
// that does not count leaves the reservation as it is.
func (c *call) done(ctx context.Context, u agentcore.Usage) int64 {
	if c.over {
		return u.Cost
	}
	c.over = true
	cost := int64(0)
	if u.Total() <= 0 {
		c.record(c.guess(), 1)
		return 0
	}
	if c.price != nil {
		cost = c.price.Nanos(u)
	}
	u.Cost = cost
	c.settle(ctx, cost, u.Total())
	c.record(u, 0)
	return cost
}

// failed settles a call that the vendor never took on. One that broke off
// counts in full, since nobody will say what it cost.
func (c *call) failed(ctx context.Context, err error) {
	if c.over || c.seen > 0 || ctx.Err() != nil || !untaken(err) {
		return
	}
	c.over = true
	c.settle(ctx, 0, 0)
}

// untaken reports whether a call that failed before it said anything can't have
// cost anything: it was refused, or no connection came about.
func untaken(err error) bool {
	e, ok := errors.AsType[*agentcore.Error](err)
	if !ok {
		return false
	}
	if e.Status >= 300 {
		return true
	}
	switch e.Class {
	case agentcore.ErrAuth, agentcore.ErrNotFound, agentcore.ErrQuota, agentcore.ErrRateLimited, agentcore.ErrOverloaded, agentcore.ErrContextOverflow:
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// cut ends a call that ended in any other way. Its reservation stands, unless
// it was stopped from here so early that it can't have taken all of it.
func (c *call) cut(ctx context.Context, stopped bool) {
	if c.over {
		return
	}
	c.over = true
	if most := int64(time.Since(c.began).Seconds()*speed) + c.seen; stopped && most < c.out && (c.dollars || c.tokens) {
		c.settle(ctx, c.cost(c.in, most), c.in+most)
	}
	c.record(c.guess(), 1)
}

// guess is about what a call took that nobody counted.
func (c *call) guess() agentcore.Usage {
	u := agentcore.Usage{Input: input(c.info, c.req), Output: (c.seen + 3) / 4}
	if c.price != nil {
		u.Cost = c.price.Nanos(u)
	}
	return u
}

// record notes what was spent.
func (c *call) record(u agentcore.Usage, cut int64) {
	c.b.note(Row{
		Day: c.b.day(c.began), Model: c.info.Ref.String(), Session: c.account.Session, User: c.payer,
		Calls: 1, Cut: cut, Usage: u,
	}, c.info.Ref)
}

func (b *Budget) note(row Row, ref agentcore.ModelRef) {
	b.ledger.add(row)
	if b.cfg.Observe != nil {
		b.cfg.Observe(ref, row.Usage.Cost)
	}
}
