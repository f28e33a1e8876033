package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"clawbot/config"
	"clawbot/tools"
	"clawbot/tools/mcp"
	"clawbot/tools/plugin"
)

// addServers makes the servers of [tools.mcp]; run connects them.
func (b *toolbox) addServers(cfg *config.Config, log *slog.Logger) error {
	b.servers = map[string]*mcp.Server{}
	b.deferred = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Tools.MCP)) {
		c := cfg.Tools.MCP[name]
		server := mcp.Config{
			Name: name, Command: c.Command, URL: c.URL, Headers: map[string]string{}, Parallel: c.Parallel,
			Dir: cfg.Origin.Dir, Idempotent: c.Idempotent, Timeout: c.Timeout, Changed: b.rebuild, Logger: log,
		}
		for key, value := range c.Env {
			server.Env = append(server.Env, key+"="+value.Reveal())
		}
		for key, value := range c.Headers {
			server.Headers[key] = value.Reveal()
		}
		s, err := mcp.New(server)
		if err != nil {
			return fmt.Errorf("tools.%w", err)
		}
		if slices.ContainsFunc(b.plugins, func(p *plugin.Manifest) bool { return p.Name == name }) {
			return fmt.Errorf("tools.mcp.%s: a plugin has the same name, by which their tools are told apart; give one of them another", name)
		}
		b.servers[name] = s
		b.deferred[name] = c.Defer
	}
	return nil
}

// run keeps the servers connected until ctx ends.
func (b *toolbox) run(ctx context.Context) error {
	var group errgroup.Group
	for _, s := range b.servers {
		group.Go(func() error { return s.Run(ctx) })
	}
	return group.Wait()
}

// start runs the servers beside a conversation and waits for their first
// answers; stop ends them.
func (b *toolbox) start(ctx context.Context) (stop func()) {
	running, cancel := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { return b.run(running) })
	patience, done := context.WithTimeout(ctx, serverPatience)
	defer done()
	b.ready(patience)
	return func() {
		cancel()
		_ = group.Wait() // it reports through the tools that are hidden
	}
}

// startPatience is how long the bot waits for its servers before it begins to
// answer. Their tools come when they do.
const startPatience = 5 * time.Second

// settle gives the servers a moment to connect; without servers it takes none.
func (b *toolbox) settle(ctx context.Context) {
	patience, done := context.WithTimeout(ctx, startPatience)
	defer done()
	b.ready(patience)
}

// ready waits until each server has been tried once, or ctx ends.
func (b *toolbox) ready(ctx context.Context) {
	for _, s := range b.servers {
		s.Ready(ctx)
	}
}

// rebuild takes in what the servers offer now.
func (b *toolbox) rebuild() {
	b.rebuilding.Lock()
	defer b.rebuilding.Unlock()
	sources := append([]tools.Source{b.builtin.Source(), b.indirect()}, b.pluginSources()...)
	for _, name := range slices.Sorted(maps.Keys(b.servers)) {
		sources = append(sources, b.servers[name].Source())
	}
	if err := b.registry.Rebuild(sources...); err != nil {
		b.log.Error("the tools stay as they were: two of them contradict each other", "err", err)
	}
	b.generation.Add(1)
}

// down says why a tool's server can't be used; nil for tools of none.
func (b *toolbox) down(entry *tools.Entry) error {
	if s := b.servers[entry.Tool.Owner.ID]; s != nil && entry.Tool.Owner.Kind == tools.MCP {
		return s.Err()
	}
	return nil
}
