package gateway

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"clawbot/channels"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sess = "chat:1"

func TestAMessageIsAnsweredOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		in := direct(sess, "1", "hello")
		c.send(t, in)
		c.send(t, in) // delivered twice by the platform
		settled(t, b)
		c.send(t, in)
		settled(t, b)
		want(t, "posts", c.texts(), []string{"re: hello"})
		want(t, "transcript", outline(t, s, sess), []string{"u hello", "a re: hello"})
		valid(t, s, sess)
	})
}

func TestSteeringDuringAToolIsInTheNextRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{call("c1", "slow", `{}`), say("done both")}}
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, 2*time.Second); return "slept" })
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{slow}})
		c.send(t, direct(sess, "1", "work"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "2", "and this"))
		settled(t, b)
		reqs := m.asked()
		if len(reqs) != 2 {
			t.Fatalf("%d requests, want 2", len(reqs))
		}
		want(t, "second request", users(reqs[1]), []string{"work", "and this"})
		want(t, "transcript", outline(t, s, sess), []string{"u work", "a →slow", "t slept", "u and this", "a done both"})
		want(t, "posts", c.texts(), []string{"done both"})
		valid(t, s, sess)
	})
}
