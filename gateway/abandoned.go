package gateway

import (
	"context"
	"sync"
	"time"

	"clawbot/store"
)

// abandoned knows the leases that this process has let go of without the store
// being told: it could not be reached, or was too slow for the lease to be
// trusted. Taken again before it expires, such a lease is the same to the store,
// which then keeps quiet about the calls that were begun under it.
type abandoned struct {
	mu     sync.Mutex
	leases map[string]abandonedLease // by session
}

type abandonedLease struct {
	token string
	until time.Time // it has expired by then
}

func (a *abandoned) add(l store.Lease, ttl time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for session, old := range a.leases {
		if now.After(old.until) {
			delete(a.leases, session)
		}
	}
	if a.leases == nil {
		a.leases = map[string]abandonedLease{}
	}
	a.leases[l.Session()] = abandonedLease{l.Start().Token, now.Add(2 * ttl)}
}

// has reports whether l is one of them.
func (a *abandoned) has(l store.Lease) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leases[l.Session()].token == l.Start().Token
}

// acquire takes the session under a lease that no earlier tenure has worked
// under.
func (g *Gateway) acquire(session string) (store.Lease, error) {
	ctx, cancel := context.WithTimeout(context.Background(), g.cfg.LeaseTTL)
	defer cancel()
	lease, err := g.cfg.Store.Acquire(ctx, session, g.cfg.Owner, g.cfg.LeaseTTL)
	if err != nil || !g.abandoned.has(lease) {
		return lease, err
	}
	if err := lease.HandOff(ctx, 0, false); err != nil {
		return nil, err
	}
	return g.cfg.Store.Acquire(ctx, session, g.cfg.Owner, g.cfg.LeaseTTL)
}
