package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/gateway/budget"
	"clawbot/store"
)

// usagePage is how many entries are read at a time, and usagePages how often.
const usagePage, usagePages = 500, 200

// used is what the model calls of a conversation took, since its latest /new.
type used struct {
	usage agentcore.Usage
	calls int
	// unpriced is set if the price of some is not known.
	unpriced bool
	since    int64 // where the conversation began
}

// usage tells what a conversation took, what its reader and, for owners,
// everybody took today, and how far the caps are used.
func (h *host) usage(ctx context.Context, in *channels.Inbound, role string) string {
	session := in.Target.Conversation
	total, err := h.g.usedBy(ctx, session)
	if err != nil {
		h.log.Error("the usage can't be read", "session", session, "err", err)
		return "I can't read that now: the store does not answer."
	}
	text := total.String()
	if h.g.cfg.Budget == nil {
		return text
	}
	more, err := h.spent(ctx, in, role, total.since)
	if err != nil {
		h.log.Error("what was spent can't be read", "err", err)
		return text + "\n\nWhat was spent today can't be read now: the store does not answer."
	}
	return text + "\n\n" + more
}

func (u used) String() string {
	if u.calls == 0 {
		return "Nothing yet: this conversation has just begun."
	}
	total := u.usage
	text := fmt.Sprintf("This conversation: %s tokens in, %s out, %d model calls.", thousands(total.Input+total.CacheRead+total.CacheWrite), thousands(total.Output), u.calls)
	if cached := total.CacheRead; cached > 0 {
		text += fmt.Sprintf("\n%s of those in came from the cache.", thousands(cached))
	}
	cost := float64(total.Cost) / agentcore.NanosPerDollar
	switch {
	case !u.unpriced:
		text += fmt.Sprintf("\nCost: about $%.4f.", cost)
	case cost > 0:
		text += fmt.Sprintf("\nCost: at least $%.4f; not every model's price is known.", cost)
	}
	return text
}

// usedBy adds up what the model calls of a conversation took.
func (g *Gateway) usedBy(ctx context.Context, session string) (used, error) {
	var u used
	for from, page := int64(0), 0; page < usagePages; page++ {
		list, err := g.cfg.Store.Archive().Read(ctx, session, from, usagePage)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return u, err
		}
		for _, e := range list {
			if p, err := readPayload(e); err == nil && e.Kind != store.KindUser {
				u.add(g, e, p)
			}
		}
		if len(list) < usagePage {
			break
		}
		from = list[len(list)-1].Position + 1
	}
	return u, nil
}

func (u *used) add(g *Gateway, e store.Entry, p *payload) {
	if e.Kind == store.KindSummary {
		if p.Summary == "" {
			*u = used{since: e.Position} // a new conversation
		} else if p.Used.Total() > u.usage.Total() {
			cost := max(p.Used.Cost, u.usage.Cost)
			u.usage = p.Used // the making of the summary included
			u.usage.Cost = cost
		}
		return
	}
	m := p.Message
	if m == nil || m.Role != agentcore.RoleAssistant {
		return
	}
	is := m.Usage
	if is.Cost == 0 {
		price := g.price(m.Model, e.At)
		u.unpriced = u.unpriced || price == nil
		if price != nil {
			is.Cost = price.Nanos(is)
		}
	}
	u.usage = u.usage.Add(is)
	u.calls++
}

// price is what a model cost at a time, nil if that is not known.
func (g *Gateway) price(ref agentcore.ModelRef, at time.Time) *agentcore.Price {
	models := []agentcore.Model{g.config().Model}
	for _, p := range g.holds.Load().profiles {
		models = append(models, p.Model)
	}
	if g.config().Models != nil && slices.Contains(g.config().ModelRefs, ref.String()) {
		if m, err := g.config().Models(ref.String()); err == nil {
			models = append(models, m)
		}
	}
	for _, p := range g.config().Agents {
		models = append(models, p.Model) // or nil
	}
	for _, m := range models {
		if d, ok := m.(agentcore.Describer); ok {
			if info := d.Info(); info.Ref.String() == ref.String() {
				return info.PriceAt(at)
			}
		}
	}
	return nil
}

// spent tells what today cost, and how far the caps are used.
func (h *host) spent(ctx context.Context, in *channels.Inbound, role string, since int64) (string, error) {
	b, me, now := h.g.cfg.Budget, payer(h.channel.Name(), in.Sender.ID), time.Now()
	rows, err := b.Spend(ctx, now, now)
	if err != nil {
		return "", err
	}
	lines := []string{"You today: " + costOf(budget.Sum(rows, func(r budget.Row) string {
		if r.User != me {
			return ""
		}
		return "me"
	})) + "."}
	if role == RoleOwner {
		lines = append(lines, "Everybody today: "+costOf(budget.Sum(rows, func(budget.Row) string { return "all" }))+".")
		for i, r := range budget.Sum(rows, func(r budget.Row) string { return r.Model }) {
			if i == 10 {
				lines = append(lines, "- and more models")
				break
			}
			lines = append(lines, fmt.Sprintf("- `%s`: %s", r.Model, costOf([]budget.Row{r})))
		}
	}
	caps, err := h.caps(ctx, in, me, since)
	if err != nil || caps == "" {
		return strings.Join(lines, "\n"), err
	}
	return strings.Join(lines, "\n") + "\n\n" + caps, nil
}

