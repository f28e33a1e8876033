package gateway

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

// poller is a channel that one process at a time receives.
type poller struct {
	*chat
	began chan channels.Host
}

func newPoller() *poller { return &poller{newChat("chat"), make(chan channels.Host, 10)} }

func (p *poller) Term(context.Context) (string, error) { return "poll:4711", nil }

func (p *poller) Receive(ctx context.Context, host channels.Host) error {
	p.began <- host
	<-ctx.Done()
	return nil
}

func TestAnExclusiveChannelIsReceivedByOneProcessAndItsStateGoesToTheNext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, p1, p2 := newStore(t), newPoller(), newPoller()
		b1 := start(t, Config{Store: s, Channels: []channels.Channel{p1}, Model: &script{}})
		h1 := <-p1.began
		b2 := start(t, Config{Store: s, Channels: []channels.Channel{p2}, Model: &script{}})
		time.Sleep(time.Minute)
		if len(p2.began) != 0 || b2.Channels()[0].Receiving || !b1.Channels()[0].Receiving {
			t.Fatal("two processes receive")
		}
		if err := h1.Put(t.Context(), "offset", []byte("83")); err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		if err := b1.stop(); err != nil {
			t.Fatal(err)
		}
		h2 := <-p2.began
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("the next one began after %v", took)
		}
		if v, err := h2.Get(t.Context(), "offset"); err != nil || string(v) != "83" {
			t.Errorf("offset: %q, %v", v, err)
		}
		if err := h1.Put(t.Context(), "offset", []byte("1")); !errors.Is(err, store.ErrFenced) {
			t.Errorf("the one before can still write: %v", err)
		}
	})
}

// brokenTerms can be told to fail.
type brokenTerms struct {
	store.Store
	broken atomic.Bool
}

type brokenTerm struct {
	store.Term
	s *brokenTerms
}

func (s *brokenTerms) Elect(ctx context.Context, name, owner string, ttl time.Duration) (store.Term, error) {
	if s.broken.Load() {
		return nil, errDead
	}
	term, err := s.Store.Elect(ctx, name, owner, ttl)
	if err != nil {
		return nil, err
	}
	return &brokenTerm{term, s}, nil
}

func (t *brokenTerm) Renew(ctx context.Context) error {
	if t.s.broken.Load() {
		return errDead
	}
	return t.Term.Renew(ctx)
}

func TestAProcessThatCantRenewItsTermStopsReceivingBeforeAnotherBegins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, p := &brokenTerms{Store: newStore(t)}, newPoller()
		b := start(t, Config{Store: s, Channels: []channels.Channel{p}, Model: &script{}})
		<-p.began
		s.broken.Store(true)
		time.Sleep(14 * time.Second)
		if b.Channels()[0].Receiving {
			t.Error("14 s after the last renewal it still receives")
		}
		s.broken.Store(false)
		select {
		case <-p.began:
		case <-time.After(20 * time.Second):
			t.Error("it does not begin again when the store is back")
		}
	})
}

func TestAChannelThatFailsDoesNotEndTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b := start(t, Config{Store: s, Channels: []channels.Channel{failing{newChat("telegram")}, c}, Model: &script{otherwise: echo}})
		c.send(t, direct(sess, "1", "hi"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"re: hi"})
		if st := b.Channels()[0]; st.Err == nil || st.Receiving || st.Name != "telegram" {
			t.Errorf("state: %+v", st)
		}
	})
}

type failing struct{ *chat }

func (failing) Receive(context.Context, channels.Host) error {
	return errors.New("the token was revoked; make a new one")
}

func TestRunFailsWhenNoChannelCanGoOn(t *testing.T) {
	g, err := New(Config{Store: newStore(t), Channels: []channels.Channel{failing{newChat("telegram")}}, Model: &script{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Run(t.Context()); err == nil {
		t.Error("Run returned nil")
	}
}

func TestAnAcceptThatFailsIsNotAcknowledged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &process{}
		conn := connect(newChat("chat"), p)
		start(t, Config{Store: &mortalStore{newStore(t), p}, Channels: []channels.Channel{conn}, Model: &script{}})
		<-conn.ready
		p.kill()
		if conn.accept(direct(sess, "1", "hi")) == nil {
			t.Error("Accept returned nil although nothing was stored")
		}
	})
}

func TestStateOfAChannelIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{}})
		<-c.ready
		if v, err := c.host.Get(t.Context(), "k"); v != nil || err != nil {
			t.Errorf("before: %q, %v", v, err)
		}
		for _, v := range []string{"1", "2"} {
			if err := c.host.Put(t.Context(), "k", []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := c.host.Get(t.Context(), "k"); string(v) != "2" || err != nil {
			t.Errorf("after: %q, %v", v, err)
		}
	})
}

func TestRunEndsWhenAllChannelsHaveEndedAndTheirMessagesAreAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, c := newStore(t), &oneShot{newChat("terminal")}
		g, err := New(Config{Store: s, Channels: []channels.Channel{c}, Model: &script{otherwise: echoAfter(time.Minute)}, Access: Access{DMPolicy: dmOpen}})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, "posts", c.texts(), []string{"re: hi"})
	})
}

// oneShot sends one message and ends, like a terminal at the end of its input.
type oneShot struct{ *chat }

func (c *oneShot) Receive(ctx context.Context, host channels.Host) error {
	return host.Accept(ctx, direct(sess, "1", "hi"))
}

func TestConfigRefusesWordsThatMeanNothing(t *testing.T) {
	for _, cfg := range []Config{
		{},
		{Queue: Queue{Mode: "steering"}},
		{Queue: Queue{Channels: map[string]string{"chat": "x"}}},
		{Queue: Queue{Drop: "x"}},
		{Access: Access{DMPolicy: "opne"}},
		{Access: Access{GroupPolicy: "x"}},
		{Access: Access{Channels: map[string]ChannelAccess{"chat": {DMPolicy: "x"}}}},
		{Agent: Agent{Thinking: "hard"}},
		{Workspace: Workspace{Scope: "x"}},
	} {
		if cfg.Queue.Mode+cfg.Queue.Drop+cfg.Access.DMPolicy+cfg.Access.GroupPolicy+cfg.Agent.Thinking+cfg.Workspace.Scope != "" || cfg.Queue.Channels != nil || cfg.Access.Channels != nil {
			cfg.Store, cfg.Model, cfg.Channels = newStore(t), &script{}, []channels.Channel{newChat("chat")}
		}
		if _, err := New(cfg); err == nil {
			t.Errorf("New(%+v) took it", cfg)
		}
	}
}
