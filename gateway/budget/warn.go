package budget

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"clawbot/store"
)

// askAgain is how long it is remembered that somebody was told about a
// conversation.
const askAgain = 30 * 24 * time.Hour

// Nearly returns the caps of account that are used to the part that people are
// warned at, each once until it begins anew, whichever replica asks. It reads
// the store once for every cap.
func (b *Budget) Nearly(ctx context.Context, account *Account) ([]Standing, error) {
	at := b.limits.Load().WarnAt
	if at <= 0 || account.Refused() {
		return nil, nil
	}
	now := time.Now()
	var near []Standing
	list := b.limitsFor(account, account.payersInTurn()[0], now)
	for i := range list {
		l := &list[i]
		used, err := b.counters.Sum(ctx, l.key())
		if err != nil {
			return near, fmt.Errorf("read what is spent: %w", err)
		}
		if float64(used) < at*float64(l.most+b.raisedBy(l)) {
			continue
		}
		s, err := b.standing(ctx, l, now)
		if err != nil {
			return near, err
		}
		if float64(s.Used) < at*float64(s.Limit) {
			continue // it was raised elsewhere
		}
		if first, err := b.Once(ctx, "warned", &s); err != nil {
			return near, err
		} else if first {
			near = append(near, s)
		}
	}
	return near, nil
}

// Once reports whether about was not asked before of a cap with this limit, by
// any replica, since it began anew.
func (b *Budget) Once(ctx context.Context, about string, s *Standing) (bool, error) {
	window := s.window
	if window == 0 {
		window = askAgain
	}
	key := fmt.Sprintf("%s%s/%s/%d", prefix, about, s.name, s.Limit)
	b.mu.Lock()
	known := b.told[key]
	if len(b.told) > maxTold {
		clear(b.told)
	}
	b.told[key] = true
	b.mu.Unlock()
	if known {
		return false, nil
	}
	err := b.counters.Reserve(ctx, ulid.Make().String(), 1, []store.CounterKey{{Key: key, Limit: 1, Window: window}})
	if errors.Is(err, store.ErrLimit) {
		return false, nil
	}
	if err != nil {
		b.mu.Lock()
		delete(b.told, key)
		b.mu.Unlock()
		return false, fmt.Errorf("remember that somebody was told: %w", err)
	}
	return true, nil
}

// maxTold bounds what one process remembers of whom it told.
const maxTold = 10_000

// Warning tells a person how far a cap is used.
func (s *Standing) Warning(now time.Time) string {
	what := "today's budget for everybody"
	switch s.Kind {
	case Conversation:
		what = "the budget of this conversation"
	case Personal:
		what = "today's budget for `" + s.User + "`"
	}
	text := fmt.Sprintf("%s of %s of %s are used (%d %%).", Dollars(s.Used), Dollars(s.Limit), what, s.Used*100/max(s.Limit, 1))
	if s.Resets.IsZero() {
		return text + " `/new` begins another conversation, with a new one."
	}
	return text + " A new one begins " + When(s.Resets, now) + "."
}
