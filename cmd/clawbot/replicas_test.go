package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawbot/config"
	"clawbot/store/memory"
)

func TestBotsAreKnownByTheirTokens(t *testing.T) {
	cfg := &config.Channels{
		Telegram: &config.Telegram{TelegramAccount: config.TelegramAccount{Token: "4711:abc"}},
		Discord:  &config.Discord{DiscordAccount: config.DiscordAccount{Token: "MTIzNDU2.x.y"}},
		Slack:    &config.Slack{SlackAccount: config.SlackAccount{AppToken: "xapp-1-A0123-77-secret"}},
	}
	cfg.Telegram.Enabled, cfg.Discord.Enabled, cfg.Slack.Enabled = true, true, true
	ids := botIDs(cfg)
	for account, want := range map[string]string{"telegram": "4711", "discord": "123456", "slack": "A0123"} {
		if ids[account] != want {
			t.Errorf("%s is %q, want %q", account, ids[account], want)
		}
	}
	cfg.Telegram.Token, cfg.Discord.Token, cfg.Slack.AppToken = "garbage", "%.x", ""
	if ids := botIDs(cfg); len(ids) > 0 {
		t.Errorf("tokens that tell nothing give %v", ids)
	}
}

func TestReplicasAgreeOnOneWorkspace(t *testing.T) {
	s := memory.New()
	defer s.Close()
	volume, other := t.TempDir(), t.TempDir()
	check := func(dir string) error { return sharedWorkspace{s.State(), dir}.check(t.Context()) }
	for range 2 {
		if err := check(volume); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		err := check(other)
		if err == nil || !strings.Contains(err.Error(), "mount the same volume") {
			t.Errorf("another folder: %v", err)
		}
	}
	// Moved with its files, it is the same.
	if err := os.Rename(filepath.Join(volume, workspaceMark), filepath.Join(other, workspaceMark)); err != nil {
		t.Fatal(err)
	}
	if err := check(other); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(other); len(files) != 1 {
		t.Errorf("%d files are left in the workspace", len(files))
	}
	if err := check(filepath.Join(other, "missing")); err == nil {
		t.Error("a missing workspace is well")
	}
}
