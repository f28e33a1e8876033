package main

import (
	"os"
	"path/filepath"
	"testing"

	"clawbot/config"
)

func TestWhatIsBoundAtTheStartStaysAndTheRestIsTaken(t *testing.T) {
	load := func(text string) *config.Config {
		t.Helper()
		file := filepath.Join(t.TempDir(), "clawbot.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l := newLoader()
		l.Path = file
		cfg, err := l.Load()
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	const channels = "[channels.telegram]\ntoken = \"123456:abcdefghijklmnopqrstuvwxyz\"\n"
	before := load("[agent]\nmodel = \"demo/demo\"\n" + channels)
	next := load(`[agent]
model = "demo/demo"
name = "other"
time_zone = "Europe/Berlin"
[store]
prefix = "another"
[server]
max_runs = 3
[tools]
deny = ["exec"]
sandbox = "off"
[access]
owners = ["telegram:7"]
reply_in = "channel"
[access.rooms."telegram:-5"]
group_policy = "open"
reply_in = "channel"
[log]
level = "debug"
format = "json"
[budget]
daily_usd = 3
[channels.telegram]
token = "654321:abcdefghijklmnopqrstuvwxyz"
allow_from = ["7"]
`)
	takes := changeable(before, next)
	keys := func(a, b *config.Config) map[string]bool {
		found := map[string]bool{}
		for _, c := range config.Diff(a, b) {
			found[c.Key] = true
		}
		return found
	}
	taken, waiting := keys(before, takes), keys(takes, next)
	for _, key := range []string{"agent.name", "tools.deny", "access.owners", "log.level", "budget.daily_usd", "channels.telegram.allow_from"} {
		if !taken[key] || waiting[key] {
			t.Errorf("%s is not taken (%v)", key, taken)
		}
	}
	for _, key := range []string{"agent.time_zone", "store.prefix", "server.max_runs", "tools.sandbox", "access.reply_in", "log.format", "channels.telegram.token"} {
		if taken[key] || !waiting[key] {
			t.Errorf("%s is taken (%v)", key, waiting)
		}
	}
	if room := takes.Access.Rooms["telegram:-5"]; room.GroupPolicy != "open" || room.ReplyIn != "" {
		t.Errorf("the room: %+v", room)
	}
	if before.Channels.Telegram.AllowFrom != nil || before.Agent.Name != "clawbot" {
		t.Error("the configuration before was changed")
	}
}

func TestASecretThatIsMountedAnewIsSeen(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"a": "one", "b": "two"} {
		must(os.Mkdir(filepath.Join(dir, name), 0o700))
		must(os.WriteFile(filepath.Join(dir, name, "key"), []byte(text), 0o600))
	}
	// As Kubernetes does it: the file is a link into a folder that is a link.
	must(os.Symlink("a", filepath.Join(dir, "..data")))
	must(os.Symlink(filepath.Join("..data", "key"), filepath.Join(dir, "key")))
	files := []string{filepath.Join(dir, "key"), filepath.Join(dir, "missing")}
	first := fingerprint(files)
	if fingerprint(files) != first {
		t.Error("the same files differ")
	}
	must(os.Symlink("b", filepath.Join(dir, "..data_tmp")))
	must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	second := fingerprint(files)
	if second == first {
		t.Error("the new secret is not seen")
	}
	must(os.WriteFile(filepath.Join(dir, "missing"), nil, 0o600))
	if fingerprint(files) == second {
		t.Error("a file that came is not seen")
	}
}
