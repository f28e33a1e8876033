package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// load reads text as DIR/clawbot.toml with the given environment ("NAME=value").
func load(t *testing.T, text string, env ...string) (*Config, error) {
	t.Helper()
	return loadIn(t, t.TempDir(), text, env...)
}

func loadIn(t *testing.T, dir, text string, env ...string) (*Config, error) {
	t.Helper()
	write(t, filepath.Join(dir, "clawbot.toml"), text)
	l := &Loader{Path: filepath.Join(dir, "clawbot.toml"), Env: environment(env...)}
	return l.Load()
}

func environment(env ...string) func(string) (string, bool) {
	vars := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		vars[name] = value
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// problems returns the lines of an error without the file's folder.
func problems(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("Load() = %v, want an *Error", err)
	}
	var lines []string
	for _, p := range e.Problems {
		p.File = filepath.Base(p.File)
		lines = append(lines, p.String())
	}
	return lines
}
