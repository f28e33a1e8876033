package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/redis/go-redis/v9/logging"

	"clawbot/agentcore"
	"clawbot/agentcore/repair"
	"clawbot/channels"
	"clawbot/channels/telegram"
	"clawbot/config"
	"clawbot/internal/wirelog"
	"clawbot/providers"
	"clawbot/providers/anthropic"
	"clawbot/providers/demo"
	"clawbot/providers/google"
	"clawbot/providers/mistral"
	"clawbot/providers/openai"
	"clawbot/store"
	"clawbot/store/memory"
	"clawbot/store/redis"
	"clawbot/store/sqlite"
)

// This file is the one table that says which implementations the program has:
// wire formats, store drivers, channels with tokens, sources of tools. The page
// and the terminal are wired in run.go and chat.go, for they need more.

// format makes a model of a provider.
type format func(cfg providers.Config, model string) (agentcore.Model, error)

func formats() map[string]format {
	return map[string]format{
		providers.FormatAnthropic: anthropic.New,
		providers.FormatOpenAI:    openai.New,
		providers.FormatResponses: openai.New,
		providers.FormatGoogle:    google.New,
		providers.FormatMistral:   mistral.New,
		providers.FormatDemo:      demo.New,
	}
}

// driver opens a store.
type driver func(ctx context.Context, cfg config.Store, log *slog.Logger) (store.Store, error)

func drivers() map[string]driver {
	return map[string]driver{
		"sqlite": func(ctx context.Context, cfg config.Store, log *slog.Logger) (store.Store, error) {
			s, err := sqlite.Open(ctx, sqlite.Config{Path: cfg.Path, Logger: log})
			if err != nil {
				return nil, err // and not an interface that holds a nil pointer
			}
			return s, nil
		},
		"redis": func(ctx context.Context, cfg config.Store, log *slog.Logger) (store.Store, error) {
			logging.Disable() // the client library's own log: what it has to say comes as errors, too
			s, err := redis.Open(ctx, redis.Config{
				URL: cfg.URL.Reveal(), Prefix: cfg.Prefix, RequireDurability: cfg.RequireDurability,
				Replicas: cfg.WaitReplicas, Logger: log,
			})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		"memory": func(context.Context, config.Store, *slog.Logger) (store.Store, error) {
			return memory.New(), nil
		},
	}
}

// platform makes the configured bots of one platform, none if it is off.
type platform struct {
	name string
	make func(cfg *config.Channels, log *slog.Logger) ([]channels.Channel, error)
	// accounts names the bots that are on, and says whether the platform is
	// configured at all.
	accounts func(cfg *config.Channels) (names []string, configured bool)
	// env names the variable that switches it on without a configuration.
	env string
}

func platforms() []platform {
	return []platform{
		{"telegram", telegramBots, telegramAccounts, "TELEGRAM_BOT_TOKEN"},
		{"slack", slackBots, slackAccounts, "SLACK_BOT_TOKEN"},
		{"discord", discordBots, discordAccounts, "DISCORD_BOT_TOKEN"},
	}
}

// newLoader returns a loader that refuses what this program doesn't have.
func newLoader() *config.Loader {
	l := &config.Loader{
		Formats:  slices.Sorted(maps.Keys(formats())),
		Drivers:  slices.Sorted(maps.Keys(drivers())),
		Channels: []string{"web", "terminal"},
	}
	for _, p := range platforms() {
		l.Channels = append(l.Channels, p.name)
	}
	return l
}

func telegramBots(cfg *config.Channels, log *slog.Logger) ([]channels.Channel, error) {
	var bots []channels.Channel
	if cfg.Telegram == nil {
		return nil, nil
	}
	accounts := cfg.Telegram.Bots()
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		a := accounts[name]
		bot, err := telegram.New(telegram.Config{
			Name: name, Token: a.Token, APIURL: a.APIURL, Proxy: a.Proxy, Mode: a.Mode, AllowFrom: a.AllowFrom,
			PollTimeout: a.PollTimeout, WebhookURL: a.WebhookURL, WebhookSecret: a.WebhookSecret, Drafts: a.Drafts,
			ReplyIn: a.ReplyIn, ReplyInRooms: a.ReplyInRooms, Logger: log,
		})
		if err != nil {
			return nil, fmt.Errorf("channels.%w", err)
		}
		bots = append(bots, bot)
	}
	return bots, nil
}

