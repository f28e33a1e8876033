package builtin

import (
	"encoding/json"
	"fmt"
	"time"

	"clawbot/agentcore"
	"clawbot/tools"
	"clawbot/tools/command"
	"clawbot/tools/sandbox"
)

// Config is what the built-in tools are made of. The zero value works: then
// commands run only in a sandbox, and only those that look.
type Config struct {
	// Sandbox runs commands; nil is the strongest that the machine offers.
	Sandbox *sandbox.Sandbox
	// Commands says which run without asking. A nil Allow is
	// [command.DefaultAllow], an empty one is none.
	Commands command.Policy
	// Network gives commands the machine's network.
	Network bool
	// Zone is whose time current_time tells by default; nil is the machine's.
	Zone *time.Location
}

// Tools are the built-in tools with what they keep between calls.
type Tools struct {
	source     tools.Source
	background background
	run        *commands
}

// New makes the built-in tools. Close ends what they left running.
func New(cfg Config) *Tools {
	if cfg.Sandbox == nil {
		cfg.Sandbox = sandbox.New(sandbox.Config{})
	}
	t := &Tools{run: &commands{sandbox: cfg.Sandbox}}
	t.SetCommands(cfg.Commands, cfg.Network)
	locks := newPathLocks()
	run := t.run
	t.source = tools.Source{Name: "builtin", Kind: tools.Builtin, Tools: []tools.Tool{
		applyPatch(locks),
		currentTime(cfg.Zone),
		editFile(locks),
		execTool(run),
		forget(),
		listDir(),
		processTool(run, &t.background),
		readFile(locks),
		remember(),
		schedule(),
		search(),
		searchHistory(),
		sendFile(),
		webFetch(nil),
		writeFile(locks),
	}}
	return t
}

// SetCommands replaces which commands run without asking, and whether commands
// have the machine's network, for those that begin from now on; see [Config]. It
// is safe for concurrent use.
func (t *Tools) SetCommands(policy command.Policy, network bool) { t.run.set(policy, network) }

// Source returns the tools.
func (t *Tools) Source() tools.Source { return t.source }

// Close ends all background processes and waits for their ends.
func (t *Tools) Close() { t.background.close() }

// Source returns the built-in tools made of a zero [Config]. Nothing ends their
// background processes but the end of the program.
func Source() tools.Source { return New(Config{}).Source() }

// describe fills in what all built-in tools have in common.
func describe(name, title, prose, schema string) tools.Descriptor {
	return tools.Descriptor{
		Name: name, Title: title, Description: prose,
		InputSchema: json.RawMessage(schema),
		Owner:       tools.Owner{Kind: tools.Core},
		Executor:    &tools.Executor{Kind: tools.Core, Name: name},
	}
}

// arguments decodes a call's validated arguments.
func arguments[T any](call agentcore.Call) (T, error) {
	var args T
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return args, fmt.Errorf("arguments of %s: %w", call.Name, err)
	}
	return args, nil
}

// telling returns a function that picks one string argument for display.
func telling(argument string) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		var args map[string]json.RawMessage
		var value string
		if json.Unmarshal(raw, &args) != nil || json.Unmarshal(args[argument], &value) != nil {
			return ""
		}
		return value
	}
}
