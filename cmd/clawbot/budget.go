package main

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"clawbot/agentcore"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/gateway/budget"
	"clawbot/gateway/schedule"
	"clawbot/internal/metrics"
	"clawbot/store"
)

// meters count what models do and cost, and notice keys that fail. All may be
// nil.
type meters struct {
	counts *metrics.Metrics
	budget *budget.Budget
	alerts *gateway.Alerts
	traces tracer // nil: nothing is traced
}

func newMeters(cfg *config.Config, s store.Store, counts *metrics.Metrics, log *slog.Logger) (meters, error) {
	zone := time.UTC // and not the machine's: replicas on several must agree
	if cfg.Agent.TimeZone != "" {
		var err error
		if zone, err = schedule.Zone(cfg.Agent.TimeZone); err != nil {
			return meters{}, fmt.Errorf("agent.time_zone: %w", err)
		}
	}
	b, err := budget.New(budget.Config{Store: s, Limits: limits(cfg.Budget), Zone: zone, Observe: counts.Cost, Logger: log})
	if err != nil {
		return meters{}, err
	}
	for _, problem := range unpriced(cfg, log) {
		log.Error(problem)
	}
	return meters{counts: counts, budget: b, alerts: &gateway.Alerts{}}, nil
}

func limits(b config.Budget) budget.Limits {
	return budget.Limits{DailyUSD: b.DailyUSD, SessionUSD: b.SessionUSD, UserUSD: b.UserUSD, RunTokens: b.RunTokens, WarnAt: b.WarnAt}
}

// unpriced lists what will not be asked because its price is not known while a
// cap in dollars is set, and what to set.
func unpriced(cfg *config.Config, log *slog.Logger) []string {
	if !cfg.Budget.Capped() {
		return nil
	}
	var problems []string
	choice := models{cfg: cfg}
	refs := slices.Concat(choice.refs(), cfg.AllModels())
	slices.Sort(refs)
	for _, ref := range slices.Compact(refs) {
		model, err := newProvider(cfg, ref, log)
		if err != nil {
			continue // which is told elsewhere
		}
		if d, ok := model.(agentcore.Describer); !ok || d.Info().Price == nil {
			name, id, _ := config.ModelRef(ref)
			problems = append(problems, fmt.Sprintf("%s is not asked, for its price is not known and [budget] has a cap: "+
				"set price = { input = …, output = … } in [providers.%s.models.%q], in US dollars for a million tokens (0 for what costs nothing)", ref, name, id))
		}
	}
	if ref := cfg.Audio.Transcribe; ref != "" && speechPrice(cfg) == nil {
		problems = append(problems, fmt.Sprintf("%s is not asked, for its price is not known and [budget] has a cap: "+
			"set usd_per_minute of [audio] (0 for what costs nothing)", ref))
	}
	return problems
}
