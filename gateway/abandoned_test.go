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

// slowStore does not answer renewals and hand-offs while it is slow.
type slowStore struct {
	store.Store
	slow atomic.Bool
}

type slowLease struct {
	store.Lease
	s *slowStore
}

var errSlow = errors.New("no answer in time")

func (s *slowStore) Acquire(ctx context.Context, session, owner string, ttl time.Duration) (store.Lease, error) {
	l, err := s.Store.Acquire(ctx, session, owner, ttl)
	if err != nil {
		return nil, err
	}
	return slowLease{l, s}, nil
}

func (l slowLease) Renew(ctx context.Context) (store.Waiting, error) {
	if l.s.slow.Load() {
		return store.Waiting{}, errSlow
	}
	return l.Lease.Renew(ctx)
}

func (l slowLease) HandOff(ctx context.Context, delay time.Duration, crashed bool) error {
	if l.s.slow.Load() {
		return errSlow
	}
	return l.Lease.HandOff(ctx, delay, crashed)
}

func TestACallIsNotRunAgainByTheProcessThatLostItsTrustInTheLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		runs := 0
		slow := tool("slow", func(ctx context.Context) string {
			runs++
			sleep(ctx, time.Minute)
			return "slept"
		})
		c, s := newChat("chat"), &slowStore{Store: newStore(t)}
		m := &script{steps: []step{call("c1", "slow", `{}`)}, otherwise: echo}
		start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{slow}})
		c.send(t, direct(sess, "1", "work"))
		time.Sleep(time.Second)
		s.slow.Store(true)
		time.Sleep(10 * time.Second) // the lease is trusted no longer, and not over yet
		s.slow.Store(false)
		c.send(t, direct(sess, "2", "and?"))
		time.Sleep(time.Minute)
		if runs != 1 {
			t.Errorf("the tool ran %d times", runs)
		}
		valid(t, s, sess)
	})
}
