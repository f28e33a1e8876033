package main

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/gateway"
	"clawbot/store/memory"
)

// mailbox is a channel on which owners can be written to.
type mailbox struct {
	mu    sync.Mutex
	texts []string
}

func (*mailbox) Name() string { return "mail" }
func (*mailbox) Receive(ctx context.Context, _ channels.Host) error {
	<-ctx.Done()
	return nil
}

func (m *mailbox) Post(_ context.Context, _ channels.Target, out channels.Outgoing) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts = append(m.texts, out.Markdown)
	return "1", nil
}

func (*mailbox) Edit(context.Context, channels.Target, string, channels.Outgoing) error {
	return errors.New("nothing is edited here")
}
func (*mailbox) Limits(channels.Target) channels.Limits { return channels.Limits{} }
func (*mailbox) OpenDirect(context.Context, string) (channels.Target, error) {
	return channels.Target{Conversation: "mail:1", Chat: "1", Direct: true}, nil
}

func (m *mailbox) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.texts)
}

type silent struct{}

func (silent) Stream(context.Context, *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(func(agentcore.StreamEvent, error) bool) {}
}

func TestOwnersAreToldOfADiskThatFillsUpOnceAndWhenItHasRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, alerts := &mailbox{}, &gateway.Alerts{}
		g, err := gateway.New(gateway.Config{
			Store: memory.New(), Channels: []channels.Channel{box}, Model: silent{}, Alerts: alerts,
			Access: gateway.Access{Owners: []string{"mail:1"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		free, failing := int64(100)<<30, false
		var mu sync.Mutex
		set := func(n int64, fails bool) { mu.Lock(); defer mu.Unlock(); free, failing = n, fails }
		group.Go(func() { _ = g.Run(ctx) })
		group.Go(func() {
			watchDisk(ctx, map[string]string{"database": "/"}, func(string) (volume, error) {
				mu.Lock()
				defer mu.Unlock()
				if failing {
					return volume{}, errors.New("no such disk")
				}
				return volume{free: free}, nil
			}, alerts)
		})
		for _, step := range []struct {
			free  int64
			fails bool
			told  int
		}{
			{100 << 30, false, 0}, {diskLow, false, 0}, {diskLow - 1, false, 1}, {10 << 20, false, 1}, {0, true, 1},
			{diskLow + 1, false, 1}, {2 * diskLow, false, 2}, {diskLow + 1, false, 2}, {diskLow - 1, false, 3},
		} {
			set(step.free, step.fails)
			time.Sleep(time.Hour)
			if n := box.count(); n != step.told {
				t.Errorf("with %d bytes free, %d messages, want %d: %q", step.free, n, step.told, box.texts)
			}
		}
		cancel()
		group.Wait()
	})
}
