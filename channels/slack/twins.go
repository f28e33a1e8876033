package slack

import "sync"

// keptTwins is how many messages are remembered for their twins.
const keptTwins = 4096

// twins remembers as what the latest messages were accepted. A mention comes
// twice; the second time, in its other form, it is no news. A redelivery in the
// same form is left to the host, which remembers for longer.
type twins struct {
	mu   sync.Mutex
	seen map[string]form
	ring []string
	next int
}

// other reports whether the message was accepted in another form, and not in
// this one.
func (t *twins) other(id string, as form) bool {
	if as == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.seen[id]
	return was != 0 && was&as == 0
}

func (t *twins) add(id string, as form) {
	if as == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen, t.ring = map[string]form{}, make([]string, keptTwins)
	}
	if t.seen[id] == 0 {
		delete(t.seen, t.ring[t.next])
		t.ring[t.next] = id
		t.next = (t.next + 1) % keptTwins
	}
	t.seen[id] |= as
}
