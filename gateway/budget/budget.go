package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"clawbot/agentcore"
	"clawbot/store"
)

// Limits are the caps; 0 is no limit.
type Limits struct {
	DailyUSD   float64 // of everybody, a day
	SessionUSD float64 // of one conversation, until it begins anew
	UserUSD    float64 // of one person, a day
	RunTokens  int64   // of one run, all its calls together, input included
	// WarnAt is the part of a cap in dollars at which people are warned, up to
	// 1; 0 is never.
	WarnAt float64
}

// MaxUSD is the most that a cap can be.
const MaxUSD = 1_000_000

func (l Limits) check() error {
	for _, c := range []struct {
		key   string
		value float64
		most  float64
	}{
		{"daily_usd", l.DailyUSD, MaxUSD}, {"session_usd", l.SessionUSD, MaxUSD}, {"user_usd", l.UserUSD, MaxUSD},
		{"run_tokens", float64(l.RunTokens), 1e9}, {"warn_at", l.WarnAt, 1},
	} {
		if !(c.value >= 0 && c.value <= c.most) {
			return fmt.Errorf("budget.%s = %v: write a number from 0, which is no limit, to %v", c.key, c.value, c.most)
		}
	}
	return nil
}

// dollars reports whether a cap in dollars is set.
func (l *Limits) dollars() bool { return l.DailyUSD > 0 || l.SessionUSD > 0 || l.UserUSD > 0 }

func nanos(usd float64) int64 { return int64(math.Round(usd * agentcore.NanosPerDollar)) }

// Config of a budget. Store is required.
type Config struct {
	Store  store.Store
	Limits Limits
	// Zone is where days begin; nil means UTC. All replicas need the same.
	Zone *time.Location
	// Keep is how long it is remembered what was spent; 0 means 400 days.
	Keep time.Duration
	// Observe is told what every attempt cost, in billionths of a dollar; nil
	// tells nobody. It is called from many goroutines.
	Observe func(model agentcore.ModelRef, nanos int64)
	Logger  *slog.Logger // default: discard
}

// Budget counts what models cost. It is safe for concurrent use.
type Budget struct {
	cfg      Config
	zone     *time.Location
	counters store.Counters
	ledger   *ledger
	log      *slog.Logger
	limits   atomic.Pointer[Limits]

	mu sync.Mutex
	// raised are the raises that this process knows of, by the keys of the
	// caps. Raises never shrink, so an old one is only too small.
	raised map[string]int64
	told   map[string]bool // what people were told, see Once
	swept  string          // the day on which old records were deleted
}

// New makes a budget. Limits that are no numbers, or negative, are refused.
func New(cfg Config) (*Budget, error) {
	if cfg.Store == nil {
		return nil, errors.New("budget: Config needs a Store")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Keep = cmp.Or(cfg.Keep, 400*24*time.Hour)
	b := &Budget{cfg: cfg, zone: cfg.Zone, counters: cfg.Store.Counters(), log: cfg.Logger, raised: map[string]int64{}, told: map[string]bool{}}
	if b.zone == nil {
		b.zone = time.UTC
	}
	b.ledger = newLedger(cfg.Store.State(), ulid.Make().String(), cfg.Logger)
	return b, b.SetLimits(cfg.Limits)
}

// SetLimits replaces the caps for all calls that begin from now on.
func (b *Budget) SetLimits(l Limits) error {
	if err := l.check(); err != nil {
		return err
	}
	b.limits.Store(&l)
	return nil
}

// Limits are the caps as they are configured, without what owners have added.
func (b *Budget) Limits() Limits { return *b.limits.Load() }

// day names the day of t in the budget's zone.
func (b *Budget) day(t time.Time) string { return t.In(b.zone).Format(time.DateOnly) }

// tomorrow is when the day of t ends.
func (b *Budget) tomorrow(t time.Time) time.Time {
	at := t.In(b.zone)
	return time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, b.zone)
}

// Run writes down what is spent until ctx ends, and then what is left. It is
// called once.
func (b *Budget) Run(ctx context.Context) error {
	unlisten, err := b.cfg.Store.Bus().Subscribe(forgetTopic, func(_ string, user []byte) { b.ledger.forget(string(user)) })
	if err != nil {
		return fmt.Errorf("budget: subscribe to hints: %w", err)
	}
	defer unlisten()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			return b.Flush(last)
		case <-b.ledger.kick:
		}
		if !pause(ctx, flushAfter) {
			continue
		}
		if err := b.Flush(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("what models cost was not written, it is tried again", "err", err)
			b.ledger.again()
		}
		b.sweep(ctx)
	}
}

// Flush writes down what was spent until now.
func (b *Budget) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	return b.ledger.flush(ctx)
}

// sweep deletes old records, once a day.
func (b *Budget) sweep(ctx context.Context) {
	now := time.Now()
	day := b.day(now)
	if b.swept == day {
		return
	}
	b.swept = day
	if err := b.ledger.forgetBefore(ctx, now.In(b.zone).Add(-b.cfg.Keep)); err != nil && ctx.Err() == nil {
		b.log.Warn("old records of what models cost were not deleted; tomorrow they are", "err", err)
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
