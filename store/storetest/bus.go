package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"clawbot/store"
)

// listen subscribes to topic. Messages arrive as "topic=data".
func (e *env) listen(topic string) (got chan string, cancel func()) {
	e.Helper()
	got = make(chan string, 1000)
	cancel, err := e.Bus().Subscribe(topic, func(topic string, data []byte) {
		got <- topic + "=" + string(data)
	})
	e.ok(err)
	return got, cancel
}

func (e *env) publish(topic, data string) {
	e.Helper()
	e.ok(e.Bus().Publish(e.ctx, topic, []byte(data)))
}

func (e *env) receive(got chan string, want string) {
	e.Helper()
	select {
	case m := <-got:
		e.equal(m, want, "message")
	case <-e.ctx.Done():
		e.Fatalf("no %s", want)
	}
}

var busTests = []test{
	{name: "every subscriber of a topic gets its messages, in order", fn: func(e *env) {
		got1, cancel1 := e.listen("wake:a")
		defer cancel1()
		got2, cancel2 := e.listen("wake:a")
		defer cancel2()
		other, cancel3 := e.listen("wake:b")
		defer cancel3()
		for i := range 100 {
			e.publish("wake:a", fmt.Sprint(i))
		}
		e.publish("wake:b", "")
		for i := range 100 {
			e.receive(got1, fmt.Sprint("wake:a=", i))
			e.receive(got2, fmt.Sprint("wake:a=", i))
		}
		e.receive(other, "wake:b=")
	}},
	{name: "a topic that ends in * matches every topic with that prefix", fn: func(e *env) {
		got, cancel := e.listen("live:*")
		defer cancel()
		all, cancelAll := e.listen("*")
		defer cancelAll()
		for _, topic := range []string{"live:tg:1", "wake:a", "live:", "liv", "live:*"} {
			e.publish(topic, "x")
			e.receive(all, topic+"=x")
		}
		for _, topic := range []string{"live:tg:1", "live:", "live:*"} {
			e.receive(got, topic+"=x")
		}
	}},
	{name: "other characters of patterns are only themselves", fn: func(e *env) {
		got, cancel := e.listen("a?[b]*")
		defer cancel()
		e.publish("axb", "no")
		e.publish("a?[b]c", "yes")
		e.receive(got, "a?[b]c=yes")
	}},
	{name: "calls of one subscriber never overlap", fn: func(e *env) {
		var mu sync.Mutex
		done := make(chan struct{})
		n := 0
		cancel, err := e.Bus().Subscribe("t", func(string, []byte) {
			if !mu.TryLock() {
				e.Error("calls overlap")
				return
			}
			defer mu.Unlock()
			if n++; n == 200 {
				close(done)
			}
		})
		e.ok(err)
		defer cancel()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					if err := e.Bus().Publish(e.ctx, "t", nil); err != nil {
						e.Error(err)
					}
				}
			})
		}
		wg.Wait()
		<-done
	}},
	{name: "after cancel returns, fn is not called", fn: func(e *env) {
		var mu sync.Mutex
		cancelled := false
		cancel, err := e.Bus().Subscribe("t", func(string, []byte) {
			mu.Lock()
			defer mu.Unlock()
			if cancelled {
				e.Error("called after cancel")
			}
		})
		e.ok(err)
		for range 100 {
			e.publish("t", "x")
		}
		cancel()
		mu.Lock()
		cancelled = true
		mu.Unlock()
		e.publish("t", "x")
		cancel()
		got, stop := e.listen("t")
		defer stop()
		e.publish("t", "y")
		e.receive(got, "t=y")
	}},
	{name: "the publisher may use its bytes again", fn: func(e *env) {
		got, cancel := e.listen("t")
		defer cancel()
		data := []byte("good")
		e.ok(e.Bus().Publish(e.ctx, "t", data))
		copy(data, "evil")
		e.receive(got, "t=good")
	}},
	{name: "a subscriber that hangs does not hinder publishers or others", fn: func(e *env) {
		hang := make(chan struct{})
		cancel, err := e.Bus().Subscribe("t", func(string, []byte) { <-hang })
		e.ok(err)
		got, stop := e.listen("t")
		defer stop()
		for range 20000 {
			e.publish("t", "x")
			e.receive(got, "t=x")
		}
		close(hang)
		cancel()
	}},
	{name: "publishing to nobody is a success", fn: func(e *env) {
		e.publish("nobody", "x")
	}},
}

var closeTests = []test{
	{name: "a closed store refuses every call", fn: func(e *env) {
		l := e.acquire("s")
		term := e.elect("t", "a", hour)
		e.ok(e.Close())
		for name, err := range fencedCalls(e.ctx, l) {
			if !isClosed(err) {
				e.Errorf("%s: %v", name, err)
			}
		}
		for i, err := range []error{
			second(e.Accept(e.ctx, message("s", "a"))), second(e.Acquire(e.ctx, "s", "a", hour)),
			second(e.Due(e.ctx, 1)), second(e.Elect(e.ctx, "t", "a", hour)), term.Renew(e.ctx),
			second(e.State().Get(e.ctx, "k")), second(e.Counters().Sum(e.ctx, "k")),
			second(e.Blobs().Open(e.ctx, "x")), second(e.Archive().Dead(e.ctx, 1)), e.Check(e.ctx),
			e.Bus().Publish(e.ctx, "t", nil), second(e.Bus().Subscribe("t", func(string, []byte) {})),
		} {
			if !isClosed(err) {
				e.Errorf("call %d: %v", i, err)
			}
		}
		e.ok(e.Close())
	}},
	{name: "Check of a store that works finds nothing", fn: func(e *env) {
		e.ok(e.Check(e.ctx))
	}},
	{name: "a cancelled call of any kind does nothing", fn: func(e *env) {
		l := e.acquire("s")
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		for name, err := range fencedCalls(ctx, l) {
			if err == nil {
				e.Errorf("%s succeeds", name)
			}
		}
		e.equal(e.load(l, 0).Tail, 0, "tail")
		e.release(l)
	}},
}

func isClosed(err error) bool { return errors.Is(err, store.ErrClosed) }
