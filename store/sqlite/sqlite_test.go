package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"clawbot/store"
	"clawbot/store/sqlite"
	"clawbot/store/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("CLAWBOT_TEST_ACCEPT"); path != "" {
		acceptForever(path)
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fresh(t *testing.T) store.Store { return open(t, filepath.Join(t.TempDir(), "clawbot.db")) }

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{Open: fresh, Bubble: synctest.Test})
}

func TestStoreIsLinearizable(t *testing.T) { storetest.Linearizable(t, fresh) }

func TestStoreAnswersAsMemoryDoes(t *testing.T) { storetest.Equivalence(t, fresh) }
