package reply

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
)

// quota is a limit of a whole channel: so many writes in any second.
type quota struct {
	mu      sync.Mutex
	writes  []time.Time
	refused []time.Time
}

func (q *quota) take(most int) *channels.SendError {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for len(q.writes) > 0 && now.Sub(q.writes[0]) >= time.Second {
		q.writes = q.writes[1:]
	}
	if len(q.writes) >= most {
		q.refused = append(q.refused, now)
		return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: time.Second, Global: true, Err: errors.New("flood")}
	}
	q.writes = append(q.writes, now)
	return nil
}

func TestManyThreadsDoNotTripTheChannelsLimitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, pacer := &quota{}, NewPacer()
		start := time.Now()
		var ends []func() error
		var replies []*Reply
		var ps []*platform
		for i := range 60 {
			p := newPlatform()
			p.global = func() *channels.SendError { return q.take(20) }
			to := channels.Target{Conversation: fmt.Sprint("fake:", i), Chat: "c"}
			r, end := begin(t, Config{Channel: p, Target: to, Pacer: pacer})
			replies, ends, ps = append(replies, r), append(ends, end), append(ps, p)
		}
		for range 280 {
			for _, r := range replies {
				r.Write("some words ")
			}
			pause(time.Second)
		}
		late := 0
		for _, at := range q.refused {
			if at.Sub(start) > 90*time.Second {
				late++
			}
		}
		if len(q.refused) == 0 || len(q.refused) > 60 || late > 0 {
			t.Errorf("%d refusals, %d of them after it had learnt", len(q.refused), late)
		}
		// One final among many drafts that wait: it is next.
		before := time.Now()
		mustFinish(t, ends[0])
		if waited := time.Since(before); waited > time.Second+200*time.Millisecond {
			t.Errorf("a final waited %s behind drafts", waited)
		}
		for _, end := range ends[1:] {
			mustFinish(t, end)
		}
		for _, p := range ps {
			if got := strings.Count(p.reading(), "some words"); got != 280 {
				t.Fatalf("%d of 280", got)
			}
		}
	})
}

func TestAChannelsPaceRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer()
		e := &channels.SendError{Outcome: channels.RateLimited, Global: true, RetryAfter: 3 * time.Second}
		p.refused("a", e)
		p.refused("b", e) // was under way, and teaches nothing new
		if wait := p.take("c", channels.Limits{}, true); wait != 3*time.Second {
			t.Errorf("waits %s", wait)
		}
		time.Sleep(3 * time.Second)
		if p.take("c", channels.Limits{}, true) != 0 {
			t.Error("still waits")
		}
		if first, second := p.take("d", channels.Limits{}, false), p.take("e", channels.Limits{}, false); first != 2*firstGap || second != 3*firstGap {
			t.Errorf("drafts queue for %s and %s", first, second)
		}
		if wait := p.take("f", channels.Limits{}, true); wait != firstGap {
			t.Errorf("a final waits %s", wait)
		}
		time.Sleep(2 * time.Hour)
		for range 3 {
			if wait := p.take("c", channels.Limits{}, false); wait != 0 {
				t.Errorf("two hours later it waits %s", wait)
			}
		}
	})
}

func TestAConversationsPaceHalvesAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, limits := NewPacer(), channels.Limits{EditEvery: time.Second}
		e := &channels.SendError{Outcome: channels.RateLimited}
		p.refused("a", e)
		p.refused("a", e)
		if got := p.every("a", limits); got != 4*time.Second {
			t.Errorf("after two refusals %s", got)
		}
		if got := p.every("b", limits); got != time.Second {
			t.Errorf("another conversation waits %s", got)
		}
		time.Sleep(time.Minute)
		if got := p.every("a", limits); got != 3600*time.Millisecond {
			t.Errorf("a minute later %s", got)
		}
		time.Sleep(time.Hour)
		if got := p.every("a", limits); got != time.Second {
			t.Errorf("an hour later %s", got)
		}
	})
}

func TestOldConversationsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer()
		for i := range 3 * keepLanes {
			p.take(fmt.Sprint(i), channels.Limits{PerMinute: 20}, true)
			time.Sleep(100 * time.Millisecond)
		}
		if len(p.lanes) > keepLanes {
			t.Errorf("%d conversations are remembered", len(p.lanes))
		}
	})
}

func TestAWriteMadeElsewhereCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer()
		p.Count("a")
		if wait := p.take("a", channels.Limits{PerMinute: 1}, true); wait != time.Minute {
			t.Errorf("waits %s", wait)
		}
	})
}
