package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"clawbot/tools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if os.Getenv("CLAWBOT_TEST_MCP") != "" {
		mcpServer()
		return
	}
	testscript.Main(m, map[string]func(){"clawbot": main})
}

func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"mode": mode},
	})
}

// mode checks the permissions of a file.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := info.Mode().Perm().String(); got != map[string]string{"600": "-rw-------"}[args[0]] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}
