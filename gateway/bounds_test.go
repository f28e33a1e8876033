package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

// slowChat is a platform that takes its time for every call.
type slowChat struct {
	*chat
	takes time.Duration
}

func (c slowChat) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	if !sleep(ctx, c.takes) {
		return "", &channels.SendError{Outcome: channels.Unknown, Err: ctx.Err()}
	}
	return c.chat.Post(ctx, to, out)
}

func TestAPlatformThatAnswersAfterHalfAMinuteGetsEveryAnswerOnceAndHoldsNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow, quick := slowChat{newChat("slow"), 30 * time.Second}, newChat("quick")
		b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{slow, quick}, Model: &script{otherwise: echo}})
		for i := range 3 {
			slow.send(t, direct(fmt.Sprint("slow:", i), "1", "hello"))
		}
		quick.send(t, direct("quick:1", "1", "hello"))
		time.Sleep(5 * time.Second)
		if got := quick.texts(); len(got) != 1 {
			t.Errorf("beside a slow platform a quick one got %q", got)
		}
		settled(t, b)
		if got := slow.texts(); len(got) != 3 {
			t.Errorf("the slow platform got %q", got)
		}
	})
}

func TestAModelThatWritesALetterASecondIsSeenWritingAndEndsAtTheTimeLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newChat("chat")
		m := &script{steps: []step{{text: strings.Split(strings.Repeat("letter ", 10_000), ""), every: time.Second}}, otherwise: echo}
		b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct("chat:1", "1", "write slowly"))
		time.Sleep(5 * time.Minute)
		c.send(t, direct("chat:2", "1", "beside"))
		time.Sleep(5 * time.Second)
		got := c.texts()
		if len(got) != 2 || len(got[0]) < 290 || got[1] != "re: beside" {
			t.Errorf("after 305 letters the chats show %q", got)
		}
		time.Sleep(6 * time.Minute)
		settled(t, b)
		c.mu.Lock()
		edits := c.edits
		c.mu.Unlock()
		if got := c.texts()[0]; edits > 610 || len(got) < 590 || !strings.Contains(got, "time limit of 10m0s") {
			t.Errorf("after %d edits the chat shows %q", edits, got)
		}
		c.send(t, direct("chat:1", "2", "again"))
		settled(t, b)
		if got := c.texts(); got[len(got)-1] != "re: again" {
			t.Errorf("the chats show %q", got)
		}
	})
}

// fullStore refuses to write while it is full.
type fullStore struct {
	store.Store
	full *atomic.Bool
}

type fullLease struct {
	store.Lease
	full *atomic.Bool
}

var errFull = errors.New("the disk is full: free space on it")

func (s fullStore) Accept(ctx context.Context, ev store.Event) (store.Accepted, error) {
	if s.full.Load() {
		return store.Accepted{}, errFull
	}
	return s.Store.Accept(ctx, ev)
}

func (s fullStore) Acquire(ctx context.Context, session, owner string, ttl time.Duration) (store.Lease, error) {
	if s.full.Load() {
		return nil, errFull
	}
	l, err := s.Store.Acquire(ctx, session, owner, ttl)
	if err != nil {
		return nil, err
	}
	return fullLease{l, s.full}, nil
}

func (l fullLease) Append(ctx context.Context, first int64, entries []store.Entry) error {
	if l.full.Load() {
		return errFull
	}
	return l.Lease.Append(ctx, first, entries)
}

func TestADiskThatFillsDuringARunLosesNoMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, full := newChat("chat"), &atomic.Bool{}
		m := &script{steps: []step{{text: []string{"lost"}, wait: func(context.Context) error { full.Store(true); return nil }}}, otherwise: echo}
		s := newStore(t)
		b := start(t, Config{Store: fullStore{s, full}, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct("chat:1", "1", "first"))
		time.Sleep(10 * time.Minute)
		if err := c.host.Accept(t.Context(), direct("chat:2", "1", "second")); err == nil {
			t.Error("a message was taken on that could not be kept")
		}
		if n := len(m.asked()); n > 20 {
			t.Errorf("the model was asked %d times in ten minutes without room", n)
		}
		full.Store(false)
		c.send(t, direct("chat:2", "1", "second")) // as the platform delivers it again
		time.Sleep(time.Minute)
		settled(t, b)
		if got := strings.Join(c.texts(), "\n"); !strings.Contains(got, "re: first") || !strings.Contains(got, "re: second") {
			t.Errorf("with room again the chats show %q", got)
		}
		valid(t, s, "chat:1")
	})
}

func TestADayOfConversationsLeavesNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newChat("chat")
		m := &script{}
		b := start(t, Config{
			Store: newStore(t), Channels: []channels.Channel{c}, Model: m, CacheBytes: 64 << 10,
			Toolbox: toolset{tool("look", func(context.Context) string { return "seen" })},
		})
		var after [24]runtime.MemStats
		var goroutines [24]int
		for hour := range 24 {
			for chat := range 100 {
				m.mu.Lock()
				m.steps, m.requests = append(m.steps, call("c", "look", "{}"), say("done")), nil
				m.mu.Unlock()
				session := fmt.Sprintf("chat:%d", hour*50+chat) // half are new every hour
				c.send(t, direct(session, fmt.Sprint(hour), "hello"))
				settled(t, b)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			c.mu.Lock()
			if len(c.posts) != 100 {
				t.Fatalf("hour %d: %d answers", hour, len(c.posts))
			}
			c.posts = nil
			c.mu.Unlock()
			goroutines[hour] = runtime.NumGoroutine()
			runtime.GC()
			runtime.ReadMemStats(&after[hour])
			if b.cache.bytes > 64<<10 || b.dispatch.busy() {
				t.Fatalf("hour %d: the cache has %d bytes, busy %t", hour, b.cache.bytes, b.dispatch.busy())
			}
		}
		if goroutines[23] != goroutines[1] {
			t.Errorf("%d goroutines after two hours, %d after a day", goroutines[1], goroutines[23])
		}
		// The store is in memory and keeps what was said, a few kilobytes a turn;
		// beyond that nothing may stay.
		grown := int64(after[23].HeapObjects) - int64(after[1].HeapObjects)
		if each := grown / 2200; each > 60 {
			t.Errorf("%d objects stay of each message", each)
		} else {
			t.Logf("%d objects, %d bytes stay of each message", each, (int64(after[23].HeapAlloc)-int64(after[1].HeapAlloc))/2200)
		}
	})
}
