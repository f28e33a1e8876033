//go:build chaos

package main

import (
	"context"
	"fmt"

	"clawbot/store"
	"clawbot/store/redis"
)

// mutable says whether this program holds the broken builds.
const mutable = true

// late finds entries that were written after another had taken the session
// (invariant 8). A drained message tells when it was accepted, not when it was
// drained, and is left out.
func late(ctx context.Context, s *redis.Store, session string, entries []store.Entry) (violations []string, err error) {
	tenures, err := s.Tenures(ctx, session)
	next := map[string]redis.Tenure{}
	for i := 1; i < len(tenures); i++ {
		next[tenures[i-1].Token] = tenures[i]
	}
	for _, e := range entries {
		if by, ok := next[e.Token]; ok && e.Inbox < 0 && e.At.After(by.Began) {
			violations = append(violations, fmt.Sprintf("%s at %d: written under %s %v after %s had begun: two writers",
				session, e.Position, e.Token, e.At.Sub(by.Began), by.Token))
		}
	}
	return violations, err
}
