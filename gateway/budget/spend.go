package budget

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"clawbot/agentcore"
)

// maxDays bounds one question about what was spent.
const maxDays = 800

// Spend returns what was spent on the days from one time to another, both
// included, by all replicas: a row per day, model, conversation and person,
// sorted by these. Each day is one reading of the store. What other replicas
// spent in the last two seconds may be missing. Summarise it with [Sum].
func (b *Budget) Spend(ctx context.Context, from, to time.Time) ([]Row, error) {
	var rows []Row
	last := b.day(to)
	at := from.In(b.zone)
	// Noon, so that no change of the clock skips a day.
	noon := time.Date(at.Year(), at.Month(), at.Day(), 12, 0, 0, 0, b.zone)
	for n := 0; b.day(noon) <= last; n++ {
		if n == maxDays {
			return nil, fmt.Errorf("what was spent can be told for %d days at once, not for more", maxDays)
		}
		day, err := b.ledger.read(ctx, b.day(noon))
		if err != nil {
			return nil, fmt.Errorf("read what was spent on %s: %w", b.day(noon), err)
		}
		rows = append(rows, day...)
		noon = noon.AddDate(0, 0, 1)
	}
	slices.SortFunc(rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.Model, y.Model), cmp.Compare(x.Session, y.Session), cmp.Compare(x.User, y.User))
	})
	return rows, nil
}

// Sum adds rows up by what by says of each, the most expensive first; rows for
// which it says "" are left out. The rows of the result have what was added up
// and the last Day, Model, Session and User of their parts.
func Sum(rows []Row, by func(Row) string) []Row {
	at := map[string]int{}
	var out []Row
	for _, r := range rows {
		key := by(r)
		if key == "" {
			continue
		}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Row{})
		}
		out[i].Day, out[i].Model, out[i].Session, out[i].User = r.Day, r.Model, r.Session, r.User
		out[i].add(&r)
	}
	slices.SortStableFunc(out, func(x, y Row) int {
		return cmp.Or(cmp.Compare(y.Usage.Cost, x.Usage.Cost), cmp.Compare(y.Usage.Total(), x.Usage.Total()))
	})
	return out
}

// Dollars writes an amount of billionths of a dollar for people: in cents, with
// more digits where it is less than a dollar.
func Dollars(nanos int64) string {
	dollars := float64(nanos) / agentcore.NanosPerDollar
	if nanos > 0 && dollars < 0.0001 {
		return "less than $0.0001"
	}
	if dollars >= 1 {
		return fmt.Sprintf("$%.2f", dollars)
	}
	text := fmt.Sprintf("$%.4f", dollars)
	for range 2 {
		text = strings.TrimSuffix(text, "0")
	}
	return text
}
