package config

import (
	"fmt"
	"maps"
	"slices"

	"clawbot/agentcore"
)

// Capped reports whether a cap in dollars is set, for which every price must be
// known.
func (b Budget) Capped() bool { return b.DailyUSD > 0 || b.SessionUSD > 0 || b.UserUSD > 0 }

// checkPrices refuses prices that would disarm a cap, or that can't be meant.
func (c *checker) checkPrices() {
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Providers)) {
		models := c.cfg.Providers[name].Models
		for _, model := range slices.Sorted(maps.Keys(models)) {
			m, path := models[model], []string{"providers", name, "models", model}
			if m.Price != nil {
				c.checkPrice(append(slices.Clone(path), "price"), *m.Price)
			}
			path = append(path, "prices")
			if m.Price != nil && len(m.Prices) > 0 {
				c.problem(path, "price is set too; keep one of them")
			}
			from := map[string]bool{}
			for i, p := range m.Prices {
				at := append(slices.Clone(path), fmt.Sprint(i))
				c.checkPrice(at, p)
				day := p.From.String()
				if from[day] {
					c.problem(at, "another price holds from the same date; give each its own")
				}
				from[day] = true
			}
		}
	}
}

func (c *checker) checkPrice(path []string, p agentcore.Price) {
	if c.failed(path...) {
		return // a misspelt key is what is missing
	}
	if !c.cfg.Budget.Capped() {
		return
	}
	for _, word := range []struct {
		key   string
		value float64
	}{{"input", p.Input}, {"output", p.Output}} {
		if _, written := c.doc.places[keyPath(append(slices.Clone(path), word.key))]; !written && word.value == 0 {
			c.problem(path, "has no %s, which then costs nothing and escapes the cap of [budget]; write %s = 0 if that is so", word.key, word.key)
		}
	}
	if p.LongAfter > 0 && (p.Long.Input < p.Input || p.Long.Output < p.Output) {
		c.problem(path, "long is cheaper than what is not long; write input and output of long as the vendor has them")
	}
}
