package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"clawbot/agentcore"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/tools"
)

// toolbox gives the registry's tools to conversations, as [tools] allows.
type toolbox struct {
	registry    *tools.Registry
	policy      tools.Policy
	permissions map[string]config.Permission
	log         *slog.Logger
}

var (
	_ gateway.Toolbox = (*toolbox)(nil)
	_ gateway.Teller  = (*toolbox)(nil)
)

func newToolbox(cfg *config.Config, log *slog.Logger) (*toolbox, error) {
	registry := tools.NewRegistry()
	if err := registry.Rebuild(sources()...); err != nil {
		return nil, fmt.Errorf("build the registry of tools: %w", err)
	}
	return &toolbox{
		registry:    registry,
		policy:      tools.Policy{Rules: cfg.Tools.Rules, Roles: cfg.Tools.Roles, Channels: cfg.Tools.Channels},
		permissions: cfg.Tools.Permissions,
		log:         log,
	}, nil
}

// For implements [gateway.Toolbox].
func (b *toolbox) For(_ context.Context, req gateway.ToolRequest) []*agentcore.Tool {
	set, err := b.registry.Set(tools.Request{Policy: &b.policy, Who: audience(req)})
	if err != nil {
		b.log.Error("no tools are given: two of them contradict each other", "err", err)
		return nil
	}
	return slices.DeleteFunc(set.Tools, func(t *agentcore.Tool) bool { return b.closed(t.Name) })
}

// closed reports whether a tool is off for everybody. Nobody can be asked for
// approval yet, so what needs one is off too.
func (b *toolbox) closed(tool string) bool {
	mode := b.permissions[tool].Mode
	return mode == "deny" || mode == "ask"
}

// Tell implements [gateway.Teller].
func (b *toolbox) Tell(name string, arguments json.RawMessage) string {
	entry, ok := b.registry.Get(name)
	if !ok || entry.Tool.Telling == nil {
		return ""
	}
	return entry.Tool.Telling(arguments)
}

func audience(req gateway.ToolRequest) tools.Audience {
	who := tools.Audience{Owner: req.Role == gateway.RoleOwner, Direct: req.Target.Direct}
	if !who.Owner && req.Role != gateway.RoleGuest {
		who.Roles = []string{req.Role}
	}
	platform, _, _ := strings.Cut(req.Channel, ".")
	for _, name := range []string{req.Channel, platform} {
		if req.Target.Chat != "" {
			who.Channels = append(who.Channels, name+":"+req.Target.Chat)
		}
	}
	who.Channels = append(who.Channels, req.Channel, platform)
	return who
}
