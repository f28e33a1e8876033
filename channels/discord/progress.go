package discord

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"
)

// progress is how far a session of the gateway was read, and how far what was
// read was accepted.
type progress struct {
	mu        sync.Mutex
	session   string
	url       string // where to resume
	received  int64  // the last event that was read
	confirmed int64  // it and all before are accepted
	kept      int64  // confirmed, as the host's state has it
	open      []mark // events beyond confirmed, in order
	saved     bool   // the state names this session
}

type mark struct {
	seq  int64
	done bool
}

func newProgress(session, url string) *progress { return &progress{session: session, url: url} }

func (p *progress) resumable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session != ""
}

func (p *progress) address(other string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.url == "" {
		return other
	}
	return p.url
}

func (p *progress) forgetAddress() { p.mu.Lock(); p.url = ""; p.mu.Unlock() }

// resume tells from where to go on. What was read but is not accepted yet is
// still at work in this process.
func (p *progress) resume() (session string, seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session, p.received
}

func (p *progress) keptSeq() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// begin notes an event that was read.
func (p *progress) begin(seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seq > p.received {
		p.received = seq
		p.open = append(p.open, mark{seq: seq})
	}
}

// done notes that an event needs no more care.
func (p *progress) done(seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, found := slices.BinarySearchFunc(p.open, seq, func(m mark, seq int64) int {
		switch {
		case m.seq < seq:
			return -1
		case m.seq > seq:
			return 1
		}
		return 0
	})
	if !found {
		return
	}
	p.open[i].done = true
	n := 0
	for n < len(p.open) && p.open[n].done {
		p.confirmed = p.open[n].seq
		n++
	}
	p.open = slices.Delete(p.open, 0, n)
}

// record is the state of a shard as the host keeps it.
type record struct {
	Session string `json:"session"`
	URL     string `json:"url,omitempty"`
	Seq     int64  `json:"seq"`
	// Last is the newest message that was accepted, for reading histories.
	Last string `json:"last,omitempty"`
}

func (s *shard) progress() *progress { return s.state.Load() }

// done notes that an event of a session needs no more care.
func (s *shard) done(p *progress, seq int64) {
	p.done(seq)
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

func (s *shard) stateKey() string { return "gateway." + strconv.Itoa(s.index) }

// load reads where the last process stopped. The host may be away for a while.
func (s *shard) load(ctx context.Context) error {
	var data []byte
	err := s.insist(ctx, "read the gateway's state", func() (err error) {
		data, err = s.host.Get(ctx, s.stateKey())
		return err
	})
	if err != nil {
		return err
	}
	var r record
	if len(data) > 0 && json.Unmarshal(data, &r) != nil {
		s.log.Warn("the state of the gateway is damaged; a new session is begun")
		r = record{}
	}
	p := newProgress(r.Session, r.URL)
	p.received, p.confirmed, p.kept, p.saved = r.Seq, r.Seq, r.Seq, true
	s.state.Store(p)
	s.talks.saw(r.Last)
	return nil
}

// keep writes the state if it changed. What can't be kept is tried again with
// the next heartbeat; until then Discord keeps the events.
func (s *shard) keep(ctx context.Context, p *progress) {
	p.mu.Lock()
	r := record{Session: p.session, URL: p.url, Seq: p.confirmed, Last: s.talks.latest()}
	clean := p.saved && p.confirmed == p.kept
	p.mu.Unlock()
	if clean {
		return
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = s.talks.keep(ctx, s.host)
	}
	if err == nil {
		err = s.host.Put(ctx, s.stateKey(), data)
	}
	if err != nil {
		s.log.Debug("the gateway's state was not kept; it is tried again", "error", err)
		return
	}
	p.mu.Lock()
	p.kept, p.saved = r.Seq, true
	p.mu.Unlock()
}

// keepStates writes the state a moment after it changed, and once more at the
// end: stop must be called when nothing is at work any more.
func (s *shard) keepStates(ctx context.Context) (stop func()) {
	keeping, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-keeping.Done():
				return
			case <-s.dirty:
				pauseFor(keeping, s.pace.keep)
				s.keep(keeping, s.progress())
			}
		}
	})
	return func() {
		end()
		wg.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		s.keep(ctx, s.progress())
	}
}
