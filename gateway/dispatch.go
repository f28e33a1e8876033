package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"clawbot/store"
)

const (
	// sweepEvery is the backstop for lost hints: nothing waits longer than
	// this for somebody to look.
	sweepEvery = time.Second
	sweepLimit = 100
)

// dispatcher decides which sessions are worked on now. At most max run at
// once; the others wait in line, and a session that has just had a turn goes to
// the end of it.
type dispatcher struct {
	max int
	// begin works on the session until it is released; it is called on a
	// goroutine of its own.
	begin func(t *tenure)

	mu      sync.Mutex
	open    bool
	active  map[string]*tenure
	line    []string
	inLine  map[string]hint
	running int           // tenures that count against max
	idle    chan struct{} // closed when nothing is active after close
}

func newDispatcher(maxRuns int, begin func(*tenure)) *dispatcher {
	return &dispatcher{max: maxRuns, begin: begin, active: map[string]*tenure{}, inLine: map[string]hint{}, idle: make(chan struct{})}
}

// start begins to work on what has been woken so far.
func (d *dispatcher) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = true
	d.pump()
}

// wake makes the session be looked at: by the tenure that works on it, by a new
// one at once, or in its turn. It reports false when this process takes on
// nothing more, or not soon, so that another may.
func (d *dispatcher) wake(h hint) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t, ok := d.active[h.session]; ok {
		t.poke(h)
		return true
	}
	// Signals don't wait in line: whoever stops something wants it now.
	if d.open && h.lane == store.Signals {
		d.launch(h, false)
		return true
	}
	if first, ok := d.inLine[h.session]; ok {
		if first.lane != h.lane || first.look || h.look {
			first.look = true
		}
		first.waiting = max(first.waiting, h.waiting)
		first.after = max(first.after, h.after)
		d.inLine[h.session] = first
	} else {
		h.since = time.Now()
		d.inLine[h.session] = h
		d.line = append(d.line, h.session)
	}
	d.pump()
	_, waits := d.inLine[h.session]
	return !waits
}

// pump starts as many tenures as there is room for.
func (d *dispatcher) pump() {
	for d.open && d.running < d.max && len(d.line) > 0 {
		session := d.line[0]
		d.line[0] = ""
		d.line = d.line[1:]
		h := d.inLine[session]
		delete(d.inLine, session)
		if _, ok := d.active[session]; !ok {
			d.launch(h, true)
		}
	}
}

func (d *dispatcher) launch(h hint, slot bool) {
	t := newTenure(h, slot)
	if slot {
		d.running++
	}
	d.active[h.session] = t
	go d.begin(t)
}

// finish ends a tenure. What it was poked about after its last look, or what it
// left undone on purpose, gets its next turn.
func (d *dispatcher) finish(t *tenure, again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.active, t.session)
	if t.slot {
		d.running--
	}
	if poked := t.poked(); d.open && (poked || again) {
		if _, ok := d.inLine[t.session]; !ok {
			d.inLine[t.session] = hint{session: t.session, look: true, since: time.Now()}
			d.line = append(d.line, t.session)
		}
	}
	d.pump()
	if !d.open && len(d.active) == 0 {
		close(d.idle)
	}
}

// claim gives a tenure that began without one a slot, if there is room.
func (d *dispatcher) claim(t *tenure) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.slot {
		return true
	}
	if !d.open || d.running >= d.max {
		return false
	}
	t.slot = true
	d.running++
	return true
}

// crowded reports whether others wait for a slot.
func (d *dispatcher) crowded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.line) > 0
}

// closed reports whether nothing new is begun here.
func (d *dispatcher) closed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.open
}

// close takes on nothing more and returns a channel that is closed when the
// last tenure has ended.
func (d *dispatcher) close() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	wasOpen := d.open
	d.open = false
	d.line, d.inLine = nil, map[string]hint{}
	if wasOpen && len(d.active) == 0 {
		close(d.idle)
	}
	return d.idle
}

