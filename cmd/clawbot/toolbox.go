package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"clawbot/agentcore"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/tools"
	"clawbot/tools/builtin"
	cmdline "clawbot/tools/command"
	"clawbot/tools/mcp"
	"clawbot/tools/plugin"
	"clawbot/tools/sandbox"
	"clawbot/tools/skill"
)

// toolbox gives the registry's tools to conversations, as [tools] allows. Close
// ends what they left running.
type toolbox struct {
	registry   *tools.Registry
	builtin    *builtin.Tools
	sandbox    *sandbox.Sandbox
	plugins    []*plugin.Manifest
	skills     []*skill.Skill
	servers    map[string]*mcp.Server
	deferred   map[string]bool // by server: its tools are found, not declared
	rebuilding sync.Mutex
	generation atomic.Int64 // raised by each rebuild
	rules      atomic.Pointer[toolRules]
	log        *slog.Logger
}

// toolRules are what [tools] says of who may use which tool, and how; they may
// be replaced while the bot runs.
type toolRules struct {
	policy      tools.Policy
	permissions map[string]config.Permission
	agents      agentTools
}

var (
	_ gateway.Toolbox  = (*toolbox)(nil)
	_ gateway.Resolver = (*toolbox)(nil)
	_ gateway.Changing = (*toolbox)(nil)
	_ gateway.Hooks    = (*toolbox)(nil)
	_ gateway.Teller   = (*toolbox)(nil)
	_ gateway.Judge    = (*toolbox)(nil)
)

func newToolbox(cfg *config.Config, log *slog.Logger) (*toolbox, error) {
	b := &toolbox{
		registry: tools.NewRegistry(),
		log:      log,
	}
	how := sandbox.Config{}
	if cfg.Tools.Sandbox == "off" {
		how.Kind = sandbox.Off
	}
	b.sandbox = sandbox.New(how)
	b.builtin = builtin.New(builtin.Config{Sandbox: b.sandbox, Zone: timeZone(cfg)})
	b.setRules(cfg)
	var err error
	// A plugin that can't be read could be the one that is to block something.
	if b.plugins, err = plugin.Load(cfg.Tools.Plugins.Dirs); err != nil {
		return nil, fmt.Errorf("tools.plugins: %w", err)
	}
	if err := b.addServers(cfg, log); err != nil {
		return nil, err
	}
	b.addSkills(cfg, log)
	b.rebuild()
	return b, nil
}

// setRules has the tools used as [tools], its roles, channels and permissions
// and [agents] say, from the next call on.
func (b *toolbox) setRules(cfg *config.Config) {
	run := cfg.Tools.Permissions["exec"]
	b.builtin.SetCommands(cmdline.Policy{Mode: run.Mode, Allow: run.Allow, Deny: run.Deny}, run.Network)
	b.rules.Store(&toolRules{
		policy:      tools.Policy{Rules: cfg.Tools.Rules, Roles: cfg.Tools.Roles, Channels: cfg.Tools.Channels},
		permissions: cfg.Tools.Permissions,
		agents:      newAgentTools(cfg),
	})
	b.generation.Add(1)
}

func (b *toolbox) close() { b.builtin.Close() }

// For implements [gateway.Toolbox].
func (b *toolbox) For(_ context.Context, req gateway.ToolRequest) []*agentcore.Tool {
	return b.fill(b.granted(req))
}

// Generation implements [gateway.Changing].
func (b *toolbox) Generation() int64 { return b.generation.Load() }

// granted are the tools that all whom they are wanted for may use.
func (b *toolbox) granted(req gateway.ToolRequest) []*agentcore.Tool {
	who := audience(req)
	own := who.Roles
	var given []*agentcore.Tool
	for i, roles := range req.Roles {
		who.Roles = slices.Concat(own, roles)
		given = b.shared(given, who, i == 0)
	}
	if len(req.Roles) == 0 {
		given = b.shared(nil, who, true)
	}
	return b.rules.Load().agents.narrow(req.Agent, given)
}

