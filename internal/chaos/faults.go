package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// The faults. Each mends itself after a while; [world.mend] waits for that.
var (
	kill = fault{"kill", func(w *world) {
		w.toOne(func(r *replica) {
			defer w.hindering(r)()
			r.kill()
			w.pause(50, 300)
			w.start(r)
		})
	}}
	terminate = fault{"terminate", func(w *world) {
		w.toOne(func(r *replica) {
			r.terminate()
			w.start(r)
		})
	}}
	freeze = fault{"freeze", func(w *world) {
		w.toOne(func(r *replica) {
			defer w.hindering(r)()
			r.signal(syscall.SIGSTOP)
			w.outlast()
			r.signal(syscall.SIGCONT)
		})
	}}
	roll = fault{"roll", func(w *world) {
		w.rolling.Lock() // one after the other
		defer w.rolling.Unlock()
		r := w.replicas[w.rolled%len(w.replicas)]
		w.rolled++
		r.terminate()
		w.start(r)
	}}
	failOver = fault{"fail over", func(w *world) {
		w.redisMu.Lock()
		defer w.redisMu.Unlock()
		defer w.hindering(nil)()
		if err := w.failOver(); err != nil {
			w.fail(fmt.Sprintf("redis does not fail over: %v", err))
		}
	}}
	cut = fault{"cut", func(w *world) {
		w.toOne(func(r *replica) {
			defer w.hindering(r)()
			r.proxy.Cut()
		})
	}}
	silence = fault{"silence", func(w *world) {
		w.toOne(func(r *replica) {
			defer w.hindering(r)()
			r.proxy.Silence()
			w.outlast()
			r.proxy.Speak()
		})
	}}
	drop = fault{"drop", func(w *world) {
		w.toOne(func(r *replica) {
			defer w.hindering(r)()
			r.proxy.DropReplies(1 + rand.IntN(3))
			for began := time.Now(); r.proxy.Dropping() > 0 && time.Since(began) < w.schedule.ttl; {
				w.pause(5, 10)
			}
			r.proxy.DropReplies(0)
		})
	}}
	killRedis = fault{"kill redis", func(w *world) {
		w.redisMu.Lock()
		defer w.redisMu.Unlock()
		defer w.hindering(nil)()
		w.redis.Kill()
		w.pause(50, 500)
		if err := w.redis.Restart(); err != nil {
			w.fail(fmt.Sprintf("redis does not start again: %v", err))
		}
	}}
)

// faultLog counts what was done.
type faultLog struct {
	mu     sync.Mutex
	counts map[string]int
	busy   sync.WaitGroup
}

// hinder injects faults until ctx ends.
func (w *world) hinder(ctx context.Context, s schedule) {
	if len(s.faults) == 0 {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.every/2 + rand.N(s.every)):
		}
		f := s.faults[w.random.IntN(len(s.faults))]
		w.faults.mu.Lock()
		w.faults.counts[f.name]++
		w.faults.mu.Unlock()
		w.faults.busy.Go(func() { f.do(w) })
	}
}

// mend waits until every fault is over.
func (w *world) mend() {
	w.faults.busy.Wait()
	for _, r := range w.replicas {
		r.proxy.DropReplies(0)
	}
}

func (l *faultLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name, n := range l.counts {
		names = append(names, fmt.Sprintf("%s=%d", strings.ReplaceAll(name, " ", "-"), n))
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

func (l *faultLog) total() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.counts {
		n += c
	}
	return n
}

// failOver kills the primary; its replica takes its place, and it comes back as
// the replica.
func (w *world) failOver() error {
	w.redis.Kill()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := goredis.NewClient(&goredis.Options{Addr: w.standby.Addr})
	defer c.Close()
	if err := c.SlaveOf(ctx, "NO", "ONE").Err(); err != nil {
		return err
	}
	w.redis, w.standby = w.standby, w.redis
	for _, r := range w.replicas {
		r.proxy.Retarget(w.redis.Addr)
	}
	if err := w.standby.RestartAs("--replicaof", strings.Replace(w.redis.Addr, ":", " ", 1)); err != nil {
		return err
	}
	for n := int64(0); n < 1 && ctx.Err() == nil; {
		n, _ = c.Wait(ctx, 1, 100*time.Millisecond).Result()
	}
	return ctx.Err()
}

// toOne does something to a replica to which nothing else is being done.
func (w *world) toOne(do func(r *replica)) {
	first := rand.IntN(len(w.replicas))
	for i := range w.replicas {
		r := w.replicas[(first+i)%len(w.replicas)]
		if r.hindered.TryLock() {
			defer r.hindered.Unlock()
			do(r)
			return
		}
	}
}

// hindering notes that r, or with nil all of them, is hindered from now on until
// the returned function is called; what came of it takes a lease's time to show.
func (w *world) hindering(r *replica) (done func()) {
	from, number := time.Now(), -1
	if r != nil {
		number = r.number
	}
	return func() { w.wire.hinder(number, from, w.schedule.ttl) }
}

// outlast waits for about a lease's time: mostly longer.
func (w *world) outlast() {
	time.Sleep(w.schedule.ttl/2 + rand.N(2*w.schedule.ttl))
}

// pause waits for some milliseconds.
func (w *world) pause(from, to int) {
	time.Sleep(time.Duration(from+rand.IntN(to-from)) * time.Millisecond)
}
