package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEditFileReplacesExactlyWhatItIsTold(t *testing.T) {
	edits := func(pairs ...string) []map[string]any {
		var list []map[string]any
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, map[string]any{"old": pairs[i], "new": pairs[i+1]})
		}
		return list
	}
	tests := []struct {
		name, before string
		edits        []map[string]any
		after, says  string // after is empty when nothing may change
	}{
		{"one place", "a\nb\nc\n", edits("b", "B"), "a\nB\nc\n", "line 2"},
		{"several lines", "a\nb\nc\n", edits("a\nb\n", ""), "c\n", "lines 1 to 2"},
		{"in order", "a\n", edits("a", "b", "b", "c"), "c\n", "line 1, line 1"},
		{"a multiple place", "x\nx\n", edits("x", "y"), "", "occurs 2 times, at lines 1, 2"},
		{"all places", "x\nx\n", []map[string]any{{"old": "x", "new": "y", "all": true}}, "y\ny\n", "2 places"},
		{"CRLF kept", "\ufeffa\r\nb\r\n", edits("a\nb", "a\nx\nb"), "\ufeffa\r\nx\r\nb\r\n", "lines 1 to 2"},
		{"the nearest text is shown", "func main() {\n}\n", edits("func  main() {", "x"), "", `line 1: "func main() {"`},
		{"nothing like it", "abc\n", edits("something else", "x"), "", "nothing like it"},
		{"the second edit fails", "a\nb\n", edits("a", "A", "zz", "y"), "", "edit 2"},
		{"no change", "a\n", edits("a", "a"), "", "the same"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", test.before)
			result, err := b.run("edit_file", map[string]any{"path": "f", "edits": test.edits})
			got, readErr := os.ReadFile(filepath.Join(b.dir, "f"))
			must(t, readErr)
			want := test.after
			var said string
			if err != nil {
				said = err.Error()
			} else {
				said = textOf(result)
			}
			if test.after == "" {
				want = test.before
			}
			if (err != nil) != (test.after == "") || string(got) != want || !strings.Contains(said, test.says) {
				t.Errorf("file %q, said %q; want %q, %q", got, said, want, test.says)
			}
		})
	}
}

func TestEditFileRefusesBinaryFiles(t *testing.T) {
	b := newBench(t)
	b.write("f", "a\x00b")
	if _, err := b.run("edit_file", map[string]any{"path": "f", "edits": []map[string]any{{"old": "a", "new": "b"}}}); err == nil {
		t.Error("a binary file was edited")
	}
}
