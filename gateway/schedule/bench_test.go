package schedule

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"clawbot/internal/redistest"
	"clawbot/store"
	"clawbot/store/memory"
	"clawbot/store/redis"
	"clawbot/store/sqlite"
)

// full is a book with 10,000 recurring schedules of 1,000 people, one a minute.
func full(b *testing.B, s store.Store) Book {
	b.Helper()
	b.Cleanup(func() { _ = s.Close() })
	book, next := Book{State: s.State()}, atomic.Int64{}
	var group errgroup.Group
	for range 64 {
		group.Go(func() error {
			for i := next.Add(1); i <= 10_000; i = next.Add(1) {
				it := item(fmt.Sprint("chat:", i%2000), fmt.Sprint("u", i%1000), "0 9 * * *", noon.Add(time.Duration(i)*time.Minute))
				if _, err := book.Add(b.Context(), it); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	return book
}

func stores(b *testing.B, fn func(b *testing.B, book Book)) {
	b.Run("memory", func(b *testing.B) { fn(b, full(b, memory.New())) })
	b.Run("sqlite", func(b *testing.B) {
		s, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "x.db")})
		if err != nil {
			b.Fatal(err)
		}
		fn(b, full(b, s))
	})
	b.Run("redis", func(b *testing.B) {
		s, err := redis.Open(b.Context(), redis.Config{URL: redistest.Start(b).URL(), Prefix: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		fn(b, full(b, s))
	})
}

// BenchmarkTick is a look at what is due when nothing is, and when the next is.
func BenchmarkTick(b *testing.B) {
	stores(b, func(b *testing.B, book Book) {
		b.ReportAllocs()
		for b.Loop() {
			if list, _, err := book.Due(b.Context(), noon, "", 100, anybody); err != nil || len(list) > 0 {
				b.Fatal(list, err)
			}
			if at, err := book.Earliest(b.Context(), noon); err != nil || at.IsZero() {
				b.Fatal(at, err)
			}
		}
		goroutines := runtime.NumGoroutine()
		b.ReportMetric(float64(goroutines), "goroutines")
	})
}

// BenchmarkMend reads all of them, as is done at the start.
func BenchmarkMend(b *testing.B) {
	stores(b, func(b *testing.B, book Book) {
		for b.Loop() {
			if n, err := book.Mend(b.Context(), noon); err != nil || n > 0 {
				b.Fatal(n, err)
			}
		}
	})
}

// BenchmarkOccurrence finds one of them due and moves it on.
func BenchmarkOccurrence(b *testing.B) {
	stores(b, func(b *testing.B, book Book) {
		b.ReportAllocs()
		for now := noon; b.Loop(); {
			now = now.Add(time.Minute)
			list, _, err := book.Due(b.Context(), now, "", 1, anybody)
			if err != nil {
				b.Fatal(err)
			}
			for _, d := range list {
				if err := book.Advance(b.Context(), d, now); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
