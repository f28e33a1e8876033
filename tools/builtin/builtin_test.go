package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/tools"
)

// bench is a workspace with the built-in tools and a secret beside it.
type bench struct {
	t     testing.TB
	dir   string
	ctx   context.Context
	tools map[string]tools.Tool
}

func newBench(t testing.TB) *bench {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "workspace")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(parent, "secret"), []byte("s3cret"), 0o600))
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { must(t, root.Close()) })
	b := &bench{t: t, dir: dir, tools: make(map[string]tools.Tool),
		ctx: tools.WithScope(t.Context(), &tools.Scope{Workspace: root, Dir: dir})}
	builtin := New(Config{})
	t.Cleanup(builtin.Close)
	for _, tool := range builtin.Source().Tools {
		b.tools[tool.Name] = tool
	}
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	must(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(b.t, os.WriteFile(path, []byte(content), 0o644))
}

func (b *bench) run(tool string, args map[string]any) (agentcore.Result, error) {
	raw, err := json.Marshal(args)
	must(b.t, err)
	return b.tools[tool].Execute(b.ctx, agentcore.Call{ID: "1", Name: tool, Arguments: raw}, func(agentcore.Update) {})
}

func (b *bench) text(tool string, args map[string]any) string {
	b.t.Helper()
	result, err := b.run(tool, args)
	must(b.t, err)
	return textOf(result)
}

func textOf(result agentcore.Result) string { return result.Content[0].(agentcore.Text).Text }

func TestReadFileShowsWhatIsThere(t *testing.T) {
	b := newBench(t)
	b.write("test.txt", "hello world\n")
	b.write("empty", "")
	b.write("crlf", "\ufeffa\r\nb\r\n")
	b.write("long", strings.Repeat("line\n", 2500))
	b.write("wide", strings.Repeat("é", maxReadBytes))
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"whole", map[string]any{"path": "test.txt"}, "hello world\n"},
		{"by its absolute path", map[string]any{"path": filepath.Join(b.dir, "test.txt")}, "hello world\n"},
		{"empty", map[string]any{"path": "empty"}, "(empty file)"},
		{"line ends and a byte order mark kept", map[string]any{"path": "crlf"}, "\ufeffa\r\nb\r\n"},
		{"some lines", map[string]any{"path": "long", "offset": 2499, "limit": 1}, "line\n\n[lines 2499 to 2499 shown; go on with offset 2500]"},
		{"the last lines", map[string]any{"path": "long", "offset": 2500}, "line\n"},
		{"behind the end", map[string]any{"path": "long", "offset": 9000}, "[long has fewer than 9000 lines]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := b.text("read_file", test.args); got != test.want {
				t.Errorf("text = %q, want %q", got, test.want)
			}
		})
	}
	if got := b.text("read_file", map[string]any{"path": "long"}); !strings.HasSuffix(got, "[lines 1 to 2000 shown; go on with offset 2001]") {
		t.Errorf("a long file ends in %q", got[len(got)-80:])
	}
	if got := b.text("read_file", map[string]any{"path": "wide"}); len(got) > maxReadBytes+100 || !strings.Contains(got, "is cut") {
		t.Errorf("a wide line came back with %d bytes", len(got))
	}
}

func TestReadFileShowsImagesAndRefusesOtherBinaries(t *testing.T) {
	b := newBench(t)
	var picture bytes.Buffer
	must(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))))
	b.write("a.png", picture.String())
	b.write("a.bin", "\x7fELF\x00\x01")
	result, err := b.run("read_file", map[string]any{"path": "a.png"})
	must(t, err)
	if img, ok := result.Content[1].(agentcore.Image); !ok || img.MIMEType != "image/png" || !bytes.Equal(img.Data, picture.Bytes()) {
		t.Errorf("content = %v, want the picture", result.Content[1])
	}
	if _, err := b.run("read_file", map[string]any{"path": "a.bin"}); err == nil || !strings.Contains(err.Error(), "binary") {
		t.Errorf("error = %v, want one about a binary file", err)
	}
}

func TestNoToolReachesOutsideOfTheWorkspace(t *testing.T) {
	b := newBench(t)
	must(t, os.Symlink("../secret", filepath.Join(b.dir, "link")))
	must(t, os.Symlink("/etc", filepath.Join(b.dir, "etc")))
	must(t, os.Symlink("loop", filepath.Join(b.dir, "loop")))
	must(t, os.Link(filepath.Join(b.dir, "../secret"), filepath.Join(b.dir, "hard")))
	must(t, syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o600))
	must(t, os.Symlink("/dev/zero", filepath.Join(b.dir, "zero")))
	for _, path := range []string{"../secret", "/etc/passwd", "link", "etc/passwd", "hard", "fifo", "zero", "loop", "a/../../secret", "a\x00b", "etc", "no/such"} {
		if result, err := b.run("read_file", map[string]any{"path": path}); err == nil {
			t.Errorf("read_file %q gave %v", path, result.Content)
		} else if strings.Contains(err.Error(), b.dir) {
			t.Errorf("read_file %q: the error names a path of the machine: %v", path, err)
		}
		if path == "no/such" {
			continue
		}
		if _, err := b.run("write_file", map[string]any{"path": path, "content": "x"}); err == nil && path != "a/../../secret" {
			t.Errorf("write_file %q was done", path)
		}
	}
	for _, path := range []string{"..", "/", "etc", "fifo"} {
		if _, err := b.run("list_dir", map[string]any{"path": path}); err == nil {
			t.Errorf("list_dir %q was done", path)
		}
	}
	if got, err := os.ReadFile(filepath.Join(b.dir, "../secret")); err != nil || string(got) != "s3cret" {
		t.Errorf("the secret is now %q (%v)", got, err)
	}
}

