package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"clawbot/config"
)

var (
	tomlBlock = regexp.MustCompile("(?s)```toml\n(.*?)```")
	variable  = regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`)
)

func TestEveryBlockOfThePagesOnModelsIsAConfiguration(t *testing.T) {
	blocks := blocksOf(t, "providers.md", 15)
	blocks = append(blocks, blocksOf(t, "budgets.md", 2)...)
	for _, name := range []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "OPENAI_API_KEY"} {
		t.Setenv(name, "sk-test-"+name)
	}
	for _, block := range blocks {
		for _, v := range variable.FindAllStringSubmatch(block[1], -1) {
			t.Setenv(v[1], "sk-test-"+v[1])
		}
		dir := t.TempDir()
		t.Setenv("HOME", dir)
		file := filepath.Join(dir, "clawbot.toml")
		if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		loader := newLoader()
		loader.Path = file
		cfg, err := loader.Load()
		if err != nil {
			t.Errorf("%v in\n%s", err, block[1])
			continue
		}
		if _, err := newModel(cfg, meters{}, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
	}
}

// blocksOf are the configurations in a page, which has so many at least.
func blocksOf(t *testing.T, page string, least int) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	blocks := tomlBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) < least {
		t.Fatalf("%d blocks in %s", len(blocks), page)
	}
	return blocks
}

func TestTheProvidersPageNamesEveryFlagAndFormat(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "providers.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range formats() {
		if !strings.Contains(string(text), "| `"+name+"` |") {
			t.Errorf("the format %q has no line", name)
		}
	}
	for _, key := range config.Keys() {
		name, ok := strings.CutPrefix(key, "providers.NAME.compat.")
		if ok && !strings.Contains(string(text), "| `"+name+"` |") {
			t.Errorf("the flag %q has no line", name)
		}
	}
}
