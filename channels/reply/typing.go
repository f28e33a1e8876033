package reply

import (
	"context"
	"errors"
	"sync"
	"time"

	"clawbot/channels"
)

const (
	// typingAfter spares the platform the sign for answers that come at once.
	typingAfter = 200 * time.Millisecond
	retryTyping = 5 * time.Second
)

// typing keeps the sign that the bot is writing alive until it is stopped. It
// takes a goroutine only while a call is under way.
type typing struct {
	ctx    context.Context
	cancel context.CancelFunc
	typer  channels.Typer
	to     channels.Target

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	calls   sync.WaitGroup
}

func startTyping(ctx context.Context, ch channels.Channel, to channels.Target) *typing {
	t := &typing{to: to}
	t.ctx, t.cancel = context.WithCancel(ctx)
	var ok bool
	if t.typer, ok = ch.(channels.Typer); ok {
		t.mu.Lock()
		t.timer = time.AfterFunc(typingAfter, t.show)
		t.mu.Unlock()
	}
	return t
}

// show makes one call and plans the next.
func (t *typing) show() {
	t.mu.Lock()
	if t.stopped || t.ctx.Err() != nil {
		t.mu.Unlock()
		return
	}
	t.calls.Add(1)
	t.mu.Unlock()
	again, err := t.typer.Typing(t.ctx, t.to)
	wait := max(time.Duration(again)*time.Second, time.Second)
	if err != nil {
		wait = retryTyping
		if e, ok := errors.AsType[*channels.SendError](err); ok {
			if e.Reason == channels.ReasonForbidden || e.Reason == channels.ReasonAuth {
				wait = 0 // never again
			} else {
				wait = max(wait, e.RetryAfter)
			}
		}
	}
	t.mu.Lock()
	if !t.stopped && wait > 0 {
		t.timer.Reset(wait)
	}
	t.mu.Unlock()
	t.calls.Done()
}

// stop ends it at once: when stop returns, no call is under way that could
// show the sign after the final.
func (t *typing) stop() {
	t.mu.Lock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.cancel()
	t.calls.Wait()
}
