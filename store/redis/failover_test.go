package redis_test

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clawbot/internal/redistest"
	"clawbot/store"
	"clawbot/store/redis"
)

// pair is a primary and its replica. The store reaches whichever is the primary
// through the proxy.
type pair struct {
	t                *testing.T
	primary, replica *redistest.Server
	proxy            *redistest.Proxy
}

func startPair(t *testing.T) *pair {
	settings := append(redistest.Durable(), "--repl-diskless-sync-delay", "0")
	p := &pair{t: t, primary: redistest.Start(t, settings...)}
	p.replica = redistest.Start(t, append(settings, "--replicaof", strings.Replace(p.primary.Addr, ":", " ", 1))...)
	p.proxy = redistest.StartProxy(t, p.primary)
	p.linked()
	return p
}

// linked waits until the replica follows.
func (p *pair) linked() {
	c := client(p.t, p.primary.Addr)
	for {
		if n, err := c.Do(p.t.Context(), "WAIT", 1, 100).Int64(); err == nil && n == 1 {
			return
		}
	}
}

// failOver kills the primary and makes the replica one; what was the primary
// comes back as its replica.
func (p *pair) failOver() {
	p.t.Helper()
	p.primary.Kill()
	command(p.t, p.replica.Addr, "REPLICAOF", "NO", "ONE")
	p.primary, p.replica = p.replica, p.primary
	p.proxy.Retarget(p.primary.Addr)
	host, port, _ := net.SplitHostPort(p.primary.Addr)
	check(p.t, p.replica.RestartAs("--replicaof", host+" "+port))
}

func TestWhatRedissReplicasHaveConfirmedOutlivesAFailover(t *testing.T) {
	p := startPair(t)
	cfg := quietly(p.proxy.URL())
	cfg.Replicas = 1
	st := open(t, cfg)
	var mu sync.Mutex
	taken := map[string]bool{}
	var done atomic.Bool
	var sending sync.WaitGroup
	for sender := range 4 {
		sending.Go(func() {
			for i := 0; !done.Load(); i++ {
				id := fmt.Sprintf("%d.%d", sender, i)
				if _, err := st.Accept(t.Context(), message("s", id)); err == nil {
					mu.Lock()
					taken[id] = true
					mu.Unlock()
				}
			}
		})
	}
	for range 3 {
		before := count(&mu, taken)
		for count(&mu, taken) < before+50 {
			time.Sleep(time.Millisecond)
		}
		p.failOver()
		p.linked()
	}
	done.Store(true)
	sending.Wait()
	for {
		l, err := st.Acquire(t.Context(), "s", "a", time.Hour)
		if err != nil {
			continue // the connection is made anew
		}
		seen := map[string]bool{}
		for _, e := range must(l.Drain(t.Context(), 0, 0, 0))(t) {
			if seen[e.ID] {
				t.Errorf("message %s is there twice", e.ID)
			}
			seen[e.ID] = true
		}
		for id := range taken {
			if !seen[id] {
				t.Errorf("message %s was taken and is lost", id)
			}
		}
		return
	}
}

func count(mu *sync.Mutex, m map[string]bool) int {
	mu.Lock()
	defer mu.Unlock()
	return len(m)
}

func TestNothingIsAcknowledgedThatRedissReplicasDoNotHave(t *testing.T) {
	p := startPair(t)
	cfg := quietly(p.proxy.URL())
	cfg.Replicas, cfg.Patience = 1, 10*time.Millisecond
	st := open(t, cfg)
	l := must(st.Acquire(t.Context(), "s", "a", time.Hour))(t)
	check(t, l.Append(t.Context(), 0, []store.Entry{{Kind: store.KindAssistant, ID: "a", Opens: []string{"call"}}}))
	must(st.Accept(t.Context(), message("s", "before")))(t)
	check(t, p.replica.Pause())
	unconfirmed := func(what string, err error) {
		t.Helper()
		for _, want := range []string{"0 of the 1", "store.wait_replicas", p.proxy.Addr()} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error is %v, want %q in it", what, err, want)
			}
		}
	}
	_, err := st.Accept(t.Context(), message("s", "during"))
	unconfirmed("accept", err)
	_, err = st.Accept(t.Context(), message("s", "before"))
	if err == nil {
		t.Error("a duplicate was acknowledged") // the first of it may have been refused
	}
	_, err = l.Intent(t.Context(), "call")
	unconfirmed("intent", err)
	unconfirmed("check", st.Check(t.Context()))
	check(t, p.replica.Resume())
	for st.Check(t.Context()) != nil {
	}
	if acc := must(st.Accept(t.Context(), message("s", "during")))(t); !acc.Duplicate {
		t.Errorf("accepted: %+v", acc)
	}
	if _, err := redis.Open(t.Context(), redis.Config{URL: p.proxy.URL(), Prefix: freshPrefix(), Replicas: 2, Patience: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "1 of the 2") {
		t.Errorf("opening with two: %v", err)
	}
}
