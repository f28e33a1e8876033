package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func loadText(t *testing.T, dir, text string) *Config {
	t.Helper()
	file := filepath.Join(dir, "clawbot.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := (&Loader{Path: file, Env: func(string) (string, bool) { return "", false }}).Load()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestADiffTellsEveryKeyThatChangedAndNoSecret(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"key": "first-secret-key", "prompt.txt": "hello"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const provider = "[providers.x]\nformat = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\napi_key = \"${file:key}\"\n"
	before := loadText(t, dir, "[agent]\nsystem_prompt_file = \"prompt.txt\"\n[budget]\ndaily_usd = 1\n"+provider+"[access]\nowners = [\"telegram:1\"]\n")
	if list := Diff(before, before); len(list) != 0 {
		t.Errorf("with itself: %v", list)
	}
	want := []string{filepath.Join(dir, ".env"), filepath.Join(dir, "clawbot.toml"), filepath.Join(dir, "key"), filepath.Join(dir, "prompt.txt")}
	if files := before.Files(); !slices.Equal(files, want) {
		t.Errorf("files: %v", files)
	}
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("second-secret-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := loadText(t, dir, "[agent]\nsystem_prompt_file = \"prompt.txt\"\n[budget]\nuser_usd = 2.5\n"+provider+"proxy = \"env\"\n[access]\nowners = [\"telegram:1\", \"slack:U0123ABCD\"]\n[agents.other]\nname = \"Other\"\n")
	var lines []string
	for _, c := range Diff(before, now) {
		lines = append(lines, c.String())
	}
	text := strings.Join(lines, "\n")
	for _, part := range []string{
		`access.owners: ["telegram:1"] -> ["telegram:1", "slack:U0123ABCD"]`, "budget.daily_usd: 1 -> 0", "budget.user_usd: 0 -> 2.5",
		"providers.x.api_key: changed", `providers.x.proxy: "" -> "env"`, `agents.other.name: "Other" (new)`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the diff lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("a secret is told:\n%s", text)
	}
	if back := Diff(now, before); !strings.Contains(back[len(back)-1].Key+back[0].Key+text, "agents.other") {
		t.Errorf("what is gone is not told: %v", back)
	}
}
