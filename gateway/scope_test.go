package gateway

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
)

// The small scope: two replicas, two messages, each delivered to one of them.
// Every moment at which the second message can be accepted, every call to the
// store that can fail and every way in which it can are tried.

// order is one play of the small scope.
type order struct {
	second        int // the call of the first replica before which the second message comes
	first, latter map[int]fate
}

func (o order) String() string {
	return fmt.Sprintf("second before %d, first replica %v, second replica %v", o.second, o.first, o.latter)
}

var fates = []fate{diesBefore, diesAfter, losesAnswer, stops}

func TestTwoReplicasAndTwoMessagesInEveryOrderWithAnyOneFault(t *testing.T) {
	most := 0 // calls of the first replica in any order
	for second := 2; second <= 12; second++ {
		calls, _ := playOrder(t, order{second: second})
		most = max(most, calls)
	}
	if most < 10 || most > 30 {
		t.Fatalf("the first replica makes %d calls", most)
	}
	for second := 2; second <= most; second++ {
		for _, f := range fates {
			for at := 1; at <= most; at++ {
				playOrder(t, order{second: second, first: map[int]fate{at: f}})
			}
			for at := 1; at <= 3; at++ {
				playOrder(t, order{second: second, latter: map[int]fate{at: f}})
			}
		}
	}
}

func TestTwoReplicasAndTwoMessagesWithAnyTwoFaults(t *testing.T) {
	most, _ := playOrder(t, order{second: 6})
	for a := 1; a <= most; a++ {
		for _, f := range fates {
			for _, g := range fates {
				for b, made := 1, 1; b <= made; b++ {
					_, made = playOrder(t, order{second: 6, first: map[int]fate{a: f}, latter: map[int]fate{b: g}})
				}
			}
		}
	}
}

// playOrder plays one order and returns how many calls the replicas made.
func playOrder(t *testing.T, o order) (first, latter int) {
	bubble(t, func(t *testing.T) {
		s := &scope{t: t, order: o}
		s.play()
		s.check()
		first, latter = s.first.count(), s.latter.count()
		if t.Failed() {
			t.Fatalf("%v\ncalls: %v, %v\ntranscript: %q\nposts: %q", o, s.first.log, s.latter.log, outline(t, s.store, sess), s.chat.texts())
		}
	})
	return first, latter
}

type scope struct {
	*world
	t             *testing.T
	order         order
	first, latter *process
	ran           atomic.Int32
	wg            sync.WaitGroup
}

func (s *scope) play() {
	once := tool("once", func(ctx context.Context) string { s.ran.Add(1); sleep(ctx, time.Second); return "ran" })
	m := &script{otherwise: func(req *agentcore.Request) step {
		if len(req.Messages) == 1 {
			return call("c1", "once", `{}`)
		}
		return echo(req)
	}}
	s.world = newWorld(s.t, m, once)
	s.first, s.latter = &process{fates: s.order.first}, &process{fates: s.order.latter}
	_, a := s.spawn(s.first)
	_, b := s.spawn(s.latter)
	time.Sleep(100 * time.Millisecond) // their first sweeps find nothing
	var second sync.Once
	bring := func() {
		second.Do(func() { s.wg.Go(func() { s.deliver(direct(sess, "2", "second"), b, a) }) })
	}
	s.first.before = func(call int) {
		if call == s.order.second {
			bring()
			time.Sleep(time.Millisecond) // it is there
		}
	}
	s.deliver(direct(sess, "1", "first"), a, b)
	time.Sleep(10 * time.Second)
	bring()
	time.Sleep(time.Minute)
	s.wg.Wait()
	if s.first.isDead() && s.latter.isDead() {
		s.spawn(&process{})
	}
	time.Sleep(time.Minute)
	for i, p := range []*process{s.first, s.latter} {
		if !p.isDead() {
			settled(s.t, s.bots[i])
		}
	}
	if len(s.bots) > 2 {
		settled(s.t, s.bots[2])
	}
}

// deliver brings a message as a platform does: until somebody has taken it.
func (s *scope) deliver(in channels.Inbound, to ...*mortalChat) {
	for i := 0; ; i++ {
		if i == 20 {
			_, c := s.spawn(&process{})
			to = append(to, c)
		}
		if to[i%len(to)].accept(in) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (s *scope) check() {
	t := s.t
	valid(t, s.store, sess)
	var said []string
	tokens, last := map[string]bool{}, ""
	epoch := 0
	for _, e := range entries(t, s.store, sess) {
		if e.Kind == store.KindUser {
			r, err := userRecord(e)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, r.Text)
		}
		if e.Token == last {
			continue
		}
		n, _, _ := strings.Cut(e.Token, ":")
		now, err := strconv.Atoi(n)
		if err != nil || now <= epoch || tokens[e.Token] {
			t.Errorf("entry %d is written under %s after %s", e.Position, e.Token, last)
		}
		last, epoch, tokens[e.Token] = e.Token, now, true
	}
	want(t, "messages in the transcript", said, []string{"first", "second"})
	if n := s.ran.Load(); n > 1 {
		t.Errorf("the tool ran %d times", n)
	}
	shown := strings.Join(s.chat.texts(), "\n")
	if n := strings.Count(shown, "re: second"); n < 1 || n > 2 || n > 1 && len(s.order.first)+len(s.order.latter) == 0 {
		t.Errorf("the answer is shown %d times", n)
	}
	if due, err := s.store.Due(t.Context(), 10); err != nil || slices.Contains(due, sess) {
		t.Errorf("at the end it is due: %v, %v", due, err)
	}
	list, _, err := s.store.Archive().Sessions(t.Context(), sess, "", 1)
	if err != nil || len(list) != 1 || list[0].Owner != "" || list[0].Waiting != 0 {
		t.Errorf("at the end: %+v, %v", list, err)
	}
}
