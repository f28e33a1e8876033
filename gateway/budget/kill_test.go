package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"clawbot/agentcore"
	"clawbot/store"
	"clawbot/store/memory"
)

// mortal is a store of a process that may die: then nothing is settled.
type mortal struct {
	store.Store
	dead bool
}

func (m *mortal) Counters() store.Counters { return mortalCounters{m.Store.Counters(), m} }

type mortalCounters struct {
	store.Counters
	m *mortal
}

func (c mortalCounters) Settle(ctx context.Context, id string, used int64) error {
	if c.m.dead {
		return errors.New("killed")
	}
	return c.Counters.Settle(ctx, id, used)
}

// Whatever calls take, and whoever dies in the middle of one, what was really
// spent passes the cap by no more than one call.
func TestWhoeverDiesTheCapIsPassedByNoMoreThanOneCall(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := memory.New()
		limits := Limits{DailyUSD: 2 + random.Float64()*3, UserUSD: 3, SessionUSD: 2.5}
		m := &mortal{Store: s}
		b := newBudget(t, m, limits)
		real, largest, refused := int64(0), int64(0), 0
		for refused < 3 {
			if m.dead { // another process, or the same one again
				m = &mortal{Store: s}
				b = newBudget(t, m, limits)
			}
			// A vendor may count up to twice as much as was asked for.
			most := 50 + random.Int64N(200)
			takes := 20 + random.Int64N(2*most)
			model := dollar(step{usage: agentcore.Usage{Input: 20, Output: takes - 20}})
			model.each = func() { m.dead = random.IntN(4) == 0 }
			a := account(fmt.Sprint("chat:", random.IntN(2)), fmt.Sprint("chat:", random.IntN(3)))
			_, err := ask(With(t.Context(), a), b.Model(model), request(most))
			var reached *Reached
			switch {
			case errors.As(err, &reached):
				refused++
				continue
			case err != nil:
				t.Fatal(err)
			case m.dead:
				takes = min(takes, 20+most) // its process was killed before more came
			}
			real += takes * 1e6
			largest = max(largest, takes*1e6)
		}
		if limit := nanos(limits.DailyUSD); real > limit+largest {
			t.Errorf("seed %d: %s were spent of %s, and no call took more than %s", seed, Dollars(real), Dollars(limit), Dollars(largest))
		}
	}
}
