package reply

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
)

func TestWhoLostTheConversationWritesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		lost := false
		r := New(Config{
			Channel: p, Target: channels.Target{Conversation: "fake:c", Chat: "c"},
			BeforeWrite: func() {
				if lost {
					cancel()
				}
			},
		})
		ran := make(chan error, 1)
		go func() { ran <- r.Run(ctx) }()
		r.Write(strings.Repeat("early text ", 10))
		pause(2 * time.Second)
		before := p.posts + p.edits
		if before == 0 {
			t.Fatal("nothing was written at first")
		}
		lost = true
		r.Write("late text")
		pause(10 * time.Second)
		if after := p.posts + p.edits; after != before || strings.Contains(p.reading(), "late") {
			t.Errorf("%d writes came after the loss: %q", after-before, p.reading())
		}
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}
