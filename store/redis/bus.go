package redis

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"clawbot/store"
	"clawbot/store/internal/localbus"
)

// confirmWithin bounds how long Subscribe waits for Redis to confirm. What is
// published before that may be lost, as hints may.
const confirmWithin = 2 * time.Second

// bus is the store.Bus of all processes: Redis carries messages to each
// process once, over one connection, and a bus of the process hands them to its
// subscribers. A topic and a pattern that match the same message bring it
// twice, so each has its own topic on the inner bus.
type bus struct {
	s     *Store
	local localbus.Bus
	done  chan struct{} // closed when the reader has ended

	mu     sync.Mutex
	closed bool
	conn   *goredis.PubSub // nil before the first subscription
	topics map[string]*topic
}

// topic is what the connection is subscribed to, in the name of count
// subscribers.
type topic struct {
	count     int
	confirmed chan struct{}
	once      sync.Once
}

func (b *bus) init(s *Store) {
	b.s, b.topics, b.done = s, map[string]*topic{}, make(chan struct{})
}

// Publish implements store.Bus. It is tried once.
func (b *bus) Publish(ctx context.Context, topic string, data []byte) error {
	if err := b.s.usable(ctx); err != nil {
		return err
	}
	if err := b.s.client.Publish(ctx, b.s.keys.channel(topic), data).Err(); err != nil {
		return b.s.explain(err)
	}
	return nil
}

// Subscribe implements store.Bus. While Redis is away it succeeds: messages
// come once it is back.
func (b *bus) Subscribe(name string, fn func(topic string, data []byte)) (func(), error) {
	t := b.join(name)
	if t == nil {
		return nil, store.ErrClosed
	}
	// Only then does the subscriber listen, so that it does not hear what was
	// on its way to an earlier one of the topic.
	timeout := time.NewTimer(confirmWithin)
	defer timeout.Stop()
	select {
	case <-t.confirmed:
	case <-timeout.C:
		b.s.log.Warn("redis: a subscription is not confirmed; hints are late until it is", "topic", name)
	case <-b.done:
	}
	inner, deliver := exact(name), func(_ string, data []byte) { fn(name, data) }
	if strings.HasSuffix(name, "*") {
		inner = pattern(name)
		deliver = func(_ string, data []byte) {
			at := bytes.IndexByte(data, 0)
			fn(string(data[:at]), data[at+1:])
		}
	}
	unlisten, err := b.local.Subscribe(inner, deliver)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	return func() {
		once.Do(func() { b.leave(name) })
		unlisten()
	}, nil
}

// exact and pattern name topics of the inner bus. They end in a character that
// makes them no pattern there.
func exact(name string) string   { return "=" + name + "$" }
func pattern(name string) string { return "~" + name + "$" }

// join subscribes the connection, which the first one opens. It returns nil
// when the bus is closed.
func (b *bus) join(name string) *topic {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	t := b.topics[name]
	if t == nil {
		t = &topic{confirmed: make(chan struct{})}
		b.topics[name] = t
	}
	if t.count++; t.count > 1 {
		return t
	}
	ctx, cancel := context.WithTimeout(context.Background(), confirmWithin)
	defer cancel()
	first := b.conn == nil
	if first {
		b.conn = b.s.client.Subscribe(ctx)
	}
	// The client keeps the topic and subscribes again when it reconnects, so
	// that an error here heals by itself.
	channel := b.s.keys.channel(name)
	if p, ok := strings.CutSuffix(channel, "*"); ok {
		_ = b.conn.PSubscribe(ctx, glob(p)+"*")
	} else {
		_ = b.conn.Subscribe(ctx, channel)
	}
	if first {
		go b.read(b.conn.ChannelWithSubscriptions(goredis.WithChannelSize(1024)))
	}
	return t
}

func (b *bus) leave(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[name]
	if t == nil || b.closed {
		return
	}
	if t.count--; t.count > 0 {
		return
	}
	delete(b.topics, name)
	ctx, cancel := context.WithTimeout(context.Background(), confirmWithin)
	defer cancel()
	channel := b.s.keys.channel(name)
	if p, ok := strings.CutSuffix(channel, "*"); ok {
		_ = b.conn.PUnsubscribe(ctx, glob(p)+"*")
	} else {
		_ = b.conn.Unsubscribe(ctx, channel)
	}
}

// read hands what comes to the inner bus until the connection is closed.
func (b *bus) read(messages <-chan any) {
	defer close(b.done)
	channels := len(b.s.keys.channel(""))
	for m := range messages {
		switch m := m.(type) {
		case *goredis.Subscription:
			b.confirm(m, channels)
		case *goredis.Message:
			name := m.Channel[channels:]
			inner, data := exact(name), []byte(m.Payload)
			if m.Pattern != "" {
				inner = pattern(unglob(m.Pattern)[channels:])
				data = append(append(append(make([]byte, 0, len(name)+1+len(m.Payload)), name...), 0), m.Payload...)
			}
			_ = b.local.Publish(context.Background(), inner, data) // it fails when closed, and then nobody listens
		}
	}
}

func (b *bus) confirm(m *goredis.Subscription, channels int) {
	name := m.Channel
	switch m.Kind {
	case "subscribe":
	case "psubscribe":
		name = unglob(name)
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.topics[name[channels:]]; t != nil {
		t.once.Do(func() { close(t.confirmed) })
	}
}

// unglob takes back what glob did.
func unglob(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// close ends every subscription.
func (b *bus) close() {
	b.mu.Lock()
	b.closed = true
	conn := b.conn
	b.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // what is left of it is dropped with the client
		<-b.done
	}
	b.local.Close()
}
