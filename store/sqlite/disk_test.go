package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/store"
)

func TestAFullDiskRefusesWhatDoesNotFitAndGoesOnWhenThereIsRoom(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "clawbot.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limit := func(pages int) {
		t.Helper()
		err := s.do(t.Context(), false, func(tx *tx) error { return tx.exec(fmt.Sprint("PRAGMA max_page_count = ", pages)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(60)
	big := store.Event{ID: "big", Session: "s", Data: make([]byte, 1<<20)}
	_, err = s.Accept(t.Context(), big)
	if err == nil || !strings.Contains(err.Error(), "disk is full: free space") {
		t.Fatalf("error is %v", err)
	}
	// What fits is not refused for another's fault, in one transaction or not.
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := s.Accept(t.Context(), store.Event{ID: fmt.Sprint(i), Session: "s"}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := s.Accept(t.Context(), big); err == nil {
				t.Error("what does not fit was accepted")
			}
		})
	}
	wg.Wait()
	limit(100000)
	acc, err := s.Accept(t.Context(), big)
	if err != nil || acc.Duplicate || acc.Position != 8 || acc.Waiting != 9 {
		t.Errorf("accepted %+v, %v", acc, err)
	}
}

func TestTheLogIsBroughtIntoTheDatabaseWhileTheStoreIsUsed(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "clawbot.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Acquire(t.Context(), "s", "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	const each, count = 64 << 10, 1500
	for i := range int64(count) {
		if err := l.Append(t.Context(), i, []store.Entry{{Kind: store.KindNote, ID: fmt.Sprint(i), Data: make([]byte, each)}}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > (2*pagesMost+4*pagesWanted)*4200 {
		t.Errorf("the log has %d MB after %d MB were written", info.Size()>>20, each*count>>20)
	}
	tr, err := l.Load(t.Context(), 0)
	if err != nil || len(tr.Entries) != count {
		t.Errorf("%d entries, %v", len(tr.Entries), err)
	}
}

func TestTheWriterKeepsFewSessionsAtHand(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "clawbot.db")})
	if err != nil {
		t.Fatal(err)
	}
	s.barrier = func() error { return nil }
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range maxCached/8 + 50 {
				if _, err := s.Accept(t.Context(), store.Event{ID: "e", Session: fmt.Sprintf("s%d.%d", n, i)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil { // the writer has ended
		t.Fatal(err)
	}
	if n := len(s.writer.cache); n > maxCached {
		t.Errorf("%d sessions", n)
	}
}
