package admin

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	spendDays = 30
	maxDays   = 400
	// costsFresh is how long the costs of sessions are good for their list.
	costsFresh = 20 * time.Second
	// spendMost sessions and people are named; the rest is one row.
	spendMost = 20

	nanosPerDollar = 1e9
)

// Spend is what models cost on one day, of one model in one conversation for one
// person. Costs are in billionths of a US dollar, 0 where the price is not
// known.
type Spend struct {
	Day     string // 2026-01-31
	Model   string
	Session string
	User    string
	Calls   int64
	Tokens  int64
	Nanos   int64
}

// Spending reads what was spent on the days from one time to another, both
// included.
type Spending func(ctx context.Context, from, to time.Time) ([]Spend, error)

// Caps are the limits in dollars; 0 is none.
type Caps struct {
	DailyUSD   float64 `json:"daily_usd,omitempty"`
	SessionUSD float64 `json:"session_usd,omitempty"`
	UserUSD    float64 `json:"user_usd,omitempty"`
}

// spendRow is a sum.
type spendRow struct {
	Day    string  `json:"day,omitempty"`
	Name   string  `json:"name,omitempty"`
	Rest   int     `json:"rest,omitempty"` // how many are in this row together
	Calls  int64   `json:"calls"`
	Tokens int64   `json:"tokens"`
	USD    float64 `json:"usd"`
	nanos  int64
}

func (s *spendRow) add(r *Spend) {
	s.Calls += r.Calls
	s.Tokens += r.Tokens
	s.nanos += r.Nanos
	s.USD = float64(s.nanos) / nanosPerDollar
}

// readSpend sums up what models cost.
//
//	?days=30 → {"days": [{day, name: MODEL, …}], "models": […], "sessions": […], "users": […], "caps": {…}}
func (a *Admin) readSpend(w http.ResponseWriter, r *http.Request) error {
	if a.cfg.Spend == nil {
		return errMissing
	}
	days, err := number(r, "days", spendDays)
	if err != nil {
		return err
	}
	days = min(max(days, 1), maxDays)
	now := time.Now()
	rows, err := a.cfg.Spend(r.Context(), now.AddDate(0, 0, 1-int(days)), now)
	if err != nil {
		return err
	}
	var caps Caps
	if a.cfg.Caps != nil {
		caps = a.cfg.Caps()
	}
	send(w, http.StatusOK, map[string]any{
		"from": now.AddDate(0, 0, 1-int(days)).Format(time.DateOnly), "to": now.Format(time.DateOnly), "caps": caps,
		"days":     perDay(rows),
		"models":   per(rows, func(r *Spend) string { return r.Model }),
		"sessions": per(rows, func(r *Spend) string { return r.Session }),
		"users":    per(rows, func(r *Spend) string { return r.User }),
	})
	return nil
}

// perDay sums up by day and model, in order.
func perDay(rows []Spend) []spendRow {
	type key struct{ day, model string }
	sums := map[key]*spendRow{}
	for i := range rows {
		r := &rows[i]
		k := key{r.Day, r.Model}
		if sums[k] == nil {
			sums[k] = &spendRow{Day: r.Day, Name: r.Model}
		}
		sums[k].add(r)
	}
	out := make([]spendRow, 0, len(sums))
	for _, s := range sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b spendRow) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Name, b.Name)) })
	return out
}

// per sums up by what by says, the most expensive first, and the small ones in
// one last row.
func per(rows []Spend, by func(*Spend) string) []spendRow {
	sums := map[string]*spendRow{}
	for i := range rows {
		r := &rows[i]
		name := by(r)
		if sums[name] == nil {
			sums[name] = &spendRow{Name: name}
		}
		sums[name].add(r)
	}
	out := make([]spendRow, 0, len(sums))
	for _, s := range sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b spendRow) int {
		return cmp.Or(cmp.Compare(b.nanos, a.nanos), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
	})
	if len(out) <= spendMost {
		return out
	}
	rest := spendRow{Rest: len(out) - spendMost}
	for _, s := range out[spendMost:] {
		rest.Calls, rest.Tokens, rest.nanos = rest.Calls+s.Calls, rest.Tokens+s.Tokens, rest.nanos+s.nanos
	}
	rest.USD = float64(rest.nanos) / nanosPerDollar
	return append(out[:spendMost], rest)
}

// costs remembers for a moment what each session cost in the last 30 days. The
// zero value works.
type costs struct {
	mu sync.Mutex
	at time.Time
	by map[string]int64
}

// of returns them in billionths of a dollar, none if they can't be read: the
// list is worth more than its last column.
func (c *costs) of(ctx context.Context, spend Spending) map[string]int64 {
	if spend == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.at) < costsFresh {
		return c.by
	}
	rows, err := spend(ctx, now.AddDate(0, 0, 1-spendDays), now)
	if err != nil {
		return c.by
	}
	c.at, c.by = now, map[string]int64{}
	for i := range rows {
		c.by[rows[i].Session] += rows[i].Nanos
	}
	return c.by
}
