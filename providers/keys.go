package providers

import (
	"sync"
	"time"

	"clawbot/agentcore"
)

// How long a key rests that was refused, or limited without saying how long.
const (
	refusedRest = 10 * time.Minute
	limitedRest = time.Minute
)

// keyring hands out keys; one that failed rests while others can serve.
type keyring struct {
	mu    sync.Mutex
	keys  []string
	until []time.Time
	next  int
}

func newKeyring(keys []string) *keyring {
	return &keyring{keys: keys, until: make([]time.Time, len(keys))}
}

func (k *keyring) len() int { return len(k.keys) }

// pick returns the key to use and its index: the current one as long as it
// works, so that a vendor's prompt cache is hit, then the next that does not
// rest, else the one that rests the shortest. Without keys it returns "", -1.
func (k *keyring) pick(now time.Time) (string, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.keys) == 0 {
		return "", -1
	}
	best := k.next
	for n := range k.keys {
		i := (k.next + n) % len(k.keys)
		if !k.until[i].After(now) {
			best = i
			break
		}
		if k.until[i].Before(k.until[best]) {
			best = i
		}
	}
	k.next = best
	return k.keys[best], best
}

// rest records what err means for the key at index, and reports whether another
// key may succeed where it failed.
func (k *keyring) rest(index int, err *agentcore.Error, now time.Time) bool {
	var rest time.Duration
	switch err.Class {
	case agentcore.ErrAuth, agentcore.ErrQuota:
		rest = refusedRest
	case agentcore.ErrRateLimited:
		rest = max(limitedRest, err.RetryAfter)
	default:
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.until[index] = now.Add(rest)
	for i := range k.keys {
		if !k.until[i].After(now) {
			return true
		}
	}
	return false
}
