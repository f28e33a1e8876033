package reply

import (
	"context"
	"errors"
	"sync"
	"time"

	"clawbot/channels"
)

// typing keeps the sign that the bot is writing alive until it is stopped.
type typing struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

const retryTyping = 5 * time.Second

func startTyping(ctx context.Context, ch channels.Channel, to channels.Target) *typing {
	t := &typing{cancel: func() {}}
	typer, ok := ch.(channels.Typer)
	if !ok {
		return t
	}
	ctx, t.cancel = context.WithCancel(ctx)
	t.wg.Go(func() { keepTyping(ctx, typer, to) })
	return t
}

func keepTyping(ctx context.Context, typer channels.Typer, to channels.Target) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		again, err := typer.Typing(ctx, to)
		wait := max(time.Duration(again)*time.Second, time.Second)
		if err != nil {
			wait = retryTyping
			if e, ok := errors.AsType[*channels.SendError](err); ok {
				if e.Reason == channels.ReasonForbidden || e.Reason == channels.ReasonAuth {
					return
				}
				wait = max(wait, e.RetryAfter)
			}
		}
		timer.Reset(wait)
	}
}

// stop ends it at once: when stop returns, no call is under way that could
// show the sign after the final.
func (t *typing) stop() {
	t.cancel()
	t.wg.Wait()
}
