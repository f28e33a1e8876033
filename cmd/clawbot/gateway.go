package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/terminal"
	"clawbot/channels/web"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/store"
)

// newGateway makes the bot's heart of the configuration and its parts.
func newGateway(cfg *config.Config, s store.Store, model agentcore.Model, list []channels.Channel, box *toolbox, m meters, audit *auditLog, log *slog.Logger) (*gateway.Gateway, error) {
	gw, err := gatewayConfig(cfg, model, m, log)
	if err != nil {
		return nil, err
	}
	wire := wireLog(cfg, log)
	gw.Store, gw.Channels, gw.Toolbox, gw.Budget = s, list, box, m.budget
	gw.Workspace = gateway.Workspace{Root: cfg.Tools.Workspace, Scope: cfg.Tools.WorkspaceScope}
	gw.MaxRuns, gw.Drain, gw.LeaseTTL = cfg.Server.MaxRuns, orNone(cfg.Server.Drain), cfg.Store.LeaseTTL
	gw.Audit, gw.Observer, gw.Alerts, gw.Logger = audit.call(), m.observer(), m.alerts, log
	gw.Deleted = func(session string) {
		if err := wire.Forget(session); err != nil {
			log.Error("a deleted conversation's recorded model calls were not removed", "session", session, "err", err)
		}
	}
	return gateway.New(gw)
}

// gatewayConfig is what of the configuration a gateway can take anew while it
// runs.
func gatewayConfig(cfg *config.Config, model agentcore.Model, m meters, log *slog.Logger) (gw gateway.Config, err error) {
	prompt, err := systemPrompt(&cfg.Agent)
	if err != nil {
		return gw, err
	}
	transcriber, err := newTranscriber(cfg, m, log)
	if err != nil {
		return gw, err
	}
	choice := &models{cfg: cfg, meters: m, log: log, made: map[string]agentcore.Model{cfg.Agent.Model: model}}
	profiles, err := agents(cfg, m, log)
	if err != nil {
		return gw, err
	}
	return gateway.Config{
		Model: model, Models: choice.get, ModelRefs: choice.refs(), Transcriber: transcriber,
		Agent: gateway.Agent{
			Name: cfg.Agent.Name, SystemPrompt: prompt, Temperature: cfg.Agent.Temperature,
			MaxTokens: cfg.Agent.MaxTokens, Thinking: cfg.Agent.Thinking, Zone: timeZone(cfg),
		},
		Agents: profiles, Routes: routes(cfg),
		Loop: gateway.Loop{
			MaxIterations: cfg.Loop.MaxIterations, NoLimitSummary: !cfg.Loop.MaxIterationsSummary, Timeout: cfg.Loop.Timeout,
			ToolExecution: cfg.Loop.ToolExecution, MaxParallelTools: cfg.Loop.MaxParallelTools,
		},
		Compaction: gateway.Compaction{Off: !cfg.Compaction.Enabled, Reserve: cfg.Compaction.Reserve, Keep: cfg.Compaction.Keep},
		Queue: gateway.Queue{
			Mode: cfg.Queue.Mode, Channels: cfg.Queue.Channels, SteerBy: cfg.Queue.SteerBy,
			Debounce: orNone(cfg.Queue.Debounce), Cap: cfg.Queue.Cap, Drop: cfg.Queue.Drop,
		},
		Schedules: gateway.Schedules{
			PerUser: cfg.Schedules.PerUser, PerConversation: cfg.Schedules.PerConversation, MinInterval: cfg.Schedules.MinInterval,
		},
		Retention: gateway.Retention{
			Age: cfg.Retention.Age, Count: cfg.Retention.Count, DeadLetters: cfg.Retention.DeadLetters,
		},
		Access: access(cfg),
	}, nil
}

// orNone says "none" to a Config whose zero means "the default".
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func systemPrompt(cfg *config.Agent) (string, error) {
	if cfg.SystemPromptFile == "" {
		return cfg.SystemPrompt, nil
	}
	data, err := os.ReadFile(cfg.SystemPromptFile)
	if err != nil {
		return "", fmt.Errorf("agent.system_prompt_file: %w; mend the path, or use agent.system_prompt", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// access says who may speak. Whoever sits at the terminal, or opens the page on
// this machine, is an owner; whoever has the page's token may speak.
func access(cfg *config.Config) gateway.Access {
	page := gateway.ChannelAccess{Owners: []string{"web:local"}}
	if len(cfg.Server.Token) > 0 {
		page.DMPolicy = "open"
	}
	a := gateway.Access{
		DMPolicy: cfg.Access.DMPolicy, GroupPolicy: cfg.Access.GroupPolicy, Owners: cfg.Access.Owners, Acknowledge: cfg.Access.Acknowledge, Approvers: cfg.Access.Approvers,
		Failed: cfg.Access.Failed, Bots: cfg.Access.Bots, Progress: cfg.Access.Progress, Partial: cfg.Access.Partial, Rooms: rooms(cfg.Access.Rooms),
		Channels: map[string]gateway.ChannelAccess{terminal.Name: {Owners: []string{"*"}}, web.Name: page},
	}
	a.Rate = gateway.Rate{User: limit(cfg.Access.Rate.User), Room: limit(cfg.Access.Rate.Room), Guild: limit(cfg.Access.Rate.Guild), MinAccountAge: cfg.Access.Rate.MinAccountAge}
	if t := cfg.Channels.Telegram; t != nil {
		for name, bot := range t.Bots() {
			a.Channels[name] = channelAccess("telegram", &bot.ChannelAccess)
		}
	}
	if s := cfg.Channels.Slack; s != nil {
		for name, app := range s.Bots() {
			a.Channels[name] = channelAccess("slack", &app.ChannelAccess)
		}
	}
	if d := cfg.Channels.Discord; d != nil {
		for name, bot := range d.Bots() {
			a.Channels[name] = channelAccess("discord", &bot.ChannelAccess)
		}
	}
	return a
}

func limit(l config.RateLimit) gateway.Limit {
	return gateway.Limit{Messages: l.Messages, Runs: l.Runs}
}

func channelAccess(platform string, c *config.ChannelAccess) gateway.ChannelAccess {
	ids := make([]string, len(c.AllowFrom))
	for i, id := range c.AllowFrom {
		ids[i] = strings.TrimPrefix(id, platform+":")
	}
	return gateway.ChannelAccess{DMPolicy: c.DMPolicy, GroupPolicy: c.GroupPolicy, AllowFrom: ids}
}
