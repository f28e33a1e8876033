package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"clawbot/channels"
	"clawbot/channels/reply"
	"clawbot/store"
)

// host is what one channel may ask of the gateway.
type host struct {
	g       *Gateway
	channel channels.Channel
	log     *slog.Logger
	pacer   *reply.Pacer
	// term is held while an exclusive channel receives.
	term atomic.Pointer[heldTerm]
	// state is what became of Receive.
	state atomic.Pointer[ChannelState]
	// heard is when the last event came, in nanoseconds; 0 if none has.
	heard atomic.Int64
}

type heldTerm struct{ store.Term }

var _ channels.Host = (*host)(nil)

// ChannelState is what became of a channel.
type ChannelState struct {
	Name string
	// Receiving is set while the channel takes events in this process; an
	// exclusive channel that another process receives is not, and that is well.
	Receiving bool
	// Err is why the channel gave up, with the remedy.
	Err error
	// LastEvent is when the platform last delivered something to this process;
	// zero if it has not.
	LastEvent time.Time
}

func (h *host) setState(receiving bool, err error) {
	h.state.Store(&ChannelState{Name: h.channel.Name(), Receiving: receiving, Err: err})
}

// draws reports whether the channel shows runs itself, from live events.
func (h *host) draws() bool {
	_, ok := h.channel.(channels.Live)
	return ok
}

// receive runs the channel until ctx ends. An error is what no retry mends.
func (h *host) receive(ctx context.Context) error {
	err := h.receiveFenced(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	h.setState(false, err)
	if err != nil {
		h.log.Error("the channel is off until the bot is started again", "err", err)
		return fmt.Errorf("channel %s: %w", h.channel.Name(), err)
	}
	return nil
}

func (h *host) receiveFenced(ctx context.Context) error {
	exclusive, ok := h.channel.(channels.Exclusive)
	if !ok {
		h.setState(true, nil)
		return h.channel.Receive(ctx, h)
	}
	name, err := exclusive.Term(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		wait, done, err := h.tenancy(ctx, "channel/"+name)
		if done || err != nil {
			return err
		}
		sleep(ctx, wait)
	}
	return nil
}

// tenancy receives for as long as this process holds the term. It returns how
// long to wait before trying again, or that the channel has ended.
func (h *host) tenancy(ctx context.Context, name string) (wait time.Duration, done bool, err error) {
	ttl := h.g.cfg.LeaseTTL
	term, err := h.g.cfg.Store.Elect(ctx, name, h.g.cfg.Owner, ttl)
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		h.setState(false, nil)
		// The holder renews; look again when it could be gone, or has resigned.
		return min(held.For, time.Second) + jitter(time.Second/4), false, nil
	}
	if err != nil {
		h.log.Warn("can't become the one who receives", "err", err)
		return time.Second + jitter(time.Second), false, nil
	}
	h.term.Store(&heldTerm{term})
	h.setState(true, nil)
	ctx, cancel := context.WithCancel(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		defer cancel()
		h.keepTerm(ctx, term, ttl)
	}()
	err = h.channel.Receive(ctx, h)
	ended := ctx.Err() == nil
	cancel()
	<-renewed
	h.term.Store(nil)
	rctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	if rerr := term.Resign(rctx); rerr != nil && !errors.Is(rerr, store.ErrFenced) {
		h.log.Warn("the term was not resigned and will expire", "err", rerr)
	}
	if ended {
		return 0, true, err
	}
	h.setState(false, nil)
	return jitter(time.Second / 4), false, nil
}

// keepTerm renews until ctx ends or the term can't be trusted any more.
func (h *host) keepTerm(ctx context.Context, term store.Term, ttl time.Duration) {
	last := time.Now()
	for sleep(ctx, ttl/3) {
		rctx, cancel := context.WithTimeout(ctx, ttl/3)
		err := term.Renew(rctx)
		cancel()
		switch {
		case err == nil:
			last = time.Now()
		case errors.Is(err, store.ErrFenced), time.Since(last) >= ttl*2/3:
			if ctx.Err() == nil {
				h.log.Warn("another process may receive now; stepping back", "err", err)
			}
			return
		}
	}
}

// errNoTerm is what an exclusive channel gets for state it no longer owns.
var errNoTerm = fmt.Errorf("the channel is received by another process: %w", store.ErrFenced)

// Get implements [channels.Host].
func (h *host) Get(ctx context.Context, key string) ([]byte, error) {
	if _, ok := h.channel.(channels.Exclusive); ok {
		term := h.term.Load()
		if term == nil {
			return nil, errNoTerm
		}
		return term.Get(ctx, key)
	}
	v, err := h.g.cfg.Store.State().Get(ctx, h.stateKey(key))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return v.Data, err
}

// Put implements [channels.Host].
func (h *host) Put(ctx context.Context, key string, value []byte) error {
	if _, ok := h.channel.(channels.Exclusive); ok {
		term := h.term.Load()
		if term == nil {
			return errNoTerm
		}
		return term.Put(ctx, key, value)
	}
	state := h.g.cfg.Store.State()
	for {
		v, err := state.Get(ctx, h.stateKey(key))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		_, err = state.Put(ctx, h.stateKey(key), value, v.Version)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

func (h *host) stateKey(key string) string { return "channel/" + h.channel.Name() + "/" + key }

// Publish implements [channels.Host].
func (h *host) Publish(ctx context.Context, topic string, data []byte) error {
	return h.g.cfg.Store.Bus().Publish(ctx, h.topic(topic), data)
}

// Subscribe implements [channels.Host].
func (h *host) Subscribe(topic string, fn func(topic string, data []byte)) (func(), error) {
	full := h.topic(topic)
	prefix := full[:len(full)-len(topic)]
	return h.g.cfg.Store.Bus().Subscribe(full, func(t string, data []byte) {
		fn(strings.TrimPrefix(t, prefix), data)
	})
}

// topic keeps channels apart on the bus. Live events already are: sessions
// begin with their channel's name.
func (h *host) topic(topic string) string {
	if strings.HasPrefix(topic, channels.LiveTopic(h.channel.Name()+":")) {
		return topic
	}
	return "ch:" + h.channel.Name() + ":" + topic
}

// sleep waits and reports whether the whole time has passed.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter returns up to d, so that processes that began together part.
func jitter(d time.Duration) time.Duration { return rand.N(d) } //nolint:gosec // nobody gains by guessing it
