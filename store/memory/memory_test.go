package memory_test

import (
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"clawbot/store"
	"clawbot/store/memory"
	"clawbot/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open:   func(*testing.T) store.Store { return memory.New() },
		Bubble: synctest.Test, Rounds: 4000,
	})
}

func TestStoreInRealTime(t *testing.T) {
	storetest.Run(t, storetest.Harness{Open: func(*testing.T) store.Store { return memory.New() }})
}

func TestStoreIsLinearizable(t *testing.T) {
	storetest.Linearizable(t, func(*testing.T) store.Store { return memory.New() })
}
