package budget

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"clawbot/agentcore"
)

// Reached says which cap a call would have passed.
type Reached struct {
	Standing
	// Needs is the least that the call could have been made with.
	Needs int64
}

// after is what is reached once a call has taken u.
func (r *Reached) after(u agentcore.Usage) *Reached {
	later := *r
	if later.Used += u.Cost; r.Kind == Run {
		later.Used = r.Used + u.Total()
	}
	return &later
}

// Error is for operators.
func (r *Reached) Error() string {
	if r.Kind == Run {
		return fmt.Sprintf("budget.run_tokens = %d is reached: %d are used, and the next call may take %d", r.Limit, r.Used, r.Needs)
	}
	return fmt.Sprintf("budget.%s is reached: of %s (%s of it added by owners) %s are spent or reserved, and the next call may cost %s",
		r.Kind.setting(), Dollars(r.Limit), Dollars(r.Raised), Dollars(r.Used), Dollars(r.Needs))
}

// ForPeople tells what is reached, when it begins anew and who can change it.
func (r *Reached) ForPeople(now time.Time) string {
	var b strings.Builder
	var raise string
	switch r.Kind {
	case Run:
		fmt.Fprintf(&b, "This answer has used up its %s tokens. Write again, and I go on from here; whoever runs me can raise `run_tokens` of `[budget]`.", Thousands(r.Limit))
		return b.String()
	case Daily:
		fmt.Fprintf(&b, "Today's budget of %s for everybody is reached", Dollars(r.Limit))
		raise = "day"
	case Conversation:
		fmt.Fprintf(&b, "The budget of %s for this conversation is reached", Dollars(r.Limit))
		raise = "conversation"
	default:
		fmt.Fprintf(&b, "Today's budget of %s for `%s` is reached", Dollars(r.Limit), r.User)
		raise = r.User
	}
	fmt.Fprintf(&b, ": %s are spent, and my next step may cost up to %s.", Dollars(r.Used), Dollars(r.Needs))
	if r.Needs > r.Limit {
		fmt.Fprintf(&b, " That is more than the whole of it: whoever runs me can lower `max_tokens` of `[agent]`, or raise `%s` of `[budget]`.", r.Kind.setting())
	}
	if r.Resets.IsZero() {
		b.WriteString(" `/new` begins another conversation.")
	} else {
		fmt.Fprintf(&b, " A new one begins %s.", When(r.Resets, now))
	}
	fmt.Fprintf(&b, " My owner can raise it with `/budget raise %s %s`.", raise, suggested(r.Limit, r.Needs))
	b.WriteString(" Nothing is lost: what you wrote stays in our conversation; write again then, and I go on.")
	return b.String()
}

// suggested is a round amount in dollars that helps.
func suggested(limit, needs int64) string {
	usd := max(float64(needs)*2, float64(limit)/2) / agentcore.NanosPerDollar
	for _, round := range []float64{0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 500} {
		if usd <= round {
			return strconv.FormatFloat(round, 'f', -1, 64)
		}
	}
	return "1000"
}

// When tells when a window ends, from now: at 00:00 UTC, in 5 h 12 min.
func When(at, now time.Time) string {
	left := max(at.Sub(now), 0).Round(time.Minute)
	return fmt.Sprintf("at %s, in %d h %d min", at.Format("15:04 MST"), int(left.Hours()), int(left.Minutes())%60)
}

// Thousands writes a number with its thousands set apart.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// unknownPrice refuses a call that nobody could count.
func unknownPrice(ref agentcore.ModelRef) error {
	key := fmt.Sprintf("providers.%s.models.%q.price", ref.Provider, ref.ID)
	return &agentcore.Error{
		Class: agentcore.ErrLimit,
		Message: fmt.Sprintf("the price of %s is not known, and [budget] has a cap in dollars: set %s = { input = …, output = … } "+
			"in US dollars for a million tokens (0 for what costs nothing), or set the caps to 0", ref, key),
		User: fmt.Sprintf("I may spend only so much, and what the model `%s` costs is not known, so I did not ask it. Whoever runs me can set `price` of `[providers.%s.models.%q]`.",
			ref, ref.Provider, ref.ID),
	}
}

// refused is the error that a call ends with which may not be made.
func (c *call) refused(err error) error {
	if reached, ok := errors.AsType[*Reached](err); ok {
		c.account.refuse()
		return &agentcore.Error{Class: agentcore.ErrLimit, Message: reached.Error(), User: reached.ForPeople(c.began), Err: reached}
	}
	return &agentcore.Error{
		Message: "the budget can't be read, so nothing is spent: " + err.Error(), Retryable: true, Err: err,
		User: "I can't look up my budget right now, because my store does not answer. Please try again in a moment.",
	}
}