func TestWriteFileReplacesWholeAndThroughLinks(t *testing.T) {
	b := newBench(t)
	b.write("dir/real", "old")
	must(t, os.Chmod(filepath.Join(b.dir, "dir/real"), 0o600))
	must(t, os.Symlink("dir/real", filepath.Join(b.dir, "link")))
	if got, want := b.text("write_file", map[string]any{"path": "link", "content": "new"}), "Replaced link (3 bytes)."; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
	got, err := os.ReadFile(filepath.Join(b.dir, "dir/real"))
	must(t, err)
	info, err := os.Stat(filepath.Join(b.dir, "dir/real"))
	must(t, err)
	if string(got) != "new" || info.Mode().Perm() != 0o600 {
		t.Errorf("content %q, mode %v; want new, 0600", got, info.Mode())
	}
	if got, want := b.text("write_file", map[string]any{"path": "a/b/c.txt", "content": ""}), "Created a/b/c.txt (0 bytes)."; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
	left, err := filepath.Glob(filepath.Join(b.dir, "dir", ".*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestALinkSwappedWhileWritingNeverLeadsOutside(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(b.dir, "../outside")
	must(t, os.Mkdir(outside, 0o755))
	inside := filepath.Join(b.dir, "d")
	done := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = os.RemoveAll(inside)
			_ = os.Symlink("../outside", inside)
			_ = os.Remove(inside)
			_ = os.Mkdir(inside, 0o755)
		}
	})
	for range 2000 {
		_, _ = b.run("write_file", map[string]any{"path": "d/f", "content": "x"}) // may fail; must not escape
	}
	close(done)
	swapper.Wait()
	left, err := os.ReadDir(outside)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("files were written outside: %v", left)
	}
}

func TestListDirShowsKindsAndSizes(t *testing.T) {
	b := newBench(t)
	b.write("b.txt", "four")
	b.write("a/x", "")
	b.write("two\nlines", "")
	must(t, os.Symlink("b.txt", filepath.Join(b.dir, "link")))
	want := "a/\nb.txt  4\nlink@\n\"two\\nlines\"  0\n"
	if got := b.text("list_dir", nil); got != want {
		t.Errorf("listing = %q, want %q", got, want)
	}
	for i := range maxEntries + 5 {
		b.write(fmt.Sprintf("a/f%04d", i), "")
	}
	if got := b.text("list_dir", map[string]any{"path": "a"}); !strings.HasSuffix(got, "... and 6 more\n") {
		t.Errorf("a long listing ends in %q", got[len(got)-40:])
	}
}

func TestCurrentTimeKnowsZones(t *testing.T) {
	b := newBench(t)
	got := b.text("current_time", map[string]any{"zone": "America/Lima"})
	if !strings.HasSuffix(got, "-05:00 (America/Lima)") {
		t.Errorf("time in Lima = %q", got)
	}
	if _, err := time.Parse("Monday, 2 January 2006, 15:04:05 -07:00 (America/Lima)", got); err != nil {
		t.Error(err)
	}
	if _, err := b.run("current_time", map[string]any{"zone": "Mars/Base"}); err == nil {
		t.Error("Mars has a time zone")
	}
}

func TestToolsWithoutAWorkspaceSaySo(t *testing.T) {
	b := newBench(t)
	b.ctx = t.Context()
	if _, err := b.run("read_file", map[string]any{"path": "x"}); !errors.Is(err, tools.ErrNoWorkspace) {
		t.Errorf("error = %v, want %v", err, tools.ErrNoWorkspace)
	}
}

func TestPathLocksLetOneInAndForgetThePath(t *testing.T) {
	locks := newPathLocks()
	unlock, err := locks.lock(t.Context(), "a")
	must(t, err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.lock(cancelled, "a"); err == nil {
		t.Error("a held lock was given out again")
	}
	inside, total := 0, 0
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			unlock, err := locks.lock(context.WithoutCancel(t.Context()), "a")
			if err != nil {
				t.Error(err)
				return
			}
			if inside++; inside != 1 {
				t.Errorf("%d are inside", inside)
			}
			inside--
			total++
			unlock()
		})
	}
	unlock()
	group.Wait()
	if total != 50 || len(locks.held) != 0 {
		t.Errorf("%d got in, %d paths are kept; want 50, 0", total, len(locks.held))
	}
}

func TestEveryToolHasASchemaAndProse(t *testing.T) {
	for _, tool := range Source().Tools {
		var schema map[string]any
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil || schema["type"] != "object" {
			t.Errorf("%s: schema %v (%v)", tool.Name, schema, err)
		}
		properties, _ := schema["properties"].(map[string]any)
		for name := range properties {
			if !strings.Contains(tool.Description, "`"+name+"`") {
				t.Errorf("%s: the prose does not speak of %q", tool.Name, name)
			}
		}
	}
	if got := telling("path")(json.RawMessage(`{"path":"a.txt"}`)); got != "a.txt" {
		t.Errorf("telling = %q", got)
	}
}

func BenchmarkRead100kB(b *testing.B) {
	bench := newBench(b)
	bench.write("f", strings.Repeat("0123456789abcde\n", 6400))
	b.ReportAllocs()
	for b.Loop() {
		bench.text("read_file", map[string]any{"path": "f"})
	}
}
