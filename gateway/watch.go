package gateway

import (
	"context"
	"errors"
	"time"

	"clawbot/store"
)

// watch keeps the lease for as long as the tenure works, apart from whatever
// the work is waiting for, and takes signals in. The lease is trusted for two
// thirds of its time: then the work is cancelled, before anybody else can begin.
// The returned function ends it and waits.
func (t *tenure) watch() (stop func()) {
	ctx, cancel := context.WithCancel(t.ctx)
	done := make(chan struct{})
	ttl := t.g.cfg.LeaseTTL
	t.trustUntil(time.Now().Add(ttl * 2 / 3))
	trust := time.AfterFunc(ttl*2/3, func() { t.lose(errLost) })
	go func() {
		defer close(done)
		defer trust.Stop()
		renew := time.NewTicker(ttl / 3)
		defer renew.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-renew.C:
				t.renew(ctx, trust)
			case <-t.rouse:
				t.peek(ctx)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (t *tenure) renew(ctx context.Context, trust *time.Timer) {
	ttl := t.g.cfg.LeaseTTL
	rctx, cancel := context.WithTimeout(ctx, ttl/3)
	defer cancel()
	sent := time.Now()
	w, err := t.lease.Renew(rctx)
	switch {
	case err == nil:
		// The lease runs from when the store heard of us, not from when we
		// heard back.
		t.trustUntil(sent.Add(ttl * 2 / 3))
		trust.Reset(ttl*2/3 - time.Since(sent))
		t.observe(w)
	case errors.Is(err, store.ErrFenced):
		t.lose(err)
	case ctx.Err() == nil:
		t.log.Warn("the lease was not renewed", "err", err)
	}
}

func (t *tenure) peek(ctx context.Context) {
	pctx, cancel := context.WithTimeout(ctx, t.g.cfg.LeaseTTL/3)
	defer cancel()
	w, err := t.lease.Peek(pctx, 0)
	switch {
	case err == nil:
		t.observe(w)
	case errors.Is(err, store.ErrFenced):
		t.lose(err)
	case ctx.Err() == nil:
		t.log.Warn("the inbox can't be looked at; the next renewal will", "err", err)
	}
}

// trustUntil notes how long the lease can be trusted.
func (t *tenure) trustUntil(at time.Time) { t.trusted.Store(int64(at.Sub(t.began))) }

// checkTrust ends the tenure if the lease can't be trusted any more. It is for
// the moment before something that the store can't fence, a message or a tool:
// a process that slept may wake right there, before its timers have fired.
func (t *tenure) checkTrust() {
	if int64(time.Since(t.began)) >= t.trusted.Load() {
		t.lose(errLost)
	}
}