func telegramAccounts(cfg *config.Channels) (names []string, configured bool) {
	if cfg.Telegram == nil {
		return nil, false
	}
	return slices.Sorted(maps.Keys(cfg.Telegram.Bots())), true
}

// newModel builds the one stack of decorators that every run calls:
//
//	failover( retry( budget( repair( provider ))), … )
//
// Whatever counts or mends single attempts belongs between failover and
// provider, in [attempt]. The budget is below retry, since each attempt is paid
// for, answered or not.
func newModel(cfg *config.Config, m meters, log *slog.Logger) (agentcore.Model, error) {
	var models []agentcore.Model
	for _, ref := range append([]string{cfg.Agent.Model}, cfg.Agent.Fallbacks...) {
		provider, err := newProvider(cfg, ref, log, m.traced)
		if err != nil {
			return nil, err
		}
		if cfg.Log.Wire {
			provider = wirelog.Sessions(provider)
		}
		models = append(models, attempt(m.counts.Model(m.spans(watchKey(provider, providerOf(ref), m.alerts))), m, cfg, log))
	}
	return providers.Failover(models, providers.FailoverConfig{Logger: log}), nil
}

// attempt is what stands around one provider. Calls that a model wrote as text
// are mended before anything else sees its answer.
func attempt(provider agentcore.Model, m meters, cfg *config.Config, log *slog.Logger) agentcore.Model {
	if d, ok := provider.(agentcore.Describer); ok && writesCalls(d.Info().Ref.Format) {
		provider = repair.Wrap(provider)
	}
	if m.budget != nil {
		provider = m.budget.Model(provider)
	}
	return providers.Retry(provider, providers.RetryConfig{Max: cfg.Loop.RetryOnError, Logger: log})
}

// writesCalls reports whether models behind a format write calls as text at
// times: those that anybody's server speaks, with any model and any template.
// Where the vendor's own models answer, what looks like a call is an example.
func writesCalls(format string) bool {
	return format == providers.FormatOpenAI || format == providers.FormatResponses || format == providers.FormatMistral
}

// newProvider makes a provider. Around, if there are any, stand around its
// transport, and nearer to the bot than what records requests.
func newProvider(cfg *config.Config, ref string, log *slog.Logger, around ...func(http.RoundTripper) http.RoundTripper) (agentcore.Model, error) {
	settings, model, err := providerConfig(cfg, ref, log)
	if err != nil {
		return nil, err
	}
	for _, outer := range around {
		inner := settings.Transport
		settings.Transport = func(next http.RoundTripper) http.RoundTripper {
			if inner != nil {
				next = inner(next)
			}
			return outer(next)
		}
	}
	build, ok := formats()[settings.Format]
	if !ok {
		return nil, fmt.Errorf("providers.%s.format: this version of clawbot doesn't speak %q", settings.Name, settings.Format)
	}
	return build(settings, model)
}

// providerConfig is the provider of a "provider/model", and the model.
func providerConfig(cfg *config.Config, ref string, log *slog.Logger) (settings providers.Config, model string, err error) {
	name, model, err := config.ModelRef(ref)
	if err != nil {
		return settings, "", err
	}
	p := cfg.Providers[name]
	headers := make(map[string]string, len(p.Headers))
	for k, v := range p.Headers {
		headers[k] = v.Reveal()
	}
	settings = providers.Config{
		Name: name, Format: p.Format, BaseURL: p.BaseURL, APIKeys: p.APIKey.Reveal(), Proxy: p.Proxy,
		Headers: headers, Compat: p.Compat, Models: p.Models, IdleTimeout: p.IdleTimeout, Logger: log,
	}
	if cfg.Log.Wire {
		settings.Transport = wireLog(cfg, log).Transport
	}
	return settings, model, nil
}
