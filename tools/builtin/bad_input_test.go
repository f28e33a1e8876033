package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"clawbot/tools"
)

// sparse makes a file of 2 GB that takes no space.
func (b *bench) sparse(name, head string) {
	b.t.Helper()
	b.write(name, head)
	must(b.t, os.Truncate(filepath.Join(b.dir, name), 2<<30))
}

func TestFilesOfTwoGigabytesAreRefusedOrReadInPieces(t *testing.T) {
	b := newBench(t)
	b.sparse("zeros", "")
	b.sparse("text", strings.Repeat("a line of text\n", 1000))
	for tool, args := range map[string]map[string]any{
		"edit_file":   {"path": "text", "edits": []map[string]any{{"old": "a", "new": "b"}}},
		"apply_patch": {"patch": "--- a/text\n+++ b/text\n@@ -1 +1 @@\n-a line of text\n+b\n"},
		"send_file":   {"path": "text"},
	} {
		scope := *tools.ScopeOf(b.ctx)
		scope.Conversation = silent{}
		in := *b
		in.ctx = tools.WithScope(b.ctx, &scope)
		if _, err := in.run(tool, args); err == nil || !strings.Contains(err.Error(), "2147483648 bytes") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if _, err := b.run("read_file", map[string]any{"path": "zeros"}); err == nil || !strings.Contains(err.Error(), "binary file of 2147483648 bytes") {
		t.Errorf("zeros are read: %v", err)
	}
	if got := b.text("read_file", map[string]any{"path": "text", "limit": 1}); !strings.HasPrefix(got, "a line of text\n") || !strings.Contains(got, "go on with offset 2") {
		t.Errorf("its first line: %.100q", got)
	}
	if got := b.text("read_file", map[string]any{"path": "text", "offset": 1001}); len(got) > maxReadBytes*4 || strings.Contains(got, "\x00") {
		t.Errorf("where it is no text any more: %d bytes", len(got))
	}
	if got := b.text("search", map[string]any{"pattern": "no such line"}); !strings.Contains(got, "No matches in 2 files") {
		t.Errorf("search: %q", got)
	}
	if got := b.text("list_dir", nil); !strings.Contains(got, "text  2147483648\n") {
		t.Errorf("list: %q", got)
	}
}

func TestNamesThatAreNoLineAreQuotedAndCanBeUsed(t *testing.T) {
	b := newBench(t)
	b.write("two\nlines.txt", "found\n")
	b.write("bad\xff.txt", "found\n")
	b.write("tab\t.txt", "found\n")
	want := `"bad\xff.txt":1: found
"tab\t.txt":1: found
"two\nlines.txt":1: found
`
	if got := b.text("search", map[string]any{"pattern": "found"}); got != want {
		t.Errorf("search: %q", got)
	}
	if got := b.text("search", map[string]any{"glob": "*.txt"}); strings.Count(got, "\n") != 3 {
		t.Errorf("names: %q", got)
	}
	if got := b.text("list_dir", nil); !strings.Contains(got, `"bad\xff.txt"  6`+"\n") {
		t.Errorf("list: %q", got)
	}
	if got := b.text("read_file", map[string]any{"path": "two\nlines.txt"}); got != "found\n" {
		t.Errorf("read: %q", got)
	}
	long := strings.Repeat("n", 255)
	b.text("write_file", map[string]any{"path": long, "content": "x"})
	if got := b.text("read_file", map[string]any{"path": long}); got != "x" {
		t.Errorf("the longest name: %q", got)
	}
	if _, err := b.run("write_file", map[string]any{"path": long + "n", "content": "x"}); err == nil {
		t.Error("a name that is too long was written")
	}
}

func TestEditsOfFilesWithBothLineEndingsKeepThem(t *testing.T) {
	for name, c := range map[string]struct{ before, old, replacement, after string }{
		"LF among CRLF":          {"a\r\nb\nc\nd\r\n", "b\nc", "B\nC", "a\r\nB\nC\nd\r\n"},
		"CRLF among LF":          {"a\nb\r\nc\r\nd\n", "b\nc", "B\nC", "a\nB\r\nC\r\nd\n"},
		"one line, mostly CRLF":  {"a\r\nb\r\nc\n", "b", "B\nB", "a\r\nB\r\nB\r\nc\n"},
		"one line, mostly LF":    {"a\nb\nc\r\n", "b", "B\nB", "a\nB\nB\nc\r\n"},
		"CRLF asked, LF there":   {"a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"},
		"a byte order mark kept": {"\ufeffa\nb\n", "a\nb", "x", "\ufeffx\n"},
	} {
		b := newBench(t)
		b.write("f", c.before)
		b.text("edit_file", map[string]any{"path": "f", "edits": []map[string]any{{"old": c.old, "new": c.replacement}}})
		got, err := os.ReadFile(filepath.Join(b.dir, "f"))
		must(t, err)
		if string(got) != c.after {
			t.Errorf("%s: %q, want %q", name, got, c.after)
		}
	}
}

// A pipe or an endless device where a file is looked for must hold nobody up.
func TestPipesWhereFilesAreExpectedHoldNobodyUp(t *testing.T) {
	b := newBench(t)
	b.write("sub/f", "found\n")
	b.write("repo/x", "")
	must(t, syscall.Mkfifo(filepath.Join(b.dir, "sub/.gitignore"), 0o600))
	must(t, os.Mkdir(filepath.Join(b.dir, "repo/.git"), 0o755))
	must(t, syscall.Mkfifo(filepath.Join(b.dir, "repo/.git/config"), 0o600))
	must(t, syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600))
	if got := b.text("search", map[string]any{"pattern": "found"}); got != "sub/f:1: found\n" {
		t.Errorf("search: %q", got)
	}
	d, err := b.judge("exec", map[string]any{"command": "git status", "cwd": "repo"})
	if err != nil || d.Verdict != tools.Ask || !strings.Contains(d.Reason, "no small file") {
		t.Errorf("a repository whose configuration is a pipe: %+v %v", d, err)
	}
	b.write("big/.git/config", "[core]\n"+strings.Repeat("\tbare = false\n", 30_000)+"[diff]\n\texternal = ./evil\n")
	if d, err := b.judge("exec", map[string]any{"command": "git diff", "cwd": "big"}); err != nil || d.Verdict != tools.Ask {
		t.Errorf("a setting far down: %+v %v", d, err)
	}
	for tool, args := range map[string]map[string]any{
		"read_file": {"path": "pipe"}, "write_file": {"path": "pipe", "content": "x"}, "list_dir": {"path": "pipe"},
		"edit_file": {"path": "pipe", "edits": []map[string]any{{"old": "a", "new": "b"}}}, "apply_patch": {"patch": "--- a/pipe\n+++ b/pipe\n@@ -1 +1 @@\n-a\n+b\n"},
	} {
		if _, err := b.run(tool, args); err == nil {
			t.Errorf("%s took a pipe", tool)
		}
	}
}

