package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

var errDead = errors.New("this process is dead")

// process is a replica that can die: from then on its calls fail, as if nobody
// made them any more.
type process struct {
	mu    sync.Mutex
	dead  bool
	calls int
	// dieAt is the number of the call at which the process dies, 0 never;
	// after says that the call was applied and only its answer lost.
	dieAt int
	dieOn string // the same, by the name of the call
	after bool
	// lose is the number of the call whose answer alone is lost.
	lose   int
	loseOn string // the same, by the name of the first such call
	log    []string
	before func(call int)  // what happens right before each call
	fates  map[int]fate    // what becomes of each call
	until  time.Time       // when its calls go on
	mutes  func(hint) bool // which of its hints are lost
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// fate is what becomes of a call to the store, and of its process.
type fate int

const (
	passes fate = iota
	diesBefore
	diesAfter
	losesAnswer
	stops // hangs, and all later ones with it, until the lease is long over
)

// stopTime is how long its calls hang.
const stopTime = 40 * time.Second

// stopped waits until calls go on, and reports whether they were stopped.
func (p *process) stopped() bool {
	p.mu.Lock()
	d := time.Until(p.until)
	p.mu.Unlock()
	if d > 0 {
		time.Sleep(d)
	}
	return d > 0
}

// count is how many calls were made.
func (p *process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// call makes one call to the store. One that hangs is on its way: the end of its
// context does not call it back.
func (p *process) call(ctx *context.Context, op string, fn func() error) error {
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return errDead
	}
	p.calls++
	n := p.calls
	p.log = append(p.log, op)
	f := p.fates[n]
	dies := n == p.dieAt || op == p.dieOn || f == diesBefore || f == diesAfter
	after := p.after || f == diesAfter
	if dies {
		p.dead = true
	}
	loses := n == p.lose || op == p.loseOn || f == losesAnswer
	if f == stops {
		p.until = time.Now().Add(stopTime)
	}
	if op == p.loseOn {
		p.loseOn = ""
	}
	before := p.before
	p.mu.Unlock()
	if before != nil {
		before(n)
	}
	if p.stopped() {
		*ctx = context.WithoutCancel(*ctx)
	}
	if dies && !after {
		return errDead
	}
	err := fn()
	if dies || loses {
		return errDead
	}
	return err
}

// mortalStore is the store as a process sees it.
type mortalStore struct {
	store.Store
	p *process
}

func (s *mortalStore) Accept(ctx context.Context, ev store.Event) (acc store.Accepted, err error) {
	err = s.p.call(&ctx, "accept", func() error { acc, err = s.Store.Accept(ctx, ev); return err })
	return acc, err
}

func (s *mortalStore) Acquire(ctx context.Context, session, owner string, ttl time.Duration) (store.Lease, error) {
	var l store.Lease
	err := s.p.call(&ctx, "acquire", func() (err error) { l, err = s.Store.Acquire(ctx, session, owner, ttl); return err })
	if err != nil {
		return nil, err
	}
	return &mortalLease{l, s.p}, nil
}

func (s *mortalStore) Due(ctx context.Context, limit int) (due []string, err error) {
	if s.p.isDead() {
		return nil, errDead
	}
	return s.Store.Due(ctx, limit)
}

func (s *mortalStore) Bus() store.Bus { return &mortalBus{s.Store.Bus(), s.p} }

type mortalBus struct {
	store.Bus
	p *process
}

func (b *mortalBus) Publish(ctx context.Context, topic string, data []byte) error {
	if h, ok := decodeHint(data); ok && b.p.mutes != nil && b.p.mutes(h) {
		return nil
	}
	return b.Bus.Publish(ctx, topic, data)
}

type mortalLease struct {
	store.Lease
	p *process
}

func (l *mortalLease) Load(ctx context.Context, from int64) (t store.Transcript, err error) {
	err = l.p.call(&ctx, "load", func() error { t, err = l.Lease.Load(ctx, from); return err })
	return t, err
}

func (l *mortalLease) Peek(ctx context.Context, before int64) (w store.Waiting, err error) {
	err = l.p.call(&ctx, "peek", func() error { w, err = l.Lease.Peek(ctx, before); return err })
	return w, err
}

func (l *mortalLease) Drain(ctx context.Context, first int64, max int, before int64) (e []store.Entry, err error) {
	err = l.p.call(&ctx, "drain", func() error { e, err = l.Lease.Drain(ctx, first, max, before); return err })
	return e, err
}

func (l *mortalLease) Append(ctx context.Context, first int64, entries []store.Entry) error {
	return l.p.call(&ctx, "append", func() error { return l.Lease.Append(ctx, first, entries) })
}

func (l *mortalLease) Intent(ctx context.Context, call string) (before bool, err error) {
	err = l.p.call(&ctx, "intent", func() error { before, err = l.Lease.Intent(ctx, call); return err })
	return before, err
}

func (l *mortalLease) SetReply(ctx context.Context, r store.Reply) error {
	return l.p.call(&ctx, "set reply", func() error { return l.Lease.SetReply(ctx, r) })
}

func (l *mortalLease) Compact(ctx context.Context, first int64, summary store.Entry, keep int64) error {
	return l.p.call(&ctx, "compact", func() error { return l.Lease.Compact(ctx, first, summary, keep) })
}

func (l *mortalLease) Bury(ctx context.Context, positions []int64, reason string) error {
	return l.p.call(&ctx, "bury", func() error { return l.Lease.Bury(ctx, positions, reason) })
}

func (l *mortalLease) Renew(ctx context.Context) (w store.Waiting, err error) {
	err = l.p.call(&ctx, "renew", func() error { w, err = l.Lease.Renew(ctx); return err })
	return w, err
}

func (l *mortalLease) ReleaseIfEmpty(ctx context.Context) (done bool, err error) {
	err = l.p.call(&ctx, "release", func() error { done, err = l.Lease.ReleaseIfEmpty(ctx); return err })
	return done, err
}

func (l *mortalLease) HandOff(ctx context.Context, delay time.Duration, crashed bool) error {
	return l.p.call(&ctx, "hand off", func() error { return l.Lease.HandOff(ctx, delay, crashed) })
}

// mortalChat is the platform as a process reaches it. Every process has its own
// connection to one and the same chat.
type mortalChat struct {
	*chat
	p     *process
	ready chan struct{}
	host  channels.Host
}

func connect(c *chat, p *process) *mortalChat {
	return &mortalChat{chat: c, p: p, ready: make(chan struct{})}
}

func (c *mortalChat) Receive(ctx context.Context, host channels.Host) error {
	c.host = host
	close(c.ready)
	<-ctx.Done()
	return nil
}

// accept delivers an event to this process, again and again until it is taken
// or the process is dead.
func (c *mortalChat) accept(in channels.Inbound) error {
	<-c.ready
	return c.host.Accept(context.Background(), in)
}

func (c *mortalChat) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	if c.p.isDead() {
		return "", errDead
	}
	return c.chat.Post(ctx, to, out)
}

func (c *mortalChat) Edit(ctx context.Context, to channels.Target, id string, out channels.Outgoing) error {
	if c.p.isDead() {
		return errDead
	}
	return c.chat.Edit(ctx, to, id, out)
}

// heal ends the faults of a process that lives.
func (p *process) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.dieAt, p.dieOn = 0, 0, ""
}
