package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawbot/store"
	"clawbot/store/sqlite"
)

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "clawbot.db") }

// refused opens a store that can't be opened and checks that the error says
// each of these.
func refused(t *testing.T, cfg sqlite.Config, says ...string) error {
	t.Helper()
	s, err := sqlite.Open(t.Context(), cfg)
	if err == nil {
		s.Close()
		t.Fatal("opened")
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	return err
}

func TestWhatWasWrittenIsThereAfterReopening(t *testing.T) {
	path := file(t)
	s := open(t, path)
	accept(t, s, "s", "a")
	accept(t, s, "s", "b")
	l := acquire(t, s, "s", "x")
	if _, err := l.Drain(t.Context(), 0, 1, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ReleaseIfEmpty(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.HandOff(t.Context(), 0, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.State().Put(t.Context(), "k", []byte("v"), 0); err != nil {
		t.Fatal(err)
	}
	shut(t, s)

	s = open(t, path)
	defer shut(t, s)
	if acc := accept(t, s, "s", "a"); !acc.Duplicate {
		t.Error("event is accepted twice")
	}
	l = acquire(t, s, "s", "y")
	tr, err := l.Load(t.Context(), 0)
	if err != nil || len(tr.Entries) != 1 || tr.Entries[0].ID != "a" {
		t.Errorf("transcript %+v, %v", tr, err)
	}
	w, err := l.Peek(t.Context(), 0)
	if err != nil || len(w.Messages) != 1 || w.Messages[0].ID != "b" {
		t.Errorf("waiting %+v, %v", w, err)
	}
	if v, err := s.State().Get(t.Context(), "k"); err != nil || string(v.Data) != "v" {
		t.Errorf("state %+v, %v", v, err)
	}
}

func TestReopeningVoidsLeasesAndTermsAndCountsTheCrash(t *testing.T) {
	path := file(t)
	s := open(t, path)
	old := acquire(t, s, "held", "x")
	accept(t, s, "idle", "a")
	if _, err := s.Elect(t.Context(), "term", "x", time.Hour); err != nil {
		t.Fatal(err)
	}
	shut(t, s)

	s = open(t, path)
	defer shut(t, s)
	due, err := s.Due(t.Context(), 10)
	if err != nil || fmt.Sprint(due) != "[idle held]" {
		t.Errorf("due %v, %v", due, err)
	}
	st := acquire(t, s, "held", "y").Start()
	if !st.Crashed || st.Attempts != 1 || st.Token == old.Start().Token {
		t.Errorf("start %+v", st)
	}
	if st := acquire(t, s, "idle", "y").Start(); st.Crashed || st.Attempts != 0 {
		t.Errorf("start %+v", st)
	}
	if _, err := s.Elect(t.Context(), "term", "y", time.Hour); err != nil {
		t.Error(err)
	}
}

func TestASecondProcessIsRefusedAndToldThePID(t *testing.T) {
	path := file(t)
	s := open(t, path)
	err := refused(t, sqlite.Config{Path: path}, path, fmt.Sprint("process ", os.Getpid()), "stop that clawbot", "store.path")
	var locked *sqlite.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("error is %#v", err)
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	refused(t, sqlite.Config{Path: link}, "stop that clawbot")
	shut(t, s)
	shut(t, open(t, path))
}

func TestAGuestReadsAndWritesStateOnly(t *testing.T) {
	path := file(t)
	refused(t, sqlite.Config{Path: path, Guest: true}, "does not exist", "start clawbot once")
	s := open(t, path)
	defer shut(t, s)
	accept(t, s, "s", "a")
	l := acquire(t, s, "s", "x")

	guest, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Guest: true})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, guest)
	list, _, err := guest.Archive().Sessions(t.Context(), "", "", 10)
	if err != nil || len(list) != 1 || list[0].Owner != "x" || list[0].Waiting != 1 {
		t.Errorf("sessions %+v, %v", list, err)
	}
	if _, err := guest.State().Put(t.Context(), "k", []byte("v"), 0); err != nil {
		t.Error(err)
	}
	if v, err := s.State().Get(t.Context(), "k"); err != nil || string(v.Data) != "v" {
		t.Errorf("state %+v, %v", v, err)
	}
	for what, err := range map[string]error{
		"accept":  second(guest.Accept(t.Context(), store.Event{ID: "b", Session: "s"})),
		"acquire": second(guest.Acquire(t.Context(), "s", "g", time.Hour)),
		"elect":   second(guest.Elect(t.Context(), "t", "g", time.Hour)),
		"reserve": guest.Counters().Reserve(t.Context(), "r", 1, []store.CounterKey{{Key: "k"}}),
		"settle":  guest.Counters().Settle(t.Context(), "r", 1),
		"blob":    second(guest.Blobs().Put(t.Context(), strings.NewReader("x"), 1)),
		"purge":   guest.Archive().Purge(t.Context(), l),
	} {
		if err == nil || !strings.Contains(err.Error(), "only the clawbot that runs") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := l.Renew(t.Context()); err != nil {
		t.Errorf("the guest took the lease: %v", err)
	}
}

func TestFilesAreTheirOwnersOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	s := open(t, filepath.Join(dir, "clawbot.db"))
	defer shut(t, s)
	accept(t, s, "s", "a")
	for _, name := range []string{"", "clawbot.db", "clawbot.db-wal", "clawbot.db-shm", "clawbot.db.lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%q has mode %v", name, mode)
		}
	}
}

