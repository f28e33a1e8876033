package main

import (
	"context"

	"clawbot/agentcore"
	"clawbot/tools"
	"clawbot/tools/plugin"
)

// Before implements [gateway.Hooks].
func (b *toolbox) Before(ctx context.Context, call agentcore.Call) (agentcore.BeforeResult, error) {
	return plugin.Before(ctx, b.plugins, call)
}

// After implements [gateway.Hooks].
func (b *toolbox) After(ctx context.Context, call agentcore.Call, result agentcore.Result) (agentcore.AfterResult, error) {
	return plugin.After(ctx, b.plugins, call, result)
}

// pluginSources are the tools of the plugins.
func (b *toolbox) pluginSources() []tools.Source {
	sources := make([]tools.Source, len(b.plugins))
	for i, p := range b.plugins {
		sources[i] = p.Source()
	}
	return sources
}
