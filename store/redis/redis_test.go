package redis_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"clawbot/internal/redistest"
	"clawbot/store"
	"clawbot/store/redis"
	"clawbot/store/storetest"
)

// shared is the server of the tests that don't break theirs. Each test has a
// prefix of its own.
var shared *redistest.Server

func TestMain(m *testing.M) {
	logging.Disable() // the client library's own log, of connections that tests break
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "clawbot-redis")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if shared, err = redistest.New(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer shared.Kill()
		ignore := goleak.IgnoreCurrent()
		code := m.Run()
		if err := goleak.Find(ignore); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

var prefixes atomic.Int64

func freshPrefix() string { return fmt.Sprintf("test%d", prefixes.Add(1)) }

// quietly is a configuration for url under a prefix of its own. Warnings about
// the test server's settings are not of interest.
func quietly(url string) redis.Config {
	return redis.Config{URL: url, Prefix: freshPrefix(), Logger: slog.New(slog.DiscardHandler)}
}

func open(t testing.TB, cfg redis.Config) *redis.Store {
	t.Helper()
	s, err := redis.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{Open: func(t *testing.T) store.Store { return open(t, quietly(shared.URL())) }})
}

func TestStoreIsLinearizable(t *testing.T) {
	storetest.Linearizable(t, func(t *testing.T) store.Store { return open(t, quietly(shared.URL())) })
}

func TestStoreAnswersAsMemoryDoes(t *testing.T) {
	storetest.Equivalence(t, func(t *testing.T) store.Store { return open(t, quietly(shared.URL())) })
}

// oneNodeCluster refuses calls whose keys lie in several slots, as any cluster
// does.
func oneNodeCluster(t testing.TB) string {
	s := redistest.Start(t, "--cluster-enabled", "yes")
	command(t, s.Addr, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	c := client(t, s.Addr)
	for info := ""; !strings.Contains(info, "cluster_state:ok"); time.Sleep(10 * time.Millisecond) {
		var err error
		if info, err = c.Do(t.Context(), "CLUSTER", "INFO").Text(); err != nil {
			t.Fatal(err)
		}
	}
	return "redis-cluster://" + s.Addr
}

func TestStoreInACluster(t *testing.T) {
	url := oneNodeCluster(t)
	storetest.Run(t, storetest.Harness{Open: func(t *testing.T) store.Store { return open(t, quietly(url)) }})
}
