package gateway

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
	"clawbot/store/memory"
	"clawbot/store/sqlite"
)

// instant answers at once and tells that it was asked.
type instant struct{ asked chan struct{} }

func (m *instant) Stream(context.Context, *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		m.asked <- struct{}{}
		if yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: "A short answer to a short question."}, nil) {
			yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}, nil)
		}
	}
}

// postChat tells of every post.
type postChat struct {
	*chat
	posted chan struct{}
}

func (c *postChat) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	id, err := c.chat.Post(ctx, to, out)
	c.mu.Lock()
	c.posts = c.posts[:0]
	c.mu.Unlock()
	c.posted <- struct{}{}
	return id, err
}

func benchStores(b *testing.B, fn func(b *testing.B, s store.Store)) {
	b.Run("memory", func(b *testing.B) {
		s := memory.New()
		defer s.Close()
		fn(b, s)
	})
	b.Run("sqlite", func(b *testing.B) {
		s, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "bot.db")})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		fn(b, s)
	})
}

func benchBot(b *testing.B, s store.Store) (c *postChat, m *instant, stop func()) {
	c = &postChat{newChat("chat"), make(chan struct{}, 1)}
	m = &instant{make(chan struct{}, 1)}
	g, err := New(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Access: Access{DMPolicy: dmOpen}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = g.Run(ctx); close(done) }()
	<-c.ready
	return c, m, func() { cancel(); <-done }
}

// BenchmarkTurn is a whole turn: accepted, asked, recorded, delivered. asked-ns
// is the part until the model is asked, the durable accept included.
func BenchmarkTurn(b *testing.B) {
	benchStores(b, func(b *testing.B, s store.Store) {
		c, m, stop := benchBot(b, s)
		defer stop()
		b.ReportAllocs()
		var asked []time.Duration
		for i := 0; b.Loop(); i++ {
			in := direct(fmt.Sprintf("chat:%d", i%100), fmt.Sprint(i), "hello there")
			delivered := time.Now()
			if err := c.host.Accept(b.Context(), in); err != nil {
				b.Fatal(err)
			}
			<-m.asked
			asked = append(asked, time.Since(delivered))
			<-c.posted
		}
		slices.Sort(asked)
		b.ReportMetric(float64(asked[len(asked)/2].Nanoseconds()), "asked-ns(median)")
	})
}

// BenchmarkLongSession is a turn of a session that has had n turns before.
func BenchmarkLongSession(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := memory.New()
			defer s.Close()
			c, m, stop := benchBot(b, s)
			defer stop()
			turn := func(i int) {
				if err := c.host.Accept(context.Background(), direct(sess, fmt.Sprint(i), "hello there")); err != nil {
					b.Fatal(err)
				}
				<-m.asked
				<-c.posted
			}
			for i := range n {
				turn(i)
			}
			b.ReportAllocs()
			for i := n; b.Loop(); i++ {
				turn(i)
			}
		})
	}
}

// deltas streams b.N deltas in one answer.
type deltas struct{ n int }

func (m deltas) Stream(context.Context, *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		for range m.n {
			if !yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: " word"}, nil) {
				return
			}
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}, nil)
	}
}

// BenchmarkDelta is what one streamed delta costs from the model to the reply's
// buffer.
func BenchmarkDelta(b *testing.B) {
	s := memory.New()
	defer s.Close()
	c := &postChat{newChat("chat"), make(chan struct{}, 1<<20)}
	g, err := New(Config{Store: s, Channels: []channels.Channel{c}, Model: deltas{b.N}, Access: Access{DMPolicy: dmOpen}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = g.Run(ctx); close(done) }()
	<-c.ready
	b.ReportAllocs()
	b.ResetTimer()
	if err := c.host.Accept(b.Context(), direct(sess, "1", "go")); err != nil {
		b.Fatal(err)
	}
	<-c.posted
	cancel()
	<-done
}
