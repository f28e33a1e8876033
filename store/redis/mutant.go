//go:build !chaos

package redis

// mutate breaks nothing in a real build.
func mutate(*Store) {}
