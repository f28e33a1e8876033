package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSearchFindsLinesAndNames(t *testing.T) {
	b := newBench(t)
	b.write("a.go", "package a\n\nfunc Alpha() {}\n")
	b.write("sub/b.ts", "const alpha = 1\r\n")
	b.write("sub/deep/c.tsx", "x\n")
	b.write("bin", "Alpha\x00")
	b.write(".git/config", "Alpha\n")
	b.write(".gitignore", "# comment\n*.log\n/build/\nkeep/*\n!keep/this\n")
	b.write("x.log", "Alpha\n")
	b.write("build/out.go", "Alpha\n")
	b.write("sub/build/in.go", "Alpha\n")
	b.write("keep/that", "Alpha\n")
	b.write("keep/this", "Alpha\n")
	must(t, os.Symlink("../../secret", filepath.Join(b.dir, "sub/out")))
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"a pattern", map[string]any{"pattern": "Alpha"}, "a.go:3: func Alpha() {}\nkeep/this:1: Alpha\nsub/build/in.go:1: Alpha\n"},
		{"either case, in some files", map[string]any{"pattern": "alpha$| = 1$", "ignore_case": true, "glob": "*.{ts,tsx}"}, "sub/b.ts:1: const alpha = 1\n"},
		{"with context", map[string]any{"pattern": "^$", "context": 1, "glob": "a.go"}, "a.go-1- package a\na.go:2: \na.go-3- func Alpha() {}\n"},
		{"names", map[string]any{"glob": "sub/**/*.ts*"}, "sub/b.ts\nsub/deep/c.tsx\n"},
		{"in a directory", map[string]any{"glob": "*", "path": "sub/deep"}, "sub/deep/c.tsx\n"},
		{"nothing", map[string]any{"pattern": "s3cret"}, "No matches in 6 files."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := b.text("search", test.args)
			if test.name == "nothing" {
				got, test.want = got[:11], test.want[:11]
			}
			if got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
	for _, bad := range []map[string]any{{}, {"pattern": "("}, {"glob": "{a"}, {"glob": "[a"}, {"pattern": "x", "path": "../"}, {"pattern": "x", "path": "nowhere"}} {
		if _, err := b.run("search", bad); err == nil {
			t.Errorf("search %v was done", bad)
		}
	}
}

func TestSearchShowsABoundedNumberOfMatches(t *testing.T) {
	b := newBench(t)
	b.write("f", strings.Repeat(strings.Repeat("x", 5000)+"\n", 500))
	got := b.text("search", map[string]any{"pattern": "x"})
	if len(got) > maxSearchBytes+200 || !strings.Contains(got, "[more than this matches") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-80:])
	}
	for i := range 300 {
		b.write(fmt.Sprintf("n/%d", i), "")
	}
	if got := b.text("search", map[string]any{"glob": "n/*"}); strings.Count(got, "\n") != maxMatches+1 {
		t.Errorf("%d lines, want %d", strings.Count(got, "\n"), maxMatches+1)
	}
}
