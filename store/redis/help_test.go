package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// client is a plain client of addr.
func client(t testing.TB, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: 2, DisableIdentity: true, PoolSize: 2})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// command runs one command and returns its answer.
func command(t testing.TB, addr string, args ...any) any {
	t.Helper()
	c := client(t, addr)
	v, err := c.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}
