package reply

import (
	"sync"
	"time"

	"clawbot/channels"
)

// Bounds of the adaptive pace.
const (
	maxSlower  = 16
	decay      = 0.9 // each minute without a refusal
	firstGap   = 50 * time.Millisecond
	maxGap     = 2 * time.Second
	leastGap   = 5 * time.Millisecond
	pauseFloor = time.Second // after a refusal that does not say how long
	keepFloor  = 30 * time.Minute
	keepLanes  = 4096 // conversations remembered before old ones are swept
)

// Pacer keeps the writes to one channel within what the platform allows:
// known limits per conversation up front, the channel's own limit as refusals
// teach it. It is shared by all replies on the channel, has no goroutine, and
// remembers a conversation for little longer than a minute.
type Pacer struct {
	mu    sync.Mutex
	lanes map[string]*lane

	paused  time.Time     // no writes at all until then
	gap     time.Duration // between any two writes; 0 is no bound
	gapAt   time.Time     // when gap was last adapted
	floor   time.Duration // gap does not recover below it until floorTo
	floorTo time.Time
	next    time.Time // the earliest write that gap allows
	tickets time.Time // when the last draft that was put off may ask again
}

// lane is one conversation.
type lane struct {
	writes []time.Time // of the last minute, oldest first
	paused time.Time
	slower float64 // factor on the pace, from 1
	since  time.Time
	used   time.Time
}

// NewPacer returns a pacer without history.
func NewPacer() *Pacer { return &Pacer{lanes: map[string]*lane{}} }

// Count records a write to the conversation that was made past the pacer.
func (p *Pacer) Count(conversation string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.lane(conversation, now).record(now)
}

func (p *Pacer) lane(conversation string, now time.Time) *lane {
	l := p.lanes[conversation]
	if l == nil {
		if len(p.lanes) >= keepLanes {
			for name, old := range p.lanes {
				if now.Sub(old.used) > 2*time.Minute && old.slower <= 1 {
					delete(p.lanes, name)
				}
			}
		}
		l = &lane{slower: 1}
		p.lanes[conversation] = l
	}
	l.used = now
	for l.slower > 1 && now.Sub(l.since) >= time.Minute {
		l.slower = max(1, l.slower*decay)
		l.since = l.since.Add(time.Minute)
	}
	return l
}

func (l *lane) record(now time.Time) {
	old := 0
	for old < len(l.writes) && now.Sub(l.writes[old]) >= time.Minute {
		old++
	}
	l.writes = append(l.writes[old:], now)
}

// every is the least time between two writes to one message.
func (p *Pacer) every(conversation string, limits channels.Limits) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(float64(limits.EditEvery) * p.lane(conversation, time.Now()).slower)
}

// take asks to write to the conversation now. It returns 0 and counts the
// write, or how long to wait before asking again. A draft leaves room for
// finals.
func (p *Pacer) take(conversation string, limits channels.Limits, final bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	l := p.lane(conversation, now)
	if wait := l.wait(now, limits.PerMinute, final); wait > 0 {
		return wait
	}
	if wait := p.paused.Sub(now); wait > 0 {
		return wait
	}
	p.adapt(now)
	if p.gap > 0 {
		if wait := p.next.Sub(now); wait > 0 {
			return p.putOff(now, wait, final)
		}
		p.next = now.Add(p.gap)
	}
	if limits.PerMinute > 0 {
		l.record(now)
	}
	return 0
}

// putOff says when to ask again. Finals ask for the next free moment; drafts
// queue behind each other, so that a thousand of them don't ask all the time.
func (p *Pacer) putOff(now time.Time, wait time.Duration, final bool) time.Duration {
	if final {
		return wait
	}
	if p.tickets.Before(p.next) {
		p.tickets = p.next
	}
	p.tickets = p.tickets.Add(p.gap)
	return p.tickets.Sub(now)
}

func (l *lane) wait(now time.Time, perMinute int, final bool) time.Duration {
	if wait := l.paused.Sub(now); wait > 0 {
		return wait
	}
	if perMinute <= 0 {
		return 0
	}
	room := perMinute
	if !final {
		room -= max(1, perMinute/10)
	}
	if room <= 0 {
		return time.Minute
	}
	if n := len(l.writes); n >= room {
		return l.writes[n-room].Add(time.Minute).Sub(now)
	}
	return 0
}

// adapt lets the channel's pace recover.
func (p *Pacer) adapt(now time.Time) {
	for p.gap > 0 && now.Sub(p.gapAt) >= time.Minute {
		p.gap = time.Duration(float64(p.gap) * decay)
		p.gapAt = p.gapAt.Add(time.Minute)
		if p.gapAt.Before(p.floorTo) {
			p.gap = max(p.gap, p.floor)
		}
		if p.gap < leastGap {
			p.gap = 0
		}
	}
}

// refused records a rate limit.
func (p *Pacer) refused(conversation string, e *channels.SendError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	pause := e.RetryAfter
	if pause <= 0 {
		pause = pauseFloor
	}
	if e.Global {
		p.adapt(now)
		if now.After(p.paused) { // the first to notice; others were under way
			// What was too fast now is not tried again for a while.
			p.floor, p.floorTo = p.gap+p.gap/10, now.Add(keepFloor)
			p.gap = min(max(2*p.gap, firstGap), maxGap)
			p.gapAt = now
		}
		p.paused = later(p.paused, now.Add(pause))
		return
	}
	l := p.lane(conversation, now)
	l.slower = min(2*l.slower, maxSlower)
	l.since = now
	l.paused = later(l.paused, now.Add(pause))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
