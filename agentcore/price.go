package agentcore

import (
	"math"
	"time"
)

// Price is what a model costs, in US dollars per million tokens. The zero value
// is the price of what costs nothing.
type Price struct {
	Input      float64 `min:"0" max:"1000000"`
	Output     float64 `min:"0" max:"1000000"`
	CacheRead  float64 `min:"0" max:"1000000"`
	CacheWrite float64 `min:"0" max:"1000000"`
	// From is when the price begins to hold; zero is always.
	From time.Time
	// LongAfter is the number of tokens that a request may have, cached ones
	// included, before all of it costs what Long says; 0 is any number.
	LongAfter int64 `min:"0"`
	Long      LongPrice
}

// LongPrice is what a long request costs, in US dollars per million tokens.
type LongPrice struct {
	Input      float64 `min:"0" max:"1000000"`
	Output     float64 `min:"0" max:"1000000"`
	CacheRead  float64 `min:"0" max:"1000000"`
	CacheWrite float64 `min:"0" max:"1000000"`
}

// NanosPerDollar is how many of the units that costs are counted in make a US
// dollar: sums of whole billionths lose nothing.
const NanosPerDollar = 1_000_000_000

// Nanos returns what u costs in billionths of a US dollar, rounded up. It is
// never negative, whatever a server reports.
func (p Price) Nanos(u Usage) int64 {
	input := max(u.Input, 0) + max(u.CacheRead, 0) + max(u.CacheWrite, 0)
	rate := LongPrice{p.Input, p.Output, p.CacheRead, p.CacheWrite}
	if p.LongAfter > 0 && input > p.LongAfter {
		rate = p.Long
	}
	dollars := float64(max(u.Input, 0))*rate.Input + float64(max(u.Output, 0))*rate.Output +
		float64(max(u.CacheRead, 0))*rate.CacheRead + float64(max(u.CacheWrite, 0))*rate.CacheWrite
	// A billionth less, so that what is whole but for a float's error stays so.
	nanos := math.Ceil(dollars*1e3 - 1e-6)
	if !(nanos > 0) {
		return 0
	}
	return int64(min(nanos, math.MaxInt64/1024))
}

// Cost returns what u costs in US dollars.
func (p Price) Cost(u Usage) float64 { return float64(p.Nanos(u)) / NanosPerDollar }

// PriceAt returns the price that holds at t, nil if none is known. Before the
// first of the dated ones, that one is the best there is.
func (m *ModelInfo) PriceAt(t time.Time) *Price {
	best := m.Price
	var from time.Time
	for i := range m.Prices {
		p := &m.Prices[i]
		if i == 0 || !p.From.After(t) && !p.From.Before(from) {
			best, from = p, p.From
		}
	}
	return best
}
