package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"syscall"

	"clawbot/store"
)

// gated returns a store whose disk answers when told to.
func gated(t *testing.T) (s *Store, entered chan struct{}, answer chan error) {
	t.Helper()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "clawbot.db")})
	if err != nil {
		t.Fatal(err)
	}
	entered, answer = make(chan struct{}), make(chan error)
	s.barrier = func() error {
		entered <- struct{}{}
		return <-answer
	}
	return s, entered, answer
}

func TestOnlyPromisesWaitForTheDisk(t *testing.T) {
	s, entered, answer := gated(t)
	ctx := t.Context()
	// None of these reaches the barrier, or they would not return.
	l, err := s.Acquire(ctx, "s", "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]error{
		"append":   l.Append(ctx, 0, []store.Entry{{Kind: store.KindAssistant, ID: "as", Opens: []string{"c"}}}),
		"reply":    l.SetReply(ctx, store.Reply{Run: "r"}),
		"renew":    second(l.Renew(ctx)),
		"reserve":  s.Counters().Reserve(ctx, "r", 1, []store.CounterKey{{Key: "k"}}),
		"release":  second(l.ReleaseIfEmpty(ctx)),
		"hand off": l.HandOff(ctx, 0, false),
	}
	for what, err := range steps {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	l, err = s.Acquire(ctx, "s", "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for what, promise := range map[string]func() error{
		"accept": func() error { return second(s.Accept(ctx, store.Event{ID: "e", Session: "t"})) },
		"intent": func() error { return second(l.Intent(ctx, "c")) },
		"state":  func() error { return second(s.State().Put(ctx, "k", nil, 0)) },
		"delete": func() error { return s.State().Delete(ctx, "k") },
		"check":  func() error { return s.Check(ctx) },
	} {
		done := make(chan error, 1)
		go func() { done <- promise() }()
		<-entered
		select {
		case <-done:
			t.Errorf("%s returned before the disk had it", what)
		default:
		}
		answer <- nil
		if err := <-done; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOneBarrierServesAllThatWaitForIt(t *testing.T) {
	s, entered, answer := gated(t)
	const n = 50
	var wg sync.WaitGroup
	accept := func(i int) {
		wg.Go(func() {
			if _, err := s.Accept(t.Context(), store.Event{ID: fmt.Sprint(i), Session: "s"}); err != nil {
				t.Error(err)
			}
		})
	}
	accept(0)
	<-entered
	for i := 1; i < n; i++ {
		accept(i)
	}
	// They are committed and wait while the first barrier takes its time.
	for waiting := 0; waiting < n; {
		if err := s.read(t.Context(), func(c *conn) (err error) {
			count, err := c.number("SELECT count(*) FROM inbox")
			waiting = int(count)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	answer <- nil
	barriers := 1
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-entered:
			barriers++
			answer <- nil
			continue
		case <-done:
		}
		break
	}
	if barriers > 3 {
		t.Errorf("%d barriers for %d accepts", barriers, n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAfterAFailedBarrierTheStoreTakesNoMoreWrites(t *testing.T) {
	s, entered, answer := gated(t)
	go func() {
		<-entered
		answer <- syscall.EIO
	}()
	_, err := s.Accept(t.Context(), store.Event{ID: "e", Session: "s"})
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "start clawbot again") {
		t.Errorf("error is %v", err)
	}
	_, err = s.Accept(t.Context(), store.Event{ID: "f", Session: "s"})
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("error is %v", err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Errorf("check: %v", err)
	}
	if _, err := s.Due(t.Context(), 1); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAContextThatEndsWhileTheDiskIsWaitedForReturns(t *testing.T) {
	s, entered, answer := gated(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Accept(ctx, store.Event{ID: "e", Session: "s"})
		done <- err
	}()
	<-entered
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	answer <- nil
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A power cut leaves of the log what the last barrier covered and any part of
// what came later.
func TestAPowerCutLosesNothingPromised(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clawbot.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	var synced atomic.Int64
	s.barrier = func() error {
		info, err := s.wal.Stat()
		synced.Store(info.Size()) // its size grows, as no checkpoint comes
		return err
	}
	const sessions, messages = 4, 12
	var wg sync.WaitGroup
	for n := range sessions {
		wg.Go(func() { converse(t, s, fmt.Sprint("s", n), messages) })
	}
	wg.Wait()
	promised := synced.Load()
	for n := range sessions { // not promised, and maybe lost
		l, err := s.Acquire(t.Context(), fmt.Sprint("s", n), "b", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append(t.Context(), l.Start().Tail, []store.Entry{{Kind: store.KindNote, ID: "n", Data: make([]byte, 9000)}}); err != nil {
			t.Fatal(err)
		}
	}
	db, wal := readFile(t, path), readFile(t, path+"-wal")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if int64(len(wal)) <= promised {
		t.Fatal("nothing was written after the last barrier")
	}
	for i := range 12 {
		cut := int(promised) + i*(len(wal)-int(promised))/12
		torn := append([]byte{}, wal[:cut]...)
		if i%2 == 1 { // blocks reached the disk out of order
			torn = append(torn, make([]byte, 3000)...)
			torn = append(torn, wal[min(len(wal), cut+3000):]...)
		}
		checkAfterCut(t, db, torn, sessions, messages)
	}
}

func converse(t *testing.T, s *Store, session string, messages int) {
	for i := range messages {
		if _, err := s.Accept(t.Context(), store.Event{ID: fmt.Sprint(i), Session: session, Data: make([]byte, 700)}); err != nil {
			t.Error(err)
			return
		}
		if i%3 != 0 {
			continue
		}
		l, err := s.Acquire(t.Context(), session, "a", time.Hour)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := l.Drain(t.Context(), l.Start().Tail, 0, 0); err != nil {
			t.Error(err)
		}
		if err := l.HandOff(t.Context(), 0, false); err != nil {
			t.Error(err)
		}
	}
}

func checkAfterCut(t *testing.T, db, wal []byte, sessions, messages int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clawbot.db")
	for name, data := range map[string][]byte{path: db, path + "-wal": wal} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range sessions {
		l, err := s.Acquire(t.Context(), fmt.Sprint("s", n), "b", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		w, err := l.Peek(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := l.Load(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		got := len(w.Messages)
		for _, e := range tr.Entries {
			if e.Kind == store.KindUser {
				got++
			}
		}
		if got != messages {
			t.Fatalf("%d of %d messages after a cut at %d", got, messages, len(wal))
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func second[T any](_ T, err error) error { return err }