// each calls fn for every active tenure.
func (d *dispatcher) each(fn func(*tenure)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.active {
		fn(t)
	}
}

// working returns for how long the session has been worked on here; 0 if it
// isn't.
func (d *dispatcher) working(session string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t, ok := d.active[session]; ok {
		return max(time.Since(t.began), 1)
	}
	return 0
}

// takesPart reports whether the sender may have a say in what is being done in
// the session. It is so unless the run is known to be for others.
func (d *dispatcher) takesPart(session, sender string) bool {
	d.mu.Lock()
	t := d.active[session]
	d.mu.Unlock()
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.run == nil || t.run.who.has(sender)
}

// wake passes a hint on to whoever holds the session: this process, another, or
// whoever is quickest.
func (g *Gateway) wake(ctx context.Context, owner string, h hint) {
	if owner == "" || owner == g.cfg.Owner {
		if g.dispatch.wake(h) {
			return
		}
		owner = ""
	}
	topic := wakeAny
	if owner != "" {
		topic = wakeTopic(owner)
	}
	if err := g.cfg.Store.Bus().Publish(ctx, topic, h.encode()); err != nil {
		g.log.Debug("a hint was lost; the sweep will find it", "session", h.session, "err", err)
	}
}

// listen takes hints from other processes.
func (g *Gateway) listen() (cancel func(), err error) {
	var cancels []func()
	cancel = func() {
		for _, c := range cancels {
			c()
		}
	}
	for _, topic := range []string{wakeTopic(g.cfg.Owner), wakeAny} {
		c, err := g.cfg.Store.Bus().Subscribe(topic, func(_ string, data []byte) {
			switch h, ok := decodeHint(data); {
			case !ok:
			case h.forget:
				g.cache.take(h.session)
				if g.cfg.Deleted != nil {
					g.cfg.Deleted(h.session)
				}
			case !g.dispatch.closed():
				g.dispatch.wake(h)
			}
		})
		if err != nil {
			cancel()
			return nil, err
		}
		cancels = append(cancels, c)
	}
	for topic, fn := range map[string]func(string, []byte){
		rulesTopic:     func(string, []byte) { g.rules.look() },
		lookTopic:      func(_ string, data []byte) { g.onlookers.look(string(data)) },
		schedulesTopic: func(string, []byte) { g.lookAtSchedules() },
		eraseTopic:     func(string, []byte) { g.lookAtErasures() },
	} {
		c, err := g.cfg.Store.Bus().Subscribe(topic, fn)
		if err != nil {
			cancel()
			return nil, err
		}
		cancels = append(cancels, c)
	}
	return cancel, nil
}

// sweep finds sessions that nobody holds although there is work: hints that
// were lost, processes that died.
func (g *Gateway) sweep(ctx context.Context, log *slog.Logger) {
	failing := false
	for {
		due, err := g.cfg.Store.Due(ctx, sweepLimit)
		if err != nil && ctx.Err() == nil && !failing {
			log.Error("the store can't be asked what is due; nothing is lost, but nothing is taken up either", "err", err)
		}
		failing = err != nil
		if !failing {
			g.due.see(due)
		}
		for _, session := range due {
			g.dispatch.wake(hint{session: session, look: true})
		}
		if !sleep(ctx, sweepEvery+jitter(sweepEvery/2)) {
			return
		}
	}
}

// load tells how much there is to do.
func (d *dispatcher) load() Load {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := Load{Active: len(d.active), Running: d.running, InLine: len(d.line)}
	if len(d.line) > 0 {
		l.LineAge = time.Since(d.inLine[d.line[0]].since)
	}
	return l
}

// busy reports whether anything is worked on or waits for a slot here.
func (d *dispatcher) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.active) > 0 || len(d.line) > 0
}

func (d *dispatcher) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.active)
}
