package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/reply"
	"clawbot/gateway/budget"
	"clawbot/store"
)

// registerTimeout bounds the registration of commands, which nothing waits for.
const registerTimeout = 30 * time.Second

// current is what holds for runs that begin now; see [Gateway.Reconfigure].
type current struct {
	cfg      *Config
	profiles map[string]*Config // of the agents beside the main one
}

// Gateway is the bot. Make it with [New] and run it once with [Gateway.Run].
type Gateway struct {
	cfg       Config
	log       *slog.Logger
	hosts     map[string]*host // by channel name
	order     []*host
	dispatch  *dispatcher
	cache     cache
	ears      ears
	told      told
	albums    told
	due       dues
	abandoned abandoned
	rules     *rules
	media     media
	reactions reactions
	robots    robots
	onlookers onlookers
	enlisted  enlisted
	holds     atomic.Pointer[current]
	schemas   agentcore.Schemas
	ran       atomic.Bool
	scheduled chan struct{} // capacity 1: look what is scheduled
	erase     chan struct{} // capacity 1: look what is to be deleted
	// spentAt is the day's budget as it was when it did not suffice; nil if it
	// does.
	spentAt atomic.Pointer[budget.Standing]
}

// New checks cfg and makes a gateway. Nothing is started.
func New(cfg Config) (*Gateway, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Gateway{cfg: cfg, log: cfg.Logger, hosts: map[string]*host{}, cache: cache{limit: cfg.CacheBytes}, rules: newRules(cfg.Store, cfg.Logger), scheduled: make(chan struct{}, 1), erase: make(chan struct{}, 1)}
	g.media.blobs, g.media.log = cfg.Store.Blobs(), cfg.Logger
	g.reactions.emoji, g.reactions.failed = cfg.Access.Acknowledge, cfg.Access.Failed
	g.holds.Store(&current{&g.cfg, g.cfg.profiles()})
	g.dispatch = newDispatcher(cfg.MaxRuns, g.hold)
	for _, ch := range cfg.Channels {
		h := &host{g: g, channel: ch, log: g.log.With("channel", ch.Name()), pacer: reply.NewPacer()}
		h.setState(false, nil)
		g.hosts[ch.Name()] = h
		g.order = append(g.order, h)
	}
	return g, nil
}

// Run receives, answers and takes up what was left, until ctx ends or every
// channel has. Then runs have Config.Drain to finish; those that don't are
// handed off, which loses nothing. It returns an error if no channel could go
// on, or if the store can't be listened to.
func (g *Gateway) Run(ctx context.Context) error {
	if g.ran.Swap(true) {
		return errors.New("gateway: Run was called twice")
	}
	unlisten, err := g.listen()
	if err != nil {
		return fmt.Errorf("gateway: subscribe to hints: %w", err)
	}
	defer unlisten()
	if err := g.rules.reload(ctx); err != nil {
		g.log.Warn("who was let in can't be read yet", "err", err)
	}
	g.indexHistory()
	g.dispatch.start()
	written := g.keepSpending(ctx)

	background, end := context.WithCancel(ctx)
	defer end()
	var sweeping sync.WaitGroup
	sweeping.Go(func() { g.sweep(background, g.log) })
	sweeping.Go(func() { g.rules.watch(background, g.welcome) })
	sweeping.Go(func() { g.keepSchedules(background) })
	sweeping.Go(func() { g.keepErasing(background) })
	sweeping.Go(func() { g.keepRetention(background) })
	sweeping.Go(func() { g.keepAlerts(background) })
	err = g.receive(ctx)
	if ctx.Err() == nil && err == nil {
		// The channels have ended by themselves (a terminal at the end of its
		// input): what they brought is answered without a deadline.
		g.finishAll(ctx)
	}
	end()
	sweeping.Wait()
	err = errors.Join(err, g.drain())
	written()
	g.reactions.close()
	return err
}

// receive runs every channel. One that fails does not end the others.
func (g *Gateway) receive(ctx context.Context) error {
	var group errgroup.Group
	failed := make([]error, len(g.order))
	for i, h := range g.order {
		if c, ok := h.channel.(channels.Commander); ok {
			group.Go(func() error {
				h.register(ctx, c)
				return nil
			})
		}
		group.Go(func() error {
			failed[i] = h.receive(ctx)
			return nil
		})
	}
	_ = group.Wait() // the goroutines keep their errors in failed
	for _, err := range failed {
		if err == nil {
			return nil
		}
	}
	return errors.Join(failed...)
}

func (h *host) register(ctx context.Context, c channels.Commander) {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	if err := c.RegisterCommands(ctx, Commands()); err != nil && ctx.Err() == nil {
		h.log.Warn("the platform's command menu was not set", "err", err)
	}
}

// finishAll waits until nothing is worked on here, or ctx ends.
func (g *Gateway) finishAll(ctx context.Context) {
	for g.dispatch.busy() && sleep(ctx, 5*time.Millisecond) {
	}
}

// drain lets runs finish for as long as Config.Drain says, then cuts them. A
// tool that does not obey its context is left behind after a moment more.
func (g *Gateway) drain() error {
	idle := g.dispatch.close()
	g.dispatch.each((*tenure).cutParked)
	patience := time.NewTimer(g.cfg.Drain)
	defer patience.Stop()
	select {
	case <-idle:
		return nil
	case <-patience.C:
	}
	g.log.Info("handing off what has not finished")
	g.dispatch.each((*tenure).cut)
	patience.Reset(2 * handOffTimeout)
	select {
	case <-idle:
		return nil
	case <-patience.C:
		return errors.New("gateway: runs did not end when they were told to; they are taken up again when their leases expire")
	}
}

// Channels tells what became of each channel, in the order of Config.Channels.
func (g *Gateway) Channels() []ChannelState {
	states := make([]ChannelState, len(g.order))
	for i, h := range g.order {
		states[i] = *h.state.Load()
		if at := h.heard.Load(); at > 0 {
			states[i].LastEvent = time.Unix(0, at)
		}
	}
	return states
}

// Active is how many sessions this process is working on.
func (g *Gateway) Active() int { return g.dispatch.count() }

// Owner is this process's name among those that share the store.
func (g *Gateway) Owner() string { return g.cfg.Owner }

// sessionInfo describes one session; an unknown one is empty.
func (g *Gateway) sessionInfo(ctx context.Context, session string) (store.SessionInfo, error) {
	info, err := g.cfg.Store.Archive().Session(ctx, session)
	if errors.Is(err, store.ErrNotFound) {
		return store.SessionInfo{Session: session}, nil
	}
	return info, err
}
