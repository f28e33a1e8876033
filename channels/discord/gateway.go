package discord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"clawbot/channels"
)

// pace is how long receiving waits, and for what.
type pace struct {
	again, againMax   time.Duration // after a connection that failed
	invalid           time.Duration // after "invalid session", which Discord wants to be random up to five seconds
	identify          time.Duration // between two identifies
	hello             time.Duration // for the gateway to answer; then the connection is dead
	accept, acceptMax time.Duration // the host can't take an event
	keep              time.Duration // between two writes of the state
	lateAnswer        time.Duration // an interaction without an answer is put off then
}

var normalPace = pace{
	again: time.Second, againMax: time.Minute,
	invalid: 5 * time.Second, identify: 5 * time.Second, hello: 30 * time.Second,
	accept: 200 * time.Millisecond, acceptMax: 10 * time.Second,
	keep: time.Second, lateAnswer: 2 * time.Second,
}

// intents is what the bot asks the gateway for. Only the content of messages is
// privileged.
const intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages | discordgo.IntentMessageContent

// gatewayBot is what Discord says about connecting.
type gatewayBot struct {
	URL    string `json:"url"`
	Shards int    `json:"shards"`
	Start  struct {
		Remaining   *int  `json:"remaining"`
		ResetAfter  int64 `json:"reset_after"` // milliseconds
		Concurrency int   `json:"max_concurrency"`
	} `json:"session_start_limit"`
}

// identifying lets one shard identify at a time, and not too often.
type identifying struct {
	mu   sync.Mutex
	last time.Time
}

func (i *identifying) wait(ctx context.Context, every time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if wait := time.Until(i.last.Add(every)); !i.last.IsZero() && wait > 0 {
		pauseFor(ctx, wait)
	}
	i.last = time.Now()
}

// shard is one connection after another to a part of the servers.
type shard struct {
	*Channel
	host    channels.Host
	index   int
	count   int
	gateway string // where to connect without a session
	work    *intake
	state   atomic.Pointer[progress]
	dirty   chan struct{}   // the state changed; capacity 1
	caught  map[string]bool // servers whose history was read in this session
	since   string          // the last message before this session, "" to read no history
}

// gate asks where to connect, however long Discord is away.
func (c *Channel) gate(ctx context.Context) (gatewayBot, error) {
	var bot gatewayBot
	err := c.persist(ctx, func(ctx context.Context) error {
		return c.call(ctx, request{op: "gateway", method: "GET", address: discordgo.EndpointGatewayBot}, &bot)
	})
	if c.cfg.Shards > 0 {
		bot.Shards = c.cfg.Shards
	}
	bot.Shards = max(bot.Shards, 1)
	return bot, err
}

// runShards reads the gateway until ctx ends or no retry mends it.
func (c *Channel) runShards(ctx context.Context, host channels.Host) error {
	bot, err := c.gate(ctx)
	if err != nil {
		return err
	}
	if left := bot.Start.Remaining; left != nil && *left < bot.Shards {
		wait := time.Duration(bot.Start.ResetAfter) * time.Millisecond
		c.health.set(fmt.Errorf("discord allows no new session for %s: too many were begun today; find out what restarts the bot so often", wait))
		c.log.Error("discord allows no new session for now", "wait", wait)
		pauseFor(ctx, wait)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i := range bot.Shards {
		s := &shard{Channel: c, host: host, index: i, count: bot.Shards, gateway: bot.URL}
		group.Go(func() error { return s.run(ctx) })
	}
	return group.Wait()
}

// run keeps the shard connected.
func (s *shard) run(ctx context.Context) error {
	if err := s.load(ctx); err != nil {
		return err
	}
	s.work, s.dirty = newIntake(), make(chan struct{}, 1)
	stop := s.keepStates(ctx)
	defer stop()
	defer s.work.wait()
	failures := 0
	for ctx.Err() == nil {
		ready, err := s.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if fatal := fatalClose(err); fatal != nil {
			s.health.set(fatal)
			return fatal
		}
		if failures++; ready {
			failures = 0
		}
		s.pause(ctx, err, failures)
	}
	return nil
}

// pause waits before the next connection.
func (s *shard) pause(ctx context.Context, err error, failures int) {
	wait := time.Duration(0)
	switch {
	case errors.Is(err, errInvalidSession):
		wait = rand.N(s.pace.invalid) + s.pace.invalid/5 //nolint:gosec // nobody gains by guessing it
	case failures > 0:
		wait = min(s.pace.again<<min(failures-1, 10), s.pace.againMax)
		wait += rand.N(wait/4 + 1) //nolint:gosec // nobody gains by guessing it
	}
	if failures > 1 {
		s.health.set(unreachable(err))
	}
	if failures > 0 {
		s.log.Warn("the gateway connection failed; trying again", "error", err, "wait", wait.Round(time.Millisecond), "shard", s.index)
	} else {
		s.log.Debug("the gateway connection ended; connecting again", "reason", err, "shard", s.index)
	}
	pauseFor(ctx, wait)
}

// pauseFor waits or returns when ctx ends.
func pauseFor(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// backoff doubles a pause from failure to failure.
type backoff struct{ last time.Duration }

func (b *backoff) next(first, most time.Duration) time.Duration {
	b.last = min(max(first, 2*b.last), most)
	return b.last
}