// shared is what of the tools an audience may have, too; the first one begins
// the list.
func (b *toolbox) shared(given []*agentcore.Tool, who tools.Audience, first bool) []*agentcore.Tool {
	set, err := b.set(who)
	if err != nil {
		b.log.Error("no tools are given: two of them contradict each other", "err", err)
		return nil
	}
	if first {
		return set.Tools
	}
	return slices.DeleteFunc(given, func(t *agentcore.Tool) bool {
		return !slices.ContainsFunc(set.Tools, func(also *agentcore.Tool) bool { return also.Name == t.Name })
	})
}

// set is what an audience gets, and what is hidden from it.
func (b *toolbox) set(who tools.Audience) (tools.Set, error) {
	set, err := b.registry.Set(tools.Request{Policy: &b.rules.Load().policy, Who: who})
	if err != nil {
		return set, err
	}
	var visible []*agentcore.Tool
	for _, t := range set.Tools {
		entry, ok := b.registry.Get(t.Name)
		if !ok {
			continue // gone since
		}
		if why := b.closed(entry); why != nil {
			set.Hidden = append(set.Hidden, tools.Hidden{Descriptor: entry.Tool.Descriptor, Diagnostics: []tools.Diagnostic{*why}})
			continue
		}
		visible = append(visible, t)
	}
	set.Tools = visible
	slices.SortFunc(set.Hidden, func(a, b tools.Hidden) int { return strings.Compare(a.Descriptor.Name, b.Descriptor.Name) })
	return set, nil
}

// closed says why a tool is off for everybody.
func (b *toolbox) closed(entry *tools.Entry) *tools.Diagnostic {
	tool := entry.Tool.Name
	if err := b.down(entry); err != nil {
		return &tools.Diagnostic{Reason: tools.ReasonDown, Message: err.Error()}
	}
	if b.rules.Load().permissions[tool].Mode == "deny" {
		return &tools.Diagnostic{Reason: tools.ReasonDenied, Message: fmt.Sprintf("denied (tools.permissions.%s.mode)", tool)}
	}
	if tool == "exec" || tool == "process" {
		if _, err := b.sandbox.Check(); err != nil {
			return &tools.Diagnostic{Reason: tools.ReasonUnsupported, Message: err.Error()}
		}
	}
	return nil
}

// Tell implements [gateway.Teller].
func (b *toolbox) Tell(name string, arguments json.RawMessage) string {
	entry, ok := b.registry.Get(name)
	if !ok || entry.Tool.Telling == nil {
		return ""
	}
	return entry.Tool.Telling(arguments)
}

// Judge implements [gateway.Judge]. A tool that judges its calls itself knows
// its mode; of others the mode is all there is.
func (b *toolbox) Judge(ctx context.Context, call agentcore.Call) (tools.Decision, error) {
	entry, ok := b.registry.Get(call.Name)
	if !ok {
		return tools.Decision{}, errors.New("the tool is gone")
	}
	decision := tools.Decision{Verdict: tools.Allow}
	if entry.Tool.Judge != nil {
		var err error
		if decision, err = entry.Tool.Judge(ctx, call); err != nil {
			return decision, err
		}
	}
	mode := b.rules.Load().permissions[call.Name].Mode
	if decision.Verdict != tools.Allow || mode != "ask" || call.Name == "exec" {
		return decision, nil
	}
	sum := sha256.Sum256(call.Arguments)
	return tools.Decision{
		Reason:  fmt.Sprintf("tools.permissions.%s.mode is \"ask\"", call.Name),
		Show:    showCall(call),
		Binding: hex.EncodeToString(sum[:]),
	}, nil
}

// showCall is a call as a person can read it.
func showCall(call agentcore.Call) string {
	var out bytes.Buffer
	if json.Indent(&out, call.Arguments, "", "  ") != nil {
		return call.Name
	}
	return cmdline.Escaped(call.Name + " " + out.String())
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
