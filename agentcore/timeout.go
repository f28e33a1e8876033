package agentcore

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errTimeout = errors.New("the run's time is up")

type clockKey struct{}

// clock is a run's timeout. It stands still while anything has paused it.
type clock struct {
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	since   time.Time // when the timer was last started
	paused  int
	stopped bool
}

func startClock(d time.Duration, expire func()) *clock {
	return &clock{timer: time.AfterFunc(d, expire), left: d, since: time.Now()}
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused == 0 && !c.stopped {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.timer.Stop()
}

// PauseTimeout stops the timeout of the run that ctx belongs to until resume is
// called; a tool that waits for a person calls it with the ctx that Execute got.
// Pauses nest. It does nothing in a run without a timeout.
func PauseTimeout(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(clockKey{}).(*clock)
	if !ok {
		return func() {}
	}
	c.pause()
	return sync.OnceFunc(c.resume)
}
