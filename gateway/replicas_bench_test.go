package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"clawbot/channels"
	"clawbot/internal/redistest"
	"clawbot/store"
	"clawbot/store/redis"
	"clawbot/store/sqlite"
)

// BenchmarkReplicas has 64 conversations at once over several replicas, with a
// model that answers at once. All run in this process, so that on few cores it
// shows what a message costs and not how replicas add up.
func BenchmarkReplicas(b *testing.B) {
	b.Run("sqlite/1", func(b *testing.B) {
		s, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "bot.db"), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		benchReplicas(b, s)
	})
	for _, n := range []int{1, 2, 4} {
		b.Run(fmt.Sprint("redis/", n), func(b *testing.B) {
			server := redistest.Start(b, redistest.Durable()...)
			var stores []store.Store
			for range n {
				s, err := redis.Open(b.Context(), redis.Config{URL: server.URL(), Prefix: "bench", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				stores = append(stores, s)
			}
			benchReplicas(b, stores...)
		})
	}
}

func benchReplicas(b *testing.B, stores ...store.Store) {
	const chats = 64
	var hosts []channels.Host
	posted := make([]chan struct{}, chats)
	for i := range posted {
		posted[i] = make(chan struct{}, 1)
	}
	for i, s := range stores {
		c := &crowdChat{newChat("chat"), posted}
		g, err := New(Config{Store: s, Channels: []channels.Channel{c}, Model: deltas{5}, Access: Access{DMPolicy: dmOpen},
			Owner: fmt.Sprint("replica", i), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { _ = g.Run(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		<-c.ready
		hosts = append(hosts, c.host)
	}
	b.ResetTimer()
	turns := make(chan int, b.N)
	for i := range b.N {
		turns <- i
	}
	close(turns)
	finished := make(chan struct{}, chats)
	for chat := range chats {
		go func() {
			defer func() { finished <- struct{}{} }()
			for i := range turns {
				if err := hosts[i%len(hosts)].Accept(context.Background(), direct(fmt.Sprint("chat:", chat), fmt.Sprint(i), "hello there")); err != nil {
					b.Error(err)
					return
				}
				<-posted[chat]
			}
		}()
	}
	for range chats {
		<-finished
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// crowdChat tells each conversation's writer of every post.
type crowdChat struct {
	*chat
	posted []chan struct{}
}

func (c *crowdChat) Post(_ context.Context, to channels.Target, _ channels.Outgoing) (string, error) {
	var n int
	_, err := fmt.Sscanf(to.Conversation, "chat:%d", &n)
	if err == nil {
		c.posted[n] <- struct{}{}
	}
	return "m", err
}
