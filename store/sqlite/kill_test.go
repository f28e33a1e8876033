package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/store"
	"clawbot/store/sqlite"
)

const killedSessions = 4

// TestNothingPromisedIsLostByKill9 kills a process that accepts, drains and
// begins calls at random moments, and checks what it said it had done.
func TestNothingPromisedIsLostByKill9(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clawbot.db")
	promised := map[string][]string{}
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		for _, line := range runAndKill(t, path, round, 1+rand.IntN(400)) {
			kind, id, ok := strings.Cut(line, " ")
			if ok {
				promised[kind] = append(promised[kind], id)
			}
		}
		checkPromises(t, path, promised)
	}
	if len(promised["accepted"]) == 0 || len(promised["begun"]) == 0 {
		t.Fatal("the child promised nothing")
	}
	t.Logf("%d accepts and %d intents promised in %d rounds", len(promised["accepted"]), len(promised["begun"]), rounds)
}

// runAndKill runs the child until it printed some lines and returns all the
// lines that it printed whole.
func runAndKill(t *testing.T, path string, round, lines int) []string {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), "CLAWBOT_TEST_ACCEPT="+path, fmt.Sprint("CLAWBOT_TEST_ROUND=", round))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var printed []string
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break // what is not whole was not promised
		}
		printed = append(printed, strings.TrimSpace(line))
		if len(printed) == lines {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v", err)
	}
	return printed
}

func checkPromises(t *testing.T, path string, promised map[string][]string) {
	t.Helper()
	s := open(t, path)
	defer s.Close()
	count := map[string]int{} // of messages, in whatever place
	begun := map[string]bool{}
	for i := range killedSessions {
		l, err := s.Acquire(t.Context(), fmt.Sprint("s", i), "checker", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		w, err := l.Peek(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range w.Messages {
			count[q.ID]++
		}
		for _, call := range l.Start().Intents {
			begun[call] = true
		}
		tr, err := l.Load(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		checkTranscript(t, tr, count, begun)
		if err := l.HandOff(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range promised["accepted"] {
		if count[id] != 1 {
			t.Fatalf("accepted message %s is in %d places", id, count[id])
		}
	}
	for _, call := range promised["begun"] {
		if !begun[call] {
			t.Fatalf("that call %s was begun is forgotten", call)
		}
	}
}

func checkTranscript(t *testing.T, tr store.Transcript, count map[string]int, begun map[string]bool) {
	t.Helper()
	for i, e := range tr.Entries {
		if e.Position != int64(i) {
			t.Fatalf("entry %s at %d stands at %d", e.ID, i, e.Position)
		}
		if e.Kind == store.KindUser {
			count[e.ID]++
		}
		if e.Closes != "" {
			begun[e.Closes] = true // a call is begun before it has a result
		}
	}
	if tr.Tail != int64(len(tr.Entries)) {
		t.Fatalf("tail %d of %d entries", tr.Tail, len(tr.Entries))
	}
}

// acceptForever is the child.
func acceptForever(path string) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		fail(err)
	}
	var mu sync.Mutex
	say := func(kind, id string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(kind, id)
	}
	var wg sync.WaitGroup
	for i := range killedSessions {
		session := fmt.Sprint("s", i)
		wg.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%s.%s.%d", os.Getenv("CLAWBOT_TEST_ROUND"), session, n)
				if _, err := s.Accept(ctx, store.Event{ID: id, Session: session, Data: make([]byte, rand.IntN(3000))}); err != nil {
					fail(err)
				}
				say("accepted", id)
			}
		})
		wg.Go(func() {
			for n := 0; ; n++ {
				turn(ctx, s, session, fmt.Sprint(os.Getenv("CLAWBOT_TEST_ROUND"), ".", n), say)
			}
		})
	}
	wg.Wait()
}

// turn does what a runner does: drain, answer with a call, begin it, close it.
func turn(ctx context.Context, s *sqlite.Store, session, id string, say func(kind, id string)) {
	l, err := s.Acquire(ctx, session, "child", time.Hour)
	if err != nil {
		fail(err)
	}
	at := l.Start().Tail
	for _, open := range l.Start().Intents { // of a tenure that was killed
		if err := l.Append(ctx, at, []store.Entry{{Kind: store.KindToolResult, ID: id + "interrupted", Closes: open}}); err != nil {
			fail(err)
		}
		at++
	}
	list, err := l.Drain(ctx, at, 0, 0)
	if errors.Is(err, store.ErrOpenCall) { // killed between the call and its intent
		tr, err := l.Load(ctx, 0)
		if err != nil {
			fail(err)
		}
		open := tr.Entries[len(tr.Entries)-1].Opens[0]
		if err := l.Append(ctx, at, []store.Entry{{Kind: store.KindToolResult, ID: id + "never", Closes: open}}); err != nil {
			fail(err)
		}
		return
	}
	if err != nil {
		fail(err)
	}
	at += int64(len(list))
	call := session + "." + id
	if err := l.Append(ctx, at, []store.Entry{{Kind: store.KindAssistant, ID: id, Opens: []string{call}}}); err != nil {
		fail(err)
	}
	if _, err := l.Intent(ctx, call); err != nil {
		fail(err)
	}
	say("begun", call)
	if err := l.Append(ctx, at+1, []store.Entry{{Kind: store.KindToolResult, ID: id + "r", Closes: call}}); err != nil {
		fail(err)
	}
	if err := l.HandOff(ctx, 0, false); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
