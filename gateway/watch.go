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
