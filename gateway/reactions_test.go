package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"clawbot/channels"
)

// reactingChat is a chat with reactions.
type reactingChat struct {
	*chat
	slow time.Duration

	rmu   sync.Mutex
	has   map[string]string // by message
	calls []string
}

func (c *reactingChat) React(ctx context.Context, _ channels.Target, message, emoji string) error {
	if !sleep(ctx, c.slow) {
		return ctx.Err()
	}
	c.rmu.Lock()
	defer c.rmu.Unlock()
	c.has[message] = emoji
	c.calls = append(c.calls, message+emoji)
	return nil
}

func (c *reactingChat) left() (with []string) {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	for message, emoji := range c.has {
		if emoji != "" {
			with = append(with, message)
		}
	}
	slices.Sort(with)
	return with
}

func TestAMessageInARoomHasAReactionUntilItIsAnswered(t *testing.T) {
	for name, slow := range map[string]time.Duration{"quick": 0, "slower than the answer": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := &reactingChat{chat: newChat("chat"), slow: slow, has: map[string]string{}}
				m := &script{otherwise: echoAfter(2 * time.Second)}
				b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m, Access: Access{Acknowledge: "👀"}, Queue: Queue{Mode: ModeFollowUp}})
				c.send(t, inRoom("1", "7", "one", true))
				c.send(t, inRoom("2", "7", "two", true))
				c.send(t, inRoom("3", "7", "aside", false))
				c.send(t, direct(sess, "4", "in private"))
				c.send(t, inRoom("5", "7", "/status", true))
				time.Sleep(time.Second)
				if slow == 0 {
					want(t, "reactions at work", c.left(), []string{"1", "2"})
				}
				settled(t, b)
				time.Sleep(10 * time.Second)
				want(t, "reactions left", c.left(), nil)
				if slow == 0 && len(c.calls) != 4 {
					t.Errorf("calls: %q", c.calls)
				}
			})
		})
	}
}

func TestReactionsGoWithAStopAndAfterATakeover(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m := newStore(t), &script{otherwise: echoAfter(time.Hour)}
		c := &reactingChat{chat: newChat("chat"), has: map[string]string{}}
		cfg := Config{Store: s, Channels: []channels.Channel{c}, Model: m, Access: Access{Acknowledge: "👀"}, Drain: -1}
		first := start(t, cfg)
		c.send(t, inRoom("1", "7", "one", true))
		time.Sleep(time.Second)
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		want(t, "reactions after the hand-off", c.left(), []string{"1"})
		c2 := &reactingChat{chat: newChat("chat"), has: c.has}
		cfg.Channels = []channels.Channel{c2}
		second := start(t, cfg)
		time.Sleep(5 * time.Second)
		c2.send(t, inRoom("2", "7", "/stop", true))
		settled(t, second)
		time.Sleep(time.Second)
		want(t, "reactions left", c2.left(), nil)
	})
}

func TestAFloodOfMessagesCostsABoundedNumberOfReactions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := &reactingChat{chat: newChat("chat"), slow: time.Second, has: map[string]string{}}
		b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: &script{}, Access: Access{Acknowledge: "👀"}})
		h := b.hosts["chat"]
		for i := range 500 {
			in := inRoom(fmt.Sprint(i), "7", "x", true)
			h.acknowledge(&in)
		}
		b.reactions.mu.Lock()
		n := len(b.reactions.wanted)
		b.reactions.mu.Unlock()
		if n > mostReactions {
			t.Errorf("%d calls at once", n)
		}
		time.Sleep(time.Minute)
	})
}
