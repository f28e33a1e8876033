package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"clawbot/agentcore"
	"clawbot/gateway"
	"clawbot/tools"
)

//go:embed find_tools.md
var findToolsProse string

// maxFound bounds what one search shows.
const maxFound = 8

var findToolsSchema = json.RawMessage(`{
	"type": "object",
	"properties": {"query": {"type": "string", "minLength": 1, "description": "What you want to do, in words"}},
	"required": ["query"]
}`)

const findTools = "find_tools"

// isDeferred reports whether a tool is only found, not declared.
func (b *toolbox) isDeferred(name string) bool {
	entry, ok := b.registry.Get(name)
	return ok && entry.Tool.Owner.Kind == tools.MCP && b.deferred[entry.Tool.Owner.ID]
}

// finder finds the given tools.
func finder(deferred []*agentcore.Tool) *agentcore.Tool {
	return &agentcore.Tool{
		Name: findTools, Label: "Find tools", Description: findToolsProse, Schema: findToolsSchema, Idempotent: true,
		Execute: func(_ context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			var in struct{ Query string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return agentcore.Result{}, fmt.Errorf("arguments of %s: %w", findTools, err)
			}
			return agentcore.TextResult(found(deferred, in.Query)), nil
		},
	}
}

// Resolve implements [gateway.Resolver]: policy is applied as it is to what is
// declared.
func (b *toolbox) Resolve(_ context.Context, req gateway.ToolRequest, name string) *agentcore.Tool {
	if !b.isDeferred(name) {
		return nil
	}
	for _, t := range b.granted(req) {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// found lists the tools that fit the query best.
func found(all []*agentcore.Tool, query string) string {
	words := strings.Fields(strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(query)))
	score := func(t *agentcore.Tool) (n int) {
		name, text := strings.ToLower(t.Name), strings.ToLower(t.Description)
		for _, word := range words {
			if strings.Contains(name, word) {
				n += 3
			}
			if strings.Contains(text, word) {
				n++
			}
		}
		return n
	}
	fit := slices.DeleteFunc(slices.Clone(all), func(t *agentcore.Tool) bool { return score(t) == 0 })
	slices.SortStableFunc(fit, func(a, b *agentcore.Tool) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(a.Name, b.Name))
	})
	if len(fit) == 0 {
		return fmt.Sprintf("None of %d tools fits; try other words.", len(all))
	}
	var out strings.Builder
	for _, t := range fit[:min(len(fit), maxFound)] {
		fmt.Fprintf(&out, "%s: %s\narguments: %s\n\n", t.Name, t.Description, t.Schema)
	}
	if more := len(fit) - maxFound; more > 0 {
		fmt.Fprintf(&out, "… and %d more; be more specific.", more)
	}
	return strings.TrimSpace(out.String())
}
