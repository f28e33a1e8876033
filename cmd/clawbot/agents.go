package main

import (
	"fmt"
	"log/slog"
	"slices"

	"clawbot/agentcore"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/tools"
)

// agents are the agents beside the main one, each with its stack of models.
func agents(cfg *config.Config, m meters, log *slog.Logger) (map[string]gateway.Profile, error) {
	profiles := map[string]gateway.Profile{}
	for name := range cfg.Agents {
		own := *cfg
		own.Agent = cfg.As(name)
		prompt, err := systemPrompt(&own.Agent)
		if err != nil {
			return nil, fmt.Errorf("agents.%s: %w", name, err)
		}
		p := gateway.Profile{Agent: gateway.Agent{
			Name: own.Agent.Name, SystemPrompt: prompt, Temperature: own.Agent.Temperature,
			MaxTokens: own.Agent.MaxTokens, Thinking: own.Agent.Thinking,
		}}
		if own.Agent.Model != cfg.Agent.Model || !slices.Equal(own.Agent.Fallbacks, cfg.Agent.Fallbacks) {
			if p.Model, err = newModel(&own, m, log); err != nil {
				return nil, fmt.Errorf("agents.%s: %w", name, err)
			}
		}
		profiles[name] = p
	}
	return profiles, nil
}

func routes(cfg *config.Config) []gateway.Route {
	list := make([]gateway.Route, len(cfg.Routes))
	for i, r := range cfg.Routes {
		list[i] = gateway.Route(r)
	}
	return list
}

// agentTools are what agents have of the tools that those whom they answer may
// use.
type agentTools map[string]tools.Rules

func newAgentTools(cfg *config.Config) agentTools {
	list := agentTools{}
	for name, p := range cfg.Agents {
		rules := tools.Rules{Enabled: p.Tools, Deny: p.Deny}
		if p.Tools == nil {
			rules.Enabled = []string{"*"}
		}
		list[name] = rules
	}
	return list
}

// narrow leaves of the tools those that the agent has.
func (a agentTools) narrow(agent string, list []*agentcore.Tool) []*agentcore.Tool {
	rules, ok := a[agent]
	if !ok {
		return list
	}
	policy := tools.Policy{Rules: rules}
	return slices.DeleteFunc(slices.Clone(list), func(t *agentcore.Tool) bool {
		return policy.Decide(t.Name, false, tools.Audience{Owner: true}) != nil
	})
}
