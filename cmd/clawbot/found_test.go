package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/config"
	"clawbot/tools"
	"clawbot/tools/skill"
	"clawbot/tools/tooltest"
)

func TestSkillsAreReadByWhoMayUseTheirTools(t *testing.T) {
	dir := t.TempDir()
	for name, needs := range map[string]string{"files": "read_file", "time": "current_time", "rockets": "launch"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "---\ndescription: about " + name + "\ntools: " + needs + "\n---\nHow to use " + name + "."
		if err := os.WriteFile(filepath.Join(dir, name, "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.Default()
	cfg.Skills.Dirs = []string{dir}
	box, err := newToolbox(cfg, newLogger(t.Output(), cfg, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer box.close()
	read := func(all []*agentcore.Tool) *agentcore.Tool {
		i := slices.IndexFunc(all, func(t *agentcore.Tool) bool { return t.Name == skill.ToolName })
		if i < 0 {
			return nil
		}
		return all[i]
	}
	tool := read(box.For(t.Context(), ownerRequest()))
	if tool == nil || !strings.Contains(tool.Description, "- files: about files\n- time: about time") || strings.Contains(tool.Description, "rockets") {
		t.Fatalf("an owner has %+v", tool)
	}
	result, err := tool.Execute(t.Context(), agentcore.Call{Name: tool.Name, Arguments: []byte(`{"name":"files"}`)}, nil)
	if err != nil || result.Content[0].(agentcore.Text).Text != "How to use files." {
		t.Errorf("%+v %v", result, err)
	}
	if _, err := tool.Execute(t.Context(), agentcore.Call{Name: tool.Name, Arguments: []byte(`{"name":"rockets"}`)}, nil); err == nil {
		t.Error("a skill without its tools is read")
	}
	if tool := read(box.For(t.Context(), guestRequest())); tool != nil {
		t.Error("a guest in a room reads skills")
	}
	rules := tools.Rules{Enabled: []string{skill.ToolName}}
	box.rules.Load().policy.Channels = map[string]tools.Rules{"telegram": rules}
	if tool := read(box.For(t.Context(), guestRequest())); tool == nil || strings.Contains(tool.Description, "files") || !strings.Contains(tool.Description, "- time: about time") {
		t.Errorf("a guest who may read skills has %+v", tool)
	}
}

func TestTheToolsThatLeadToOthersAreToolsLikeAll(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "one"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "one", "SKILL.md"), []byte("---\ndescription: about one\n---\nOne.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Skills.Dirs = []string{dir}
	cfg.Tools.MCP = map[string]config.MCP{"far": {URL: "http://127.0.0.1:1", Defer: true}}
	box, err := newToolbox(cfg, newLogger(t.Output(), cfg, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer box.close()
	valid := map[string]string{findTools: `{"query":"notes"}`, skill.ToolName: `{"name":"one"}`}
	for _, tool := range box.indirect().Tools {
		t.Run(tool.Name, func(t *testing.T) {
			tooltest.Run(t, tooltest.Case{Tool: tool, Valid: []string{valid[tool.Name]}})
		})
		delete(valid, tool.Name)
	}
	if len(valid) > 0 {
		t.Errorf("there are none of %v", valid)
	}
}