func TestADatabaseThatOthersCanReadIsWarnedOf(t *testing.T) {
	path := file(t)
	shut(t, open(t, path))
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	if !strings.Contains(log.String(), "chmod 600") {
		t.Errorf("log %q", log.String())
	}
}

func TestAPathMayHoldAnyCharacter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%20e&f=ü'\"", "x?mode=ro.db")
	s := open(t, path)
	accept(t, s, "s", "a")
	shut(t, s)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestWhatCantBeOpenedSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	junk := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	refused(t, sqlite.Config{}, "set store.path")
	refused(t, sqlite.Config{Path: dir}, "is a folder", "set store.path")
	refused(t, sqlite.Config{Path: junk("text.db", bytes.Repeat([]byte("no database "), 1000))}, "text.db", "no database", "backup")
	refused(t, sqlite.Config{Path: filepath.Join(junk("file", nil), "clawbot.db")}, "folder", "set store.path")
	if _, err := os.Stat(os.DevNull); err == nil {
		refused(t, sqlite.Config{Path: os.DevNull}, "special file")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "x.db")}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	shut(t, open(t, junk("empty.db", nil)))
}

func TestADamagedFileSaysWhatToDo(t *testing.T) {
	path := file(t)
	s := open(t, path)
	for i := range 200 {
		accept(t, s, "s", fmt.Sprint("message ", i))
	}
	shut(t, s)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(data); i++ {
		data[i] ^= 0x5a
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, sqlite.Config{Path: path}, path, "damaged", "backup")
}

func TestAnotherSchemaIsRefused(t *testing.T) {
	path := file(t)
	shut(t, open(t, path))
	alter(t, path, "PRAGMA user_version = 99")
	refused(t, sqlite.Config{Path: path}, path, "newer clawbot", "schema 99", "update clawbot")
	alter(t, path, "PRAGMA user_version = 0")
	refused(t, sqlite.Config{Path: path, Guest: true}, "older clawbot", "start this clawbot")

	other := file(t)
	alter(t, other, "CREATE TABLE theirs (x)")
	refused(t, sqlite.Config{Path: other}, "another program's database", "store.path")
}

func alter(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func TestABackupIsAWholeStore(t *testing.T) {
	s := open(t, file(t))
	defer shut(t, s)
	accept(t, s, "s", "a")
	acquire(t, s, "held", "x")
	ref, err := s.Blobs().Put(t.Context(), strings.NewReader("blob"), 10)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "backup.db")
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	accept(t, s, "s", "later")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := s.Backup(t.Context(), path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("overwriting: %v", err)
	}
	if err := s.Backup(t.Context(), filepath.Join(t.TempDir(), "no", "backup.db")); err == nil || !strings.Contains(err.Error(), "in a folder that does") {
		t.Errorf("into a missing folder: %v", err)
	}

	b := open(t, path)
	defer shut(t, b)
	if !accept(t, b, "s", "a").Duplicate || accept(t, b, "s", "later").Duplicate {
		t.Error("the backup is not of its moment")
	}
	if !acquire(t, b, "held", "y").Start().Crashed {
		t.Error("a lease in the backup is still held")
	}
	r, err := b.Blobs().Open(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	shut(t, r)
}

func accept(t testing.TB, s store.Store, session, id string) store.Accepted {
	t.Helper()
	acc, err := s.Accept(t.Context(), store.Event{ID: id, Session: session, Data: []byte(id)})
	if err != nil {
		t.Fatal(err)
	}
	return acc
}

func acquire(t testing.TB, s store.Store, session, owner string) store.Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), session, owner, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func shut(t testing.TB, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }
