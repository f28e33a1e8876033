package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWhereNothingMayBeWrittenSaysWhatToDo reaches files as somebody who has
// no rights to them, which root must first become.
func TestWhereNothingMayBeWrittenSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "clawbot.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o555); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	if os.Getuid() == 0 {
		runtime.LockOSThread() // it is the thread that loses its rights
		defer runtime.UnlockOSThread()
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer unix.Setfsuid(0)
	}
	for _, p := range []string{path, filepath.Join(empty, "clawbot.db"), filepath.Join(empty, "new", "clawbot.db")} {
		s, err := Open(t.Context(), Config{Path: p})
		if err == nil {
			s.Close()
			t.Fatalf("%s was opened", p)
		}
		if !strings.Contains(err.Error(), "permission denied") || !strings.Contains(err.Error(), "store.path") {
			t.Errorf("error is %v", err)
		}
	}
}
