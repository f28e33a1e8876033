package builtin

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPatchIsAppliedWholeOrNotAtAll(t *testing.T) {
	start := map[string]string{
		"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n", "crlf.txt": "\ufeffa\r\nb\r\nc\r\n", "noend": "x\ny", "twice": "a\nb\na\nb\n", "old": "gone\n",
	}
	tests := map[string]struct {
		patch string
		want  map[string]string // "" is that it is not there
		says  string
	}{
		"one hunk":                      {"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", map[string]string{"a.txt": "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\n"}, "Patched a.txt at line 1."},
		"wrong numbers and counts":      {"--- a/a.txt\n+++ b/a.txt\n@@ -40,9 +40,1 @@\n six\n-seven\n+7\n eight\n", map[string]string{"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\n7\neight\n"}, "at line 6"},
		"two hunks":                     {"--- a.txt\n+++ a.txt\n@@ -1,2 +1,3 @@\n one\n+1.5\n two\n@@ -7,2 +8,2 @@\n seven\n-eight\n+8\n", map[string]string{"a.txt": "one\n1.5\ntwo\nthree\nfour\nfive\nsix\nseven\n8\n"}, "line 1, 8"},
		"a new file":                    {"--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n", map[string]string{"sub/new.txt": "a\nb\n"}, "Created sub/new.txt."},
		"a deletion":                    {"--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n", map[string]string{"old": ""}, "Deleted old."},
		"a renaming":                    {"diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n", map[string]string{"old": "", "new": "gone\n"}, "Renamed old to new."},
		"CRLF is kept":                  {"--- a/crlf.txt\n+++ b/crlf.txt\n@@ -2,2 +2,3 @@\n b\n+B\n c\n", map[string]string{"crlf.txt": "\ufeffa\r\nb\r\nB\r\nc\r\n"}, "Patched"},
		"no line break at the end":      {"--- a/noend\n+++ b/noend\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n", map[string]string{"noend": "x\nz"}, "Patched"},
		"empty context without a space": {"--- /dev/null\n+++ b/n\n@@ -0,0 +1,3 @@\n+a\n+\n+b\n", map[string]string{"n": "a\n\nb\n"}, "Created"},
		"the second of two":             {"--- a/twice\n+++ b/twice\n@@ -3,2 +3,2 @@\n a\n-b\n+c\n", map[string]string{"twice": "a\nb\na\nc\n"}, "line 3"},
		"several files":                 {"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/old\n+++ b/old\n@@ -1 +1 @@\n-gone\n+here\n", map[string]string{"a.txt": "1\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n", "old": "here\n"}, "Patched old"},

		"text that is not there":     {"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-twoo\n+2\n three\n", nil, `nothing was changed: a.txt, hunk 1 (@@ -1): line 2 of the file is "two", and the patch expects "twoo"`},
		"the second hunk fails":      {"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -5,2 +5,2 @@\n five\n-sicks\n+6\n", nil, `hunk 2 (@@ -5): line 6 of the file is "six"`},
		"the second file fails":      {"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/old\n+++ b/old\n@@ -1 +1 @@\n-nowhere\n+x\n", nil, "old, hunk 1"},
		"several places":             {"--- a/twice\n+++ b/twice\n@@ -9,2 +9,2 @@\n a\n-b\n+c\n", nil, "occur 2 times"},
		"a file that is missing":     {"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n", nil, "none does not exist"},
		"a new file that is there":   {"--- /dev/null\n+++ b/old\n@@ -0,0 +1 @@\n+a\n", nil, "exists already"},
		"a deletion of less":         {"--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n", nil, "not all of its lines"},
		"outside":                    {"--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+a\n", nil, "outside of the workspace"},
		"an absolute path outside":   {"--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n", nil, "outside of the workspace"},
		"no diff":                    {"please change it", nil, "no file in it"},
		"another format":             {"*** Begin Patch\n*** Update File: a.txt\n", nil, "not a unified diff"},
		"one file twice":             {"--- a/old\n+++ b/old\n@@ -1 +1 @@\n-gone\n+x\n--- a/old\n+++ b/old\n@@ -1 +1 @@\n-x\n+y\n", nil, "changed twice"},
		"a deletion and a rewriting": {"--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n--- /dev/null\n+++ b/old\n@@ -0,0 +1 @@\n+x\n", nil, "changed twice"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			for file, text := range start {
				b.write(file, text)
			}
			result, err := b.run("apply_patch", map[string]any{"patch": test.patch})
			said := ""
			if err != nil {
				said = err.Error()
			} else {
				said = textOf(result)
			}
			if !strings.Contains(said, test.says) || (err == nil) != (test.want != nil) {
				t.Errorf("said %q, want %q", said, test.says)
			}
			want := map[string]string{}
			maps.Copy(want, start)
			maps.Copy(want, test.want)
			for file, text := range want {
				got, err := os.ReadFile(filepath.Join(b.dir, file))
				if text == "" && err == nil || text != "" && string(got) != text {
					t.Errorf("%s is %q (%v), want %q", file, got, err, text)
				}
			}
		})
	}
}

func FuzzAPatchNeverBreaksTheTool(f *testing.F) {
	f.Add("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n", "a\n")
	f.Add("--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+b\n\\ No newline at end of file\n", "")
	f.Add("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+b\n@@ -9,9 +9,9 @@\n \n", "x\r\ny")
	f.Fuzz(func(t *testing.T, patch, text string) {
		patches, err := parsePatch(patch)
		if err != nil {
			return
		}
		for i := range patches {
			_, _, _ = patches[i].apply("f", text) // it must only not panic
		}
	})
}
