package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/gateway/budget"
)

// payer names a person in what was spent: platform:id, as owners are named.
func payer(channel, sender string) string { return platformOf(channel) + ":" + sender }

// account is whom the model calls of a run are for; run is empty for calls that
// belong to none.
func (t *tenure) account(run string, messages ...*inbound) *budget.Account {
	a := &budget.Account{Session: t.session, Since: t.tr.since, Run: run}
	// The first of them began it; the others pay if that one can't.
	for _, m := range slices.Backward(messages) {
		a.Charge(payer(m.Channel, m.Sender.ID))
	}
	return a
}

// newContext makes the context of the run's loop.
func (r *run) newContext() {
	r.ctx, r.stop = context.WithCancelCause(budget.With(r.t.ctx, r.account))
}

// keepSpending has the budget write down what is spent, until stop is called.
func (g *Gateway) keepSpending(ctx context.Context) (stop func()) {
	if g.cfg.Budget == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := g.cfg.Budget.Run(ctx); err != nil {
			g.log.Error("what models cost was not written down to its end", "err", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// ownersTime bounds telling all owners of something.
const ownersTime = 20 * time.Second

// nearly warns whoever is answered of the caps that are nearly used up, after
// the answer, each once.
func (r *run) nearly() {
	b := r.t.g.cfg.Budget
	if b == nil || r.t.ctx.Err() != nil {
		return
	}
	list, err := b.Nearly(r.t.ctx, r.account)
	if err != nil {
		r.log.Warn("whether a budget is nearly used up can't be read", "err", err)
	}
	for _, s := range list {
		text := "💰 " + s.Warning(time.Now())
		last := r.t.tr.last
		r.t.tell(last.Channel, last.Target, last.Sender, text)
		if s.Kind == budget.Daily {
			r.tellOwners(text + " `/budget` shows and raises it.")
		}
	}
}

// overspent tells the owners that a cap was reached, once.
func (r *run) overspent(failed error) {
	reached, ok := errors.AsType[*budget.Reached](failed)
	if !ok || reached.Kind == budget.Run {
		return
	}
	first, err := r.t.g.cfg.Budget.Once(r.t.ctx, "reached", &reached.Standing)
	if err != nil {
		r.log.Warn("the owners were not told that a budget is reached", "err", err)
	}
	if !first {
		return
	}
	if reached.Kind == budget.Daily {
		r.t.g.spentAt.Store(&reached.Standing)
		r.t.g.cfg.Alerts.Raise(dailyBudget())
	}
	about := r.who.starter
	r.tellOwners(fmt.Sprintf("💰 I did not answer `%s` whole, in the conversation `%s`: a budget is reached.\n\n%s",
		payer(r.host.channel.Name(), about), r.t.session, reached.ForPeople(time.Now())))
}

func (r *run) tellOwners(text string) {
	ctx, cancel := context.WithTimeout(r.t.ctx, ownersTime)
	defer cancel()
	r.t.g.write(ctx, r.t.g.owners(), r.host.channel.Name(), r.t.session, channels.Outgoing{Markdown: text})
}

// tooExpensive is what a person is told of a call that a cap forbids; empty if
// err is something else.
func tooExpensive(err error) string {
	e, ok := errors.AsType[*agentcore.Error](err)
	if !ok || e.Class != agentcore.ErrLimit {
		return ""
	}
	return e.UserMessage()
}
