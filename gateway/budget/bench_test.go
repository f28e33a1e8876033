package budget

import (
	"context"
	"iter"
	"testing"

	"clawbot/agentcore"
	"clawbot/store/memory"
)

// babbler streams a hundred deltas.
type babbler struct{ *script }

func (babbler) Stream(context.Context, *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		for range 100 {
			if !yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: "word "}, nil) {
				return
			}
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Usage: agentcore.Usage{Input: 10, Output: 10}}, nil)
	}
}

// BenchmarkCall is all that a budget costs a model call of a hundred deltas in a
// conversation of two hundred messages: without it, without caps, and with all
// of them, the store's time included.
func BenchmarkCall(b *testing.B) {
	model := babbler{dollar()}
	for _, c := range []struct {
		name   string
		bare   bool
		limits Limits
	}{{"bare", true, Limits{}}, {"counted", false, Limits{}}, {"capped", false, Limits{DailyUSD: 1e6, SessionUSD: 1e6, UserUSD: 1e6}}} {
		b.Run(c.name, func(b *testing.B) {
			budget, err := New(Config{Store: memory.New(), Limits: c.limits})
			if err != nil {
				b.Fatal(err)
			}
			m := budget.Model(model)
			if c.bare {
				m = model
			}
			ctx := With(b.Context(), account("chat:1", "chat:ana"))
			req := request(100)
			for range 200 {
				req.Messages = append(req.Messages, req.Messages[0])
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(ctx, req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
