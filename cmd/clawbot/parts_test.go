package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/discord"
	"clawbot/channels/telegram"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/providers"
	"clawbot/tools"
)

func TestTheLowestLimitOfTheCgroupAndThoseAboveItCounts(t *testing.T) {
	root := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("memory.max", "max\n")
	put("a/memory.max", "300\n")
	put("a/b/memory.max", "500\n")
	put("memory/memory.limit_in_bytes", "9223372036854771712\n")
	put("memory/x/memory.limit_in_bytes", "700\n")
	for own, want := range map[string]int64{
		"0::/a/b\n":                     300,
		"0::/a\n":                       300,
		"0::/\n":                        0,
		"0::/gone\n":                    0,
		"4:memory:/x\n3:cpu:/x\n0::/\n": 700,
		"4:memory:/\n":                  0,
		"":                              0,
		"nonsense":                      0,
	} {
		if got := cgroupLimit(root, own); got != want {
			t.Errorf("cgroupLimit(%q) = %d, want %d", own, got, want)
		}
	}
}

func TestAWorkspaceIsMadeOnceAndLeftAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "workspace")
	if err := makeWorkspace(dir); err != nil {
		t.Fatal(err)
	}
	readme := filepath.Join(dir, "README.md")
	if data, err := os.ReadFile(readme); err != nil || !strings.HasPrefix(string(data), "# ") {
		t.Fatalf("README.md: %q, %v", data, err)
	}
	if err := os.Remove(readme); err != nil {
		t.Fatal(err)
	}
	if err := makeWorkspace(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(readme); err == nil {
		t.Error("a README.md that was removed is there again")
	}
	if err := os.WriteFile(readme, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := makeWorkspace(readme); err == nil || !strings.Contains(err.Error(), "is no folder") {
		t.Errorf("a file in the workspace's place: %v", err)
	}
}

func TestTheLogShowsNoSecretOfTheConfiguration(t *testing.T) {
	cfg := config.Default()
	cfg.Server.Token = append(cfg.Server.Token, "hunter-two-secret")
	cfg.Log.Format = "json"
	var out bytes.Buffer
	newLogger(&out, cfg, 0).Info("got hunter-two-secret", "in", []string{"hunter-two-secret"})
	if got := out.String(); strings.Contains(got, "hunter") || !strings.HasPrefix(got, "{") {
		t.Errorf("log: %s", got)
	}
}

// Every key that a room's own Config knows can be set in the file.
func TestTheConfigurationHasEveryKeyOfTheRooms(t *testing.T) {
	keys := config.Keys()
	for prefix, room := range map[string]any{
		"channels.telegram.": telegram.Config{},
		"channels.discord.":  discord.Config{},
		"providers.NAME.":    providers.Config{},
	} {
		typ := reflect.TypeOf(room)
		for field := range typ.Fields() {
			name := field.Tag.Get("toml")
			if name == "" || name == "-" {
				continue
			}
			if !slices.ContainsFunc(keys, func(k string) bool { return k == prefix+name || strings.HasPrefix(k, prefix+name+".") }) {
				t.Errorf("config has no %s%s", prefix, name)
			}
		}
	}
}

func TestAPermissionThatDeniesTakesTheToolAwayAndOneThatAsksAsks(t *testing.T) {
	cfg := config.Default()
	cfg.Tools.Permissions = map[string]config.Permission{"write_file": {Mode: "deny"}, "list_dir": {Mode: "ask"}, "read_file": {Mode: "allow"}}
	cfg.Tools.Roles = nil
	box, err := newToolbox(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer box.close()
	var names []string
	for _, tool := range box.For(t.Context(), gateway.ToolRequest{Channel: "terminal", Role: gateway.RoleOwner, Target: channels.Target{Direct: true}}) {
		names = append(names, tool.Name)
	}
	if slices.Contains(names, "write_file") || !slices.Contains(names, "list_dir") || !slices.Contains(names, "read_file") {
		t.Errorf("tools: %v", names)
	}
	for tool, verdict := range map[string]tools.Verdict{"list_dir": tools.Ask, "read_file": tools.Allow} {
		d, err := box.Judge(t.Context(), agentcore.Call{Name: tool, Arguments: []byte(`{"path":"a\u202eb"}`)})
		if err != nil || d.Verdict != verdict {
			t.Errorf("%s: %+v %v", tool, d, err)
		}
		if verdict == tools.Ask && (d.Binding == "" || d.Rule != "" || !strings.Contains(d.Show, `\u202e`)) {
			t.Errorf("%s: %+v", tool, d)
		}
	}
	guest := box.For(t.Context(), gateway.ToolRequest{Channel: "telegram.work", Target: channels.Target{Chat: "-1"}})
	for _, tool := range guest {
		if tool.Name == "read_file" {
			t.Error("a guest in a room may read files")
		}
	}
}

// A platform whose policies the gateway doesn't know would let in whom the
// configuration keeps out.
func TestThePoliciesOfEveryPlatformReachTheGateway(t *testing.T) {
	cfg := config.Default()
	own := config.ChannelAccess{Enabled: true, DMPolicy: "open", GroupPolicy: "off"}
	cfg.Channels.Telegram = &config.Telegram{TelegramAccount: config.TelegramAccount{ChannelAccess: own}}
	cfg.Channels.Slack = &config.Slack{SlackAccount: config.SlackAccount{ChannelAccess: own}}
	cfg.Channels.Discord = &config.Discord{DiscordAccount: config.DiscordAccount{ChannelAccess: own}}
	known := access(cfg).Channels
	for _, p := range platforms() {
		if got := known[p.name]; got.DMPolicy != "open" || got.GroupPolicy != "off" {
			t.Errorf("%s: %+v", p.name, got)
		}
	}
}