// While a directory and a link out of the workspace change places, no tool
// reads what is outside, and none writes there.
func TestNoFileToolFollowsALinkThatIsSwappedUnderIt(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(b.dir, "../outside")
	must(t, os.Mkdir(outside, 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "f"), []byte("s3cret\n"), 0o600))
	inside, spare, link := filepath.Join(b.dir, "d"), filepath.Join(b.dir, "spare"), filepath.Join(b.dir, "link")
	must(t, os.Mkdir(spare, 0o755))
	must(t, os.WriteFile(filepath.Join(spare, "f"), []byte("plain\n"), 0o600))
	must(t, os.Symlink("../outside", link))
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			for _, from := range []string{spare, link} { // the directory, then the link, and back
				_ = os.Rename(from, inside)
				_ = os.Rename(inside, from)
			}
		}
	})
	calls := map[string]map[string]any{
		"read_file": {"path": "d/f"}, "list_dir": {"path": "d"}, "search": {"pattern": "s3cret"},
		"write_file":  {"path": "d/new", "content": "x"},
		"edit_file":   {"path": "d/f", "edits": []map[string]any{{"old": "s3cret", "new": "gone"}}},
		"apply_patch": {"patch": "--- a/d/f\n+++ b/d/f\n@@ -1 +1 @@\n-s3cret\n+gone\n"},
	}
	var workers sync.WaitGroup
	for tool, args := range calls {
		workers.Go(func() {
			for range 400 {
				if result, err := b.run(tool, args); err == nil && strings.Contains(fmt.Sprint(result.Content), "s3cret") {
					t.Errorf("%s shows what is outside: %v", tool, result.Content)
					return
				}
			}
		})
	}
	workers.Wait()
	close(done)
	all.Wait()
	entries, err := os.ReadDir(outside)
	must(t, err)
	got, err := os.ReadFile(filepath.Join(outside, "f"))
	if err != nil || string(got) != "s3cret\n" || len(entries) != 1 {
		t.Errorf("outside there are %v, and %q (%v)", entries, got, err)
	}
}

// silent is a chat that takes files.
type silent struct{}

func (silent) SendFile(_ context.Context, _, _ string, r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func (silent) Schedule(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }
