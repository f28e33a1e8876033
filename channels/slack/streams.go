package slack

import (
	"errors"
	"sync"
	"time"

	"clawbot/channels"
)

const (
	// openStreams bounds the streams that are open at once, and startEvery how
	// fast they are begun, in bursts of startBurst: chat.startStream and
	// chat.stopStream take 20 calls a minute in a whole workspace, and each
	// stream needs one of both. What finds no room is edited as usual.
	openStreams = 4
	startEvery  = 4 * time.Second
	startBurst  = 3
	// barredFor is how long Slack is not asked again after it refused a stream.
	barredFor = time.Hour
	// keptBars is in how many channels that is remembered.
	keptBars = 4096
)

// allowance is how often something may be done.
type allowance struct{ full time.Time }

// take asks to do it once more: burst times at once, then once every interval.
func (a *allowance) take(now time.Time, every time.Duration, burst int) bool {
	if a.full.Before(now) {
		a.full = now
	}
	if a.full.Sub(now) > time.Duration(burst-1)*every {
		return false
	}
	a.full = a.full.Add(every)
	return true
}

// streams knows the messages that grow natively.
type streams struct {
	mu      sync.Mutex
	open    map[string]*stream
	pending int            // being begun
	at      map[string]int // the same, by thread
	starts  allowance
	off     time.Time // nowhere before
	barred  map[string]time.Time
}

func streamKey(to channels.Target, ts string) string { return to.Chat + " " + to.Thread + " " + ts }

func (l *streams) get(to channels.Target, ts string) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[streamKey(to, ts)]
}

// share returns a stream, and among how many the pace is shared.
func (l *streams) share(to channels.Target, ts string) (s *stream, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[streamKey(to, ts)], len(l.open)
}

// in returns the streams of a thread.
func (l *streams) in(to channels.Target) (list []*stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.open {
		if s.key == streamKey(to, s.ts) {
			list = append(list, s)
		}
	}
	return list
}

// reserve asks for room to begin a stream; release gives it back when it is
// begun or was refused.
func (l *streams) reserve(to channels.Target, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.off) || now.Before(l.barred[to.Chat]) {
		return false
	}
	for key, s := range l.open {
		if now.Sub(s.begun) > 2*streamMost {
			delete(l.open, key) // nobody has ended it; Slack has
		}
	}
	if len(l.open)+l.pending >= openStreams || !l.starts.take(now, startEvery, startBurst) {
		return false
	}
	if l.at == nil {
		l.at = map[string]int{}
	}
	l.pending++
	l.at[signKey(to)]++
	return true
}

func (l *streams) release(to channels.Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
	if l.at[signKey(to)]--; l.at[signKey(to)] <= 0 {
		delete(l.at, signKey(to))
	}
}

// beginning reports that a stream is being begun in a thread.
func (l *streams) beginning(to channels.Target) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at[signKey(to)] > 0
}

func (l *streams) add(to channels.Target, s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[string]*stream{}
	}
	s.key = streamKey(to, s.ts)
	l.open[s.key] = s
}

// drop forgets a stream that has ended.
func (l *streams) drop(s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, s.key)
}

// pauseFor begins no stream for as long as a rate limit says.
func (l *streams) pauseFor(err error) {
	e, ok := errors.AsType[*channels.SendError](err)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(e.RetryAfter); l.off.Before(until) {
		l.off = until
	}
}

// bar asks for no stream in a channel for a while; an empty one is all.
func (l *streams) bar(chat string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := time.Now().Add(barredFor)
	if chat == "" {
		l.off = until
		return
	}
	if l.barred == nil || len(l.barred) >= keptBars {
		l.barred = map[string]time.Time{}
	}
	l.barred[chat] = until
}
