package channeltest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"clawbot/channels"
)

// Host is a [channels.Host] that keeps everything in memory and shows it to a
// test.
type Host struct {
	mu       sync.Mutex
	got      []channels.Inbound
	state    map[string][]byte
	fail     error
	failPut  error
	attempts int
	changed  signal
	subs     map[int]subscription
	nextSub  int
}

type subscription struct {
	topic string
	fn    func(topic string, data []byte)
}

// NewHost returns a host that accepts everything.
func NewHost() *Host {
	return &Host{state: map[string][]byte{}, subs: map[int]subscription{}}
}

// Accept records an event, or fails as told by FailAccept.
func (h *Host) Accept(_ context.Context, in channels.Inbound) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attempts++
	h.changed.wake()
	if h.fail != nil {
		return h.fail
	}
	h.got = append(h.got, in)
	return nil
}

// FailAccept makes Accept fail until it is called with nil.
func (h *Host) FailAccept(err error) { h.mu.Lock(); h.fail = err; h.mu.Unlock() }

// FailPut makes Put fail until it is called with nil.
func (h *Host) FailPut(err error) { h.mu.Lock(); h.failPut = err; h.mu.Unlock() }

// Get returns what was put.
func (h *Host) Get(_ context.Context, key string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.state[key]), nil
}

// Put keeps a value.
func (h *Host) Put(_ context.Context, key string, value []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failPut != nil {
		return h.failPut
	}
	h.state[key] = slices.Clone(value)
	h.changed.wake()
	return nil
}

// State returns a copy of everything that was put.
func (h *Host) State() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]string{}
	for k, v := range h.state {
		out[k] = string(v)
	}
	return out
}

// Publish calls the subscribers of the topic.
func (h *Host) Publish(_ context.Context, topic string, data []byte) error {
	h.mu.Lock()
	subs := slices.Collect(maps.Values(h.subs))
	h.mu.Unlock()
	for _, s := range subs {
		if s.topic == topic {
			s.fn(topic, data)
		}
	}
	return nil
}

// Subscribe registers fn.
func (h *Host) Subscribe(topic string, fn func(topic string, data []byte)) (func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nextSub++
	id := h.nextSub
	h.subs[id] = subscription{topic, fn}
	return func() { h.mu.Lock(); delete(h.subs, id); h.mu.Unlock() }, nil
}

// Events returns what was accepted so far.
func (h *Host) Events() []channels.Inbound {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// WaitEvents waits until n events were accepted and returns all.
func (h *Host) WaitEvents(ctx context.Context, n int) ([]channels.Inbound, error) {
	err := h.wait(ctx, func() bool { return len(h.got) >= n })
	return h.Events(), err
}

// WaitText waits for an event whose text contains text.
func (h *Host) WaitText(ctx context.Context, text string) (found channels.Inbound, err error) {
	err = h.wait(ctx, func() bool {
		for _, in := range h.got {
			if strings.Contains(in.Text, text) {
				found = in
				return true
			}
		}
		return false
	})
	return found, err
}

// WaitAttempts waits until Accept was called n times, failures included.
func (h *Host) WaitAttempts(ctx context.Context, n int) error {
	return h.wait(ctx, func() bool { return h.attempts >= n })
}

// WaitState waits until a value was put under key that satisfies ok.
func (h *Host) WaitState(ctx context.Context, key string, ok func(value string) bool) error {
	return h.wait(ctx, func() bool { v, found := h.state[key]; return found && ok(string(v)) })
}

// wait calls cond with the lock held.
func (h *Host) wait(ctx context.Context, cond func() bool) error {
	return await(ctx, func() (bool, <-chan struct{}) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return cond(), h.changed.wait()
	})
}
