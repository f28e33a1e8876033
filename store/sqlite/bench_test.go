package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"clawbot/store"
	"clawbot/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		return open(b, filepath.Join(b.TempDir(), "clawbot.db"))
	})
}

// BenchmarkBareFsync is what the disk alone takes to keep three pages; an
// accept is measured against it.
func BenchmarkBareFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	pages := make([]byte, 3*4120)
	for i := int64(0); b.Loop(); i++ {
		if _, err := f.WriteAt(pages, i%300*int64(len(pages))); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}
