package discord

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

func TestAnEventIsConfirmedWhenAllBeforeItAreAccepted(t *testing.T) {
	p := newProgress("s", "")
	for seq := range int64(6) {
		p.begin(seq + 1)
	}
	for _, step := range []struct{ done, confirmed int64 }{{2, 0}, {4, 0}, {1, 2}, {1, 2}, {9, 2}, {3, 4}, {6, 4}, {5, 6}} {
		if p.done(step.done); p.confirmed != step.confirmed {
			t.Errorf("after %d is done, %d are confirmed, want %d", step.done, p.confirmed, step.confirmed)
		}
	}
	if _, seq := p.resume(); seq != 6 || len(p.open) != 0 {
		t.Errorf("the session goes on from %d; open are %v", seq, p.open)
	}
}

// choosy is a host that can't take some messages.
type choosy struct {
	*channeltest.Host
	mu     sync.Mutex
	refuse string
}

func (c *choosy) Accept(ctx context.Context, in channels.Inbound) error {
	c.mu.Lock()
	refused := c.refuse != "" && strings.Contains(in.Text, c.refuse)
	c.mu.Unlock()
	if refused {
		return errors.New("not this one")
	}
	return c.Host.Accept(ctx, in)
}

func TestWhatOneChannelCouldNotHandOverIsNotConfirmedByAnother(t *testing.T) {
	r := newRig(t, channeltest.DiscordConfig{}, Config{})
	host := &choosy{Host: r.host, refuse: "stuck"}
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() { done <- r.bot.Receive(ctx, host) }()
	r.must(r.WaitConnected(r.ctx))
	r.SendText(r.DM("71"), "71", "stuck")
	r.SendText(r.DM("72"), "72", "goes through")
	r.next("goes through")
	cancel()
	r.must(<-done)
	next := rigOn(t, r.Discord, Config{})
	next.host = r.host
	next.receive()
	next.next("stuck")
}
