package gateway

import (
	"sync"
	"time"
)

// dues remembers for how long sessions have been due as the sweep saw them: a
// session that stays on its list is one that nobody can take.
type dues struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// see takes in a sweep's list.
func (d *dues) see(sessions []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(sessions) == 0 {
		d.since = nil
		return
	}
	since := make(map[string]time.Time, len(sessions))
	for _, s := range sessions {
		at, ok := d.since[s]
		if !ok {
			at = time.Now()
		}
		since[s] = at
	}
	d.since = since
}

// age returns how many there were, and for how long the first.
func (d *dues) age() (n int, age time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range d.since {
		age = max(age, time.Since(at))
	}
	return len(d.since), age
}
