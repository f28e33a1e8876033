package main

import "clawbot/config"

// absent lists the settings that this version doesn't act on. What protects is
// refused, since a bot that runs without it would deceive whoever set it.
func absent() []config.Absent {
	const budget = "this version does not enforce budgets; set it to 0, and a limit with the model's vendor"
	const later = "this version does not act on it"
	return []config.Absent{
		{Key: "budget.daily_usd", Message: budget, Refuse: true},
		{Key: "budget.session_usd", Message: budget, Refuse: true},
		{Key: "budget.user_usd", Message: budget, Refuse: true},
		{Key: "budget.run_tokens", Message: budget, Refuse: true},
	}
}
