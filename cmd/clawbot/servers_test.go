package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/internal/redact"
)

// mcpServer is the program that tests use as a server.
func mcpServer() {
	server := sdk.NewServer(&sdk.Implementation{Name: "issues", Version: "1"}, nil)
	for _, name := range []string{"create_issue", "list_issues", "bad"} {
		schema := `{"type":"object","properties":{"title":{"type":"string"}}}`
		if name == "bad" {
			schema = `{"type":"object","properties":{"title":{"type":"strng"}}}`
		}
		server.AddTool(&sdk.Tool{Name: name, Description: strings.ReplaceAll(name, "_", " "), InputSchema: json.RawMessage(schema)},
			func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: req.Params.Name + " done with " + os.Getenv("ISSUES_TOKEN")}}}, nil
			})
	}
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// serverProgram is a script that becomes the test's own binary as a server.
func serverProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nCLAWBOT_TEST_MCP=1 exec "+self+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return script
}

func serverBox(t *testing.T, deferred bool) *toolbox {
	t.Helper()
	cfg := config.Default()
	cfg.Tools.MCP = map[string]config.MCP{"issues": {
		Command: []string{serverProgram(t)}, Defer: deferred, Env: map[string]redact.Secret{"ISSUES_TOKEN": redact.Secret("t0ken")},
	}}
	box, err := newToolbox(cfg, newLogger(t.Output(), cfg, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.close)
	t.Cleanup(box.start(t.Context()))
	return box
}

func toolNames(box *toolbox, req gateway.ToolRequest) (names []string) {
	for _, tool := range box.For(context.Background(), req) {
		names = append(names, tool.Name)
	}
	return names
}

func ownerRequest() gateway.ToolRequest {
	return gateway.ToolRequest{Channel: "terminal", Role: gateway.RoleOwner, Target: channels.Target{Direct: true}}
}

func guestRequest() gateway.ToolRequest {
	return gateway.ToolRequest{Channel: "telegram", Target: channels.Target{Chat: "-1"}}
}

func TestAServersToolsAreGivenLikeOthers(t *testing.T) {
	box := serverBox(t, false)
	names := toolNames(box, ownerRequest())
	if !slices.Contains(names, "issues__create_issue") || slices.Contains(names, findTools) || slices.Contains(names, "issues__bad") {
		t.Errorf("tools: %v", names)
	}
	if names := toolNames(box, guestRequest()); slices.Contains(names, "issues__create_issue") {
		t.Errorf("a guest in a room has %v", names)
	}
	box.rules.Load().policy.Deny = []string{"issues__*"}
	if names := toolNames(box, ownerRequest()); slices.Contains(names, "issues__create_issue") {
		t.Errorf("denied, and yet: %v", names)
	}
}

func TestAServerAndAPluginDoNotShareAName(t *testing.T) {
	cfg := config.Default()
	cfg.Tools.Plugins.Dirs = []string{"../../examples/plugin"}
	cfg.Tools.MCP = map[string]config.MCP{"dice": {Command: []string{"true"}}}
	if _, err := newToolbox(cfg, nil); err == nil || !strings.Contains(err.Error(), "tools.mcp.dice: a plugin has the same name") {
		t.Errorf("got %v", err)
	}
}

func TestDeferredToolsAreFoundAndPolicyAppliesAgain(t *testing.T) {
	box := serverBox(t, true)
	tools := box.For(t.Context(), ownerRequest())
	i := slices.IndexFunc(tools, func(t *agentcore.Tool) bool { return t.Name == findTools })
	if i < 0 || slices.Contains(toolNames(box, ownerRequest()), "issues__create_issue") {
		t.Fatalf("tools: %v", toolNames(box, ownerRequest()))
	}
	if d, err := box.Judge(t.Context(), agentcore.Call{Name: findTools, Arguments: []byte(`{}`)}); err != nil || d.Verdict != 1 {
		t.Errorf("finding is %+v %v", d, err)
	}
	search := func(query string) string {
		args, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		result, err := tools[i].Execute(t.Context(), agentcore.Call{Name: findTools, Arguments: args}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return result.Content[0].(agentcore.Text).Text
	}
	if got := search("create an issue"); !strings.HasPrefix(got, "issues__create_issue: create issue\narguments: {") {
		t.Errorf("found %q", got)
	}
	if got := search("weather"); !strings.Contains(got, "None of 2 tools fits") {
		t.Errorf("found %q", got)
	}
	tool := box.Resolve(t.Context(), ownerRequest(), "issues__create_issue")
	if tool == nil {
		t.Fatal("it is not resolved")
	}
	result, err := tool.Execute(t.Context(), agentcore.Call{ID: "1", Name: tool.Name, Arguments: []byte(`{}`)}, func(agentcore.Update) {})
	if err != nil || !strings.Contains(result.Content[0].(agentcore.Text).Text, "create_issue done with t0ken") {
		t.Errorf("%+v %v", result, err)
	}
	for name, req := range map[string]gateway.ToolRequest{"issues__create_issue": guestRequest(), "read_file": ownerRequest(), "issues__none": ownerRequest()} {
		if got := box.Resolve(t.Context(), req, name); got != nil {
			t.Errorf("%s is resolved", name)
		}
	}
}
