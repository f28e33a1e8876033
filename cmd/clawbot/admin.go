package main

import (
	"context"
	"io"
	"time"

	"clawbot/config"
	"clawbot/internal/redact"
	"clawbot/internal/version"
	"clawbot/server/admin"
)

// newAdmin makes the operator's page of the bot's parts.
func (b *bot) newAdmin() (*admin.Admin, error) {
	_, shared := b.store.(claimer)
	return admin.New(admin.Config{
		Store: b.store, Gateway: b.gateway, Tools: b.listTools, Settings: b.settings, Log: &b.recent,
		Exports: map[string]admin.Export{"jsonl": exportJSONL, "markdown": exportMarkdown},
		Spend:   b.spend, Caps: b.caps,
		Answers: func() (name, model string) {
			agent := &b.now.Load().Agent
			return agent.Name, agent.Model
		},
		Info: admin.Info{
			Name: b.cfg.Agent.Name, Model: b.cfg.Agent.Model, Store: b.cfg.Store.Driver, Version: version.Get().Version,
			SignedIn: len(b.cfg.Server.Token) > 0, Started: time.Now().UTC(),
		},
		Shared: shared, Logger: b.log,
	})
}

// spend reads what models cost.
func (b *bot) spend(ctx context.Context, from, to time.Time) ([]admin.Spend, error) {
	rows, err := b.meters.budget.Spend(ctx, from, to)
	if err != nil {
		return nil, err
	}
	out := make([]admin.Spend, len(rows))
	for i, r := range rows {
		out[i] = admin.Spend{
			Day: r.Day, Model: r.Model, Session: r.Session, User: r.User, Calls: r.Calls, Tokens: r.Usage.Total(), Nanos: r.Usage.Cost,
		}
	}
	return out, nil
}

func (b *bot) caps() admin.Caps {
	l := b.meters.budget.Limits()
	return admin.Caps{DailyUSD: l.DailyUSD, SessionUSD: l.SessionUSD, UserUSD: l.UserUSD}
}

func (b *bot) listTools(_ context.Context, who admin.Audience) ([]admin.Tool, error) {
	return b.box.lines(toolsAudience{guest: who.Guest, role: who.Role, room: who.Room, channel: who.Channel}.request())
}

// settings is the configuration for people: what is no secret by its kind may
// still repeat one.
func (b *bot) settings() []config.Setting {
	cfg := b.now.Load()
	clean := redact.New(cfg.Secrets()...)
	list := cfg.Settings()
	for i := range list {
		list[i].Value = clean.String(list[i].Value)
	}
	return list
}

// tee writes to both. The first never fails.
type tee struct{ first, second io.Writer }

func (t tee) Write(p []byte) (int, error) {
	_, _ = t.first.Write(p)
	return t.second.Write(p)
}
