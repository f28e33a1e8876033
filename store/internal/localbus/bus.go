// Package localbus is the store.Bus of a single process. It has no goroutine
// while nothing is published: each subscription starts one for as long as it
// has messages to deliver.
package localbus

import (
	"context"
	"slices"
	"strings"
	"sync"

	"clawbot/store"
)

// backlog bounds the messages that wait for one subscriber.
const backlog = 4096

// Bus delivers in memory. The zero value is ready; Close ends it.
type Bus struct {
	mu     sync.RWMutex
	closed bool
	exact  map[string][]*subscription
	prefix []*subscription
}

var _ store.Bus = (*Bus)(nil)

// Publish hands data to every present subscriber of topic. It never blocks.
func (b *Bus) Publish(ctx context.Context, topic string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return store.ErrClosed
	}
	m := message{topic: topic}
	send := func(s *subscription) {
		if m.data == nil {
			m.data = append([]byte{}, data...)
		}
		s.put(m)
	}
	for _, s := range b.exact[topic] {
		send(s)
	}
	for _, s := range b.prefix {
		if strings.HasPrefix(topic, s.topic) {
			send(s)
		}
	}
	return nil
}

// Subscribe implements store.Bus.
func (b *Bus) Subscribe(topic string, fn func(topic string, data []byte)) (func(), error) {
	s := &subscription{fn: fn}
	s.idle.L = &s.mu
	var isPrefix bool
	s.topic, isPrefix = strings.CutSuffix(topic, "*")

	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, store.ErrClosed
	}
	if isPrefix {
		b.prefix = append(b.prefix, s)
	} else {
		if b.exact == nil {
			b.exact = map[string][]*subscription{}
		}
		b.exact[topic] = append(b.exact[topic], s)
	}
	return func() {
		b.remove(s, isPrefix)
		s.stop()
	}, nil
}

func (b *Bus) remove(s *subscription, isPrefix bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	isIt := func(other *subscription) bool { return other == s }
	if isPrefix {
		b.prefix = slices.DeleteFunc(b.prefix, isIt)
		return
	}
	rest := slices.DeleteFunc(b.exact[s.topic], isIt)
	if len(rest) == 0 {
		delete(b.exact, s.topic)
		return
	}
	b.exact[s.topic] = rest
}

// Close ends every subscription and waits for running calls.
func (b *Bus) Close() {
	b.mu.Lock()
	all := b.prefix
	for _, subs := range b.exact {
		all = append(all, subs...)
	}
	b.closed, b.prefix, b.exact = true, nil, nil
	b.mu.Unlock()
	for _, s := range all {
		s.stop()
	}
}

type message struct {
	topic string
	data  []byte
}

type subscription struct {
	topic string // without the *
	fn    func(topic string, data []byte)

	mu      sync.Mutex
	idle    sync.Cond // signalled when running becomes false
	queue   []message
	running bool // a goroutine delivers the queue
	stopped bool
}

func (s *subscription) put(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || len(s.queue) >= backlog {
		return
	}
	s.queue = append(s.queue, m)
	if !s.running {
		s.running = true
		go s.deliver()
	}
}

func (s *subscription) deliver() {
	s.mu.Lock()
	for len(s.queue) > 0 {
		batch := s.queue
		s.queue = nil
		for _, m := range batch {
			if s.stopped {
				break
			}
			s.mu.Unlock()
			s.fn(m.topic, m.data)
			s.mu.Lock()
		}
	}
	s.running = false
	s.idle.Broadcast()
	s.mu.Unlock()
}

func (s *subscription) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.queue = nil
	for s.running {
		s.idle.Wait()
	}
}
