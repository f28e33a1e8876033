package gateway

import (
	"sync"
	"time"
)

const (
	toldKept = 2000
	toldFor  = 24 * time.Hour
)

// told remembers who was told what, so that a closed door says so once and not
// with every knock. It is bounded: when it is full it starts over.
type told struct {
	mu   sync.Mutex
	when map[string]time.Time
}

// knows reports whether key was noted within that time.
func (t *told) knows(key string, within time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.when[key]
	return ok && time.Since(at) < within
}

// first reports whether key was not told within the last day, and notes it.
func (t *told) first(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if at, ok := t.when[key]; ok && now.Sub(at) < toldFor {
		return false
	}
	if t.when == nil || len(t.when) >= toldKept {
		t.when = make(map[string]time.Time)
	}
	t.when[key] = now
	return true
}