// costOf writes the first row's cost.
func costOf(rows []budget.Row) string {
	if len(rows) == 0 {
		return "nothing"
	}
	r := rows[0]
	calls := "1 model call"
	if r.Calls != 1 {
		calls = thousands(r.Calls) + " model calls"
	}
	return fmt.Sprintf("%s, %s tokens in %s", budget.Dollars(r.Usage.Cost), thousands(r.Usage.Total()), calls)
}

// caps tells how far the caps are used that hold for a person in a
// conversation; empty if there are none.
func (h *host) caps(ctx context.Context, in *channels.Inbound, user string, since int64) (string, error) {
	account := &budget.Account{Session: in.Target.Conversation, Since: since}
	account.Charge(user)
	list, err := h.g.cfg.Budget.Standings(ctx, account)
	if err != nil {
		return "", err
	}
	var lines []string
	for i := range list {
		lines = append(lines, "- "+capLine(&list[i]))
	}
	if n := h.g.cfg.Budget.Limits().RunTokens; n > 0 {
		lines = append(lines, fmt.Sprintf("- for one answer: %s tokens", thousands(n)))
	}
	if len(lines) == 0 {
		return "", nil
	}
	return "Budgets, with what is reserved for calls that are not finished:\n" + strings.Join(lines, "\n"), nil
}

func capLine(s *budget.Standing) string {
	what := "for everybody today"
	switch s.Kind {
	case budget.Conversation:
		what = "for this conversation"
	case budget.Personal:
		what = "for `" + s.User + "` today"
	}
	text := fmt.Sprintf("%s: %s of %s", what, budget.Dollars(s.Used), budget.Dollars(s.Limit))
	if s.Raised > 0 {
		text += fmt.Sprintf(" (raised by %s)", budget.Dollars(s.Raised))
	}
	if !s.Resets.IsZero() {
		text += ", anew " + budget.When(s.Resets, time.Now())
	}
	return text
}

const budgetHelp = "`/budget raise day 5` adds $5 to today's budget of everybody, `/budget raise conversation 5` to that of this conversation, " +
	"`/budget raise telegram:42 5` to that of a person. What is added holds until the budget begins anew; " +
	"for good, change `[budget]` of my configuration."

// budget shows the caps and raises them: an owner's command.
func (h *host) budget(ctx context.Context, in *channels.Inbound, args string) string {
	b, me := h.g.cfg.Budget, payer(h.channel.Name(), in.Sender.ID)
	if b == nil {
		return "I have no budget here."
	}
	total, err := h.g.usedBy(ctx, in.Target.Conversation)
	if err != nil {
		return h.notRead(err)
	}
	words := strings.Fields(args)
	if len(words) == 0 {
		caps, err := h.caps(ctx, in, me, total.since)
		switch {
		case err != nil:
			return h.notRead(err)
		case caps == "":
			return "There are no caps: they are set in `[budget]` of my configuration."
		}
		return caps + "\n\n" + budgetHelp
	}
	if len(words) != 3 || !strings.EqualFold(words[0], "raise") {
		return "I did not understand that. " + budgetHelp
	}
	usd, err := strconv.ParseFloat(strings.TrimPrefix(words[2], "$"), 64)
	if err != nil {
		return fmt.Sprintf("`%s` is no amount in dollars. %s", clip(displayName(words[2]), 40), budgetHelp)
	}
	account := &budget.Account{Session: in.Target.Conversation, Since: total.since}
	kind := budget.Personal
	switch what := strings.ToLower(words[1]); {
	case what == "day" || what == "today":
		kind = budget.Daily
	case what == "conversation" || what == "here":
		kind = budget.Conversation
	case what == "me":
		account.Charge(me)
	case strings.Contains(words[1], ":") && len(words[1]) <= 200:
		account.Charge(strings.Trim(words[1], "`"))
	default:
		return "Whose? " + budgetHelp
	}
	s, err := b.Raise(ctx, h.channel.Name()+"/"+eventID(in), account, kind, usd)
	if refusal, ok := errors.AsType[budget.Refusal](err); ok {
		return string(refusal)
	}
	if err != nil {
		return h.notKept(err)
	}
	h.log.Info("a budget was raised", "kind", string(kind), "user", s.User, "usd", usd, "by", me, "session", in.Target.Conversation)
	return "Raised " + capLine(&s) + ". What I had to leave goes on with the next message."
}

func (h *host) notRead(err error) string {
	h.log.Error("the budget can't be read", "err", err)
	return "I can't read that now: the store does not answer. Please try again."
}
