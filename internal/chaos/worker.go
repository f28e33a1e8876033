package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/telegram"
	"clawbot/gateway"
	"clawbot/internal/redact"
	"clawbot/providers"
	"clawbot/providers/openai"
	"clawbot/store"
	"clawbot/store/redis"
)

// settings of a worker, in its environment.
type settings struct {
	Redis, Prefix            string
	Telegram, Token, Webhook string
	Model, Key, World        string
	TTL                      time.Duration
	Deaf, Timeless           bool
	// Replicated waits for Redis's own replica.
	Replicated bool
}

const (
	settingsVariable = "CLAWBOT_CHAOS"
	// mutantVariable breaks the store, in a program built with the tag chaos.
	mutantVariable = "CLAWBOT_MUTANT"
)

// work is a replica: the rooms of the real program, with one tool that changes
// the world.
func work() int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if err := serve(log); err != nil {
		log.Error("the worker ended", "err", err)
		return 1
	}
	return 0
}

func serve(log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var cfg settings
	if err := json.Unmarshal([]byte(os.Getenv(settingsVariable)), &cfg); err != nil {
		return err
	}
	storeConfig := redis.Config{URL: cfg.Redis, Prefix: cfg.Prefix, Logger: log}
	if cfg.Replicated {
		storeConfig.Replicas = 1
	}
	shared, err := redis.Open(ctx, storeConfig)
	if err != nil {
		return err
	}
	defer shared.Close()
	model, err := openai.New(providers.Config{
		Name: "chaos", Format: providers.FormatOpenAI, BaseURL: cfg.Model, APIKeys: []string{cfg.Key}, Logger: log,
	}, "scripted")
	if err != nil {
		return err
	}
	bot, err := telegram.New(telegram.Config{
		Token: redact.Secret(cfg.Token), APIURL: cfg.Telegram, Mode: telegram.ModeWebhook, WebhookURL: cfg.Webhook, Logger: log,
	})
	if err != nil {
		return err
	}
	var s store.Store = shared
	if cfg.Deaf {
		s = deaf{shared}
	}
	hold := cfg.TTL
	if cfg.Timeless {
		s, hold = timeless{s, cfg.TTL}, time.Minute
	}
	g, err := gateway.New(gateway.Config{
		Store: s, Channels: []channels.Channel{bot}, Model: providers.Retry(model, providers.RetryConfig{Max: 2, Logger: log}),
		Toolbox: toolbox{touch(cfg.World)}, Access: gateway.Access{DMPolicy: "open"},
		Queue: gateway.Queue{Debounce: 50 * time.Millisecond}, Drain: time.Second, LeaseTTL: hold, Logger: log,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	if h, ok := bot.(channels.Handler); ok {
		mux.Handle(h.Handler())
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends with the process
	defer server.Close()
	fmt.Println("http://" + listener.Addr().String())
	return g.Run(ctx)
}

// deaf is a store whose hints are all lost.
type deaf struct{ store.Store }

func (d deaf) Bus() store.Bus { return deafBus{d.Store.Bus()} }

type deafBus struct{ store.Bus }

func (deafBus) Publish(context.Context, string, []byte) error { return nil }

// timeless is a store whose leases end long before their holder thinks, as if
// its clock stood still: it neither renews in time nor stops by itself.
type timeless struct {
	store.Store
	ttl time.Duration
}

func (t timeless) Acquire(ctx context.Context, session, owner string, _ time.Duration) (store.Lease, error) {
	return t.Store.Acquire(ctx, session, owner, t.ttl)
}

type toolbox []*agentcore.Tool

func (b toolbox) For(context.Context, gateway.ToolRequest) []*agentcore.Tool { return b }

// touch changes the world, which counts it, and takes a moment over it. It is
// not idempotent.
func touch(world string) *agentcore.Tool {
	return &agentcore.Tool{
		Name: "touch", Description: "Changes the world.",
		Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`),
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			var args struct{ ID string }
			if err := json.Unmarshal(call.Arguments, &args); err != nil {
				return agentcore.Result{}, err
			}
			// Once begun it is done, whatever becomes of the one who asked.
			resp, err := http.Post(world+"?id="+url.QueryEscape(args.ID), "", nil)
			if err != nil {
				return agentcore.Result{}, err
			}
			defer resp.Body.Close()
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			return agentcore.TextResult("touched " + args.ID), nil
		},
	}
}
