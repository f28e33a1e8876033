package budget

import (
	"context"
	"errors"
	"time"

	"github.com/oklog/ulid/v2"

	"clawbot/agentcore"
	"clawbot/store"
)

const (
	// leastAnswer is how short an answer may become to fit into what is left of
	// a cap, in tokens.
	leastAnswer = 1024
	// settleTime bounds the wait for the store after a call.
	settleTime = 5 * time.Second
)

// call is one attempt at a model, from its reservation until it is settled.
type call struct {
	b       *Budget
	account *Account
	info    *agentcore.ModelInfo
	req     *agentcore.Request
	price   *agentcore.Price // nil: not known
	began   time.Time
	payer   string
	// in and out are the most tokens that it may take.
	in, out int64
	fixed   int64 // what it costs, where that is not a matter of tokens
	id      string
	// dollars and tokens say what was reserved under id.
	dollars, tokens bool
	short           *Reached // why the answer has to be shorter than asked for
	seen            int64    // bytes of the answer
	over            bool
}

// speed is how many tokens a second no model exceeds.
const speed = 3000

func (b *Budget) newCall(ctx context.Context, info *agentcore.ModelInfo, req *agentcore.Request) *call {
	c := &call{b: b, account: accountOf(ctx), info: info, req: req, began: time.Now()}
	c.price = info.PriceAt(c.began)
	c.payer = c.account.payersInTurn()[0]
	c.id = ulid.Make().String()
	return c
}

// open reserves what an attempt may take, and returns the request to make,
// whose answer may have to be shorter than asked for.
func (b *Budget) open(ctx context.Context, info *agentcore.ModelInfo, req *agentcore.Request) (*call, *agentcore.Request, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, nil, &agentcore.Error{Class: agentcore.ErrAborted, Message: err.Error(), Err: err}
	}
	c := b.newCall(ctx, info, req)
	set := b.limits.Load()
	if !set.dollars() && set.RunTokens == 0 {
		return c, req, nil
	}
	if c.price == nil && set.dollars() {
		return nil, nil, unknownPrice(info.Ref)
	}
	c.in, c.out = bounds(info, req)
	asked := c.out
	if set.RunTokens > 0 && c.account.Run != "" {
		if err := c.reserveTokens(ctx, set.RunTokens); err != nil {
			return nil, nil, c.refused(err)
		}
	}
	if set.dollars() && c.most() > 0 {
		if err := c.reserveDollars(ctx); err != nil {
			c.settle(ctx, 0, 0) // the tokens
			return nil, nil, c.refused(err)
		}
	}
	if c.out < asked {
		req = c.shorter()
	}
	return c, req, nil
}

// shorter is the request with an answer that fits into what was reserved. A
// model that thinks beside its answer is kept from it if there is too little
// room for both.
func (c *call) shorter() *agentcore.Request {
	req := *c.req
	req.MaxTokens = c.out - thinking(c.info, &req)
	if req.MaxTokens < min(c.out, leastAnswer) {
		req.Thinking = agentcore.ThinkingOff
		req.MaxTokens = max(1, c.out-thinking(c.info, &req))
	}
	return &req
}

// most is what the call costs at most.
func (c *call) most() int64 { return c.cost(c.in, c.out) }

// cost is what tokens cost at most: a cache may be written, which costs more.
func (c *call) cost(in, out int64) int64 {
	if c.price == nil {
		return c.fixed
	}
	return max(
		c.price.Nanos(agentcore.Usage{Input: in, Output: out}),
		c.price.Nanos(agentcore.Usage{CacheWrite: in, Output: out}),
		c.price.Nanos(agentcore.Usage{CacheRead: in, Output: out}))
}

// shorten makes the answer so short that the call fits into room, and reports
// whether it does.
func (c *call) shorten(fits func(out int64) bool) bool {
	least := min(c.out, leastAnswer)
	if fits(c.out) {
		return true
	}
	if !fits(least) {
		return false
	}
	low, high := least, c.out // fits(low), not fits(high)
	for high-low > 1 {
		if mid := low + (high-low)/2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	c.out = low
	return true
}

func (c *call) reserveTokens(ctx context.Context, most int64) error {
	key := store.CounterKey{Key: prefix + "run/" + keyPart(c.account.Run), Limit: most, Window: dayWindow}
	err := c.b.counters.Reserve(ctx, "tokens:"+c.id, c.in+c.out, []store.CounterKey{key})
	if errors.Is(err, store.ErrLimit) {
		var used int64
		if used, err = c.b.counters.Sum(ctx, key.Key); err != nil {
			return err
		}
		reached := &Reached{Standing: Standing{Kind: Run, Limit: most, Used: used}, Needs: c.in + min(c.out, leastAnswer)}
		if !c.shorten(func(out int64) bool { return used+c.in+out <= most }) {
			return reached
		}
		c.short = reached
		err = c.b.counters.Reserve(ctx, "tokens:"+c.id, c.in+c.out, []store.CounterKey{key})
		if errors.Is(err, store.ErrLimit) {
			return reached
		}
	}
	c.tokens = err == nil
	return err
}

// reserveDollars has the first of those who pay do so whose budget allows it.
func (c *call) reserveDollars(ctx context.Context) error {
	var first error
	for _, user := range c.account.payersInTurn() {
		c.payer = user
		err := c.charge(ctx, c.b.limitsFor(c.account, user, c.began))
		if err == nil {
			c.dollars = true
			return nil
		}
		if first == nil {
			first = err
		}
		if reached, ok := errors.AsType[*Reached](err); !ok || reached.Kind != Personal {
			return err // it holds for everybody
		}
	}
	return first
}

// charge reserves against the caps, in the usual case in one step.
func (c *call) charge(ctx context.Context, limits []limit) error {
	if len(limits) == 0 {
		return nil
	}
	keys := make([]store.CounterKey, len(limits))
	for i := range limits {
		l := &limits[i]
		keys[i] = store.CounterKey{Key: l.key(), Limit: l.most + c.b.raisedBy(l), Window: l.window}
	}
	err := c.b.counters.Reserve(ctx, c.id, c.most(), keys)
	if !errors.Is(err, store.ErrLimit) {
		return err
	}
	// What stands in the way: a cap, unless it was raised elsewhere.
	var tightest *Standing
	for i := range limits {
		s, err := c.b.standing(ctx, &limits[i], c.began)
		if err != nil {
			return err
		}
		keys[i].Limit = s.Limit
		if tightest == nil || s.Left() < tightest.Left() {
			tightest = &s
		}
	}
	reached := &Reached{Standing: *tightest, Needs: c.cost(c.in, min(c.out, leastAnswer))}
	before := c.out
	if !c.shorten(func(out int64) bool { return c.cost(c.in, out) <= tightest.Left() }) {
		return reached
	}
	if c.out < before {
		c.short = reached
	}
	if err = c.b.counters.Reserve(ctx, c.id, c.most(), keys); errors.Is(err, store.ErrLimit) {
		return reached // others were quicker
	}
	return err
}

// settle replaces what was reserved by what was taken.
func (c *call) settle(ctx context.Context, dollars, tokens int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	var failed error
	if c.dollars {
		failed = c.b.counters.Settle(ctx, c.id, dollars)
	}
	if c.tokens {
		failed = errors.Join(failed, c.b.counters.Settle(ctx, "tokens:"+c.id, tokens))
	}
	if failed != nil {
		agentcore.LoggerOf(ctx, c.b.log).Warn("a model call could not be settled and counts with the most it could cost", "model", c.info.Ref.String(), "err", failed)
	}
}
