package memory_test

import (
	"testing"

	"clawbot/store"
	"clawbot/store/memory"
	"clawbot/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) store.Store { return memory.New() })
}
