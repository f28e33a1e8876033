package discord

import (
	"hash/maphash"
	"sync"

	"clawbot/channels"
)

// keptRecent is how many messages of people and of the bot are remembered.
const keptRecent = 4096

// recent remembers messages of people: to tell edits from mere updates, and
// whose message was deleted.
type recent struct {
	mu   sync.Mutex
	all  ring[seen]
	seed maphash.Seed
}

// seen is what is remembered of a message.
type seen struct {
	hash      uint64 // of the content
	edited    string
	sender    channels.Sender
	addressed bool
}

// ring is a map that forgets the oldest keys.
type ring[T any] struct {
	values map[string]T
	order  []string
	next   int
}

func (r *ring[T]) put(key string, value T) {
	if r.values == nil {
		r.values = map[string]T{}
	}
	if _, ok := r.values[key]; !ok {
		if len(r.order) < keptRecent {
			r.order = append(r.order, key)
		} else {
			delete(r.values, r.order[r.next])
			r.order[r.next] = key
			r.next = (r.next + 1) % keptRecent
		}
	}
	r.values[key] = value
}

func (r *recent) remember(m *message, in *channels.Inbound) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.put(m.ID, seen{r.sum(m), m.Edited, in.Sender, in.Addressed})
}

// sum hashes a content. r.mu is held.
func (r *recent) sum(m *message) uint64 {
	if r.seed == (maphash.Seed{}) {
		r.seed = maphash.MakeSeed()
	}
	if m.Content == nil {
		return 0
	}
	return maphash.String(r.seed, *m.Content)
}

// changed reports whether an update of a message is an edit: its time of
// editing is another, and so is its content, as far as that is known.
func (r *recent) changed(m *message) (was seen, known, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known = r.all.values[m.ID]
	if m.Edited == "" {
		return was, known, false
	}
	return was, known, !known || was.edited != m.Edited && was.hash != r.sum(m)
}

func (r *recent) find(id string) (seen, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.all.values[id]
	return s, ok
}

// nonces remembers the bot's messages by what they were sent with.
type nonces struct {
	mu  sync.Mutex
	all ring[string]
}

func (n *nonces) put(nonce, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all.put(nonce, id)
}

func (n *nonces) find(nonce string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all.values[nonce]
}
