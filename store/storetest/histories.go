package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"clawbot/store"
)

// Linearizable has clients use one session, and one term, at once, and fails
// when their answers can't be explained by any order of the calls in which each
// took effect at one moment between its beginning and its end. Answers are lost
// now and then, and the call is made again. open is called for every history;
// Linearizable closes what it returns.
func Linearizable(t *testing.T, open func(t *testing.T) store.Store) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("lease/", seed), func(t *testing.T) { history(t, open, seed, (*client).useLease, leaseModel) })
		t.Run(fmt.Sprint("term/", seed), func(t *testing.T) { history(t, open, seed, (*client).useTerm, termModel) })
	}
}

// instant is a lease that ends soon. Nothing is expected to happen within it.
const instant = 2 * time.Millisecond

// question is a call as a client makes it.
type question struct {
	op    string
	owner string
	token string // of the lease that makes the call
	id    string
	first int64
	brief bool // the lease is for an instant
}

// response is what the client was told: of an error, its class alone.
type response struct {
	lost  bool // nobody read it
	class string
	text  string
	token string
	n     int64
	flag  bool
}

// client is one of those who work at once.
type client struct {
	t       *testing.T
	s       store.Store
	owner   string
	number  int
	began   time.Time
	random  *rand.Rand
	made    []porcupine.Operation
	counter int

	lease store.Lease
	token string
	tail  int64
	term  store.Term
}

const clients, callsEach = 4, 30

func history(t *testing.T, open func(t *testing.T) store.Store, seed uint64, use func(*client), model porcupine.Model) {
	s := open(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var working sync.WaitGroup
	all := make([]*client, clients)
	began := time.Now()
	for i := range all {
		c := &client{t: t, s: s, owner: fmt.Sprint("o", i), number: i, began: began, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		all[i] = c
		working.Go(func() {
			for len(c.made) < callsEach && !t.Failed() {
				use(c)
			}
		})
	}
	working.Wait()
	var made []porcupine.Operation
	for _, c := range all {
		made = append(made, c.made...)
	}
	if t.Failed() || porcupine.CheckOperations(model, made) {
		return
	}
	for _, op := range made {
		t.Logf("%d %8d–%8d %s", op.ClientId, op.Call, op.Return, model.DescribeOperation(op.Input, op.Output))
	}
	t.Error("no order of these calls explains what they were told")
}

// call makes a call and notes it. One whose answer is lost is made twice.
func (c *client) call(q question, fn func(ctx context.Context) (response, error)) response {
	for again := c.random.IntN(8) == 0 && q.op != "acquire" && q.op != "elect"; ; again = false {
		call := time.Since(c.began)
		r, err := fn(c.t.Context())
		if err != nil {
			r = response{class: class(err)}
			var held *store.HeldError
			if !errors.As(err, &held) && !errors.Is(err, store.ErrFenced) {
				c.t.Errorf("%s: %v", q.op, err)
			}
		}
		r.lost = again
		c.made = append(c.made, porcupine.Operation{
			ClientId: c.number, Input: q, Output: r, Call: call.Nanoseconds(), Return: time.Since(c.began).Nanoseconds(),
		})
		if !again {
			return r
		}
	}
}

// useLease makes one call, or waits for a moment.
func (c *client) useLease() {
	if c.random.IntN(10) == 0 {
		time.Sleep(rand.N(2 * instant))
	}
	if c.random.IntN(4) == 0 {
		c.send()
		return
	}
	if c.lease == nil || c.random.IntN(12) == 0 {
		c.acquire()
		return
	}
	q := question{op: "append", owner: c.owner, token: c.token, first: c.tail}
	var r response
	switch c.random.IntN(8) {
	case 0:
		q.op = "release"
		r = c.call(q, func(ctx context.Context) (response, error) {
			done, err := c.lease.ReleaseIfEmpty(ctx)
			return response{flag: done}, err
		})
		if r.flag {
			c.lease = nil
		}
	case 1:
		q.op = "hand off"
		c.call(q, func(ctx context.Context) (response, error) { return response{}, c.lease.HandOff(ctx, 0, false) })
		c.lease = nil
	case 2:
		q.op = "renew"
		r = c.call(q, func(ctx context.Context) (response, error) {
			w, err := c.lease.Renew(ctx)
			return response{n: int64(len(w.Messages))}, err
		})
	case 3, 4, 5:
		q.op = "drain"
		r = c.call(q, func(ctx context.Context) (response, error) {
			list, err := c.lease.Drain(ctx, q.first, 2, 0)
			return response{text: strings.Join(entryIDs(list), " "), n: int64(len(list))}, err
		})
		c.tail += r.n
	default:
		c.counter++
		q.id = fmt.Sprintf("n%d.%d", c.number, c.counter)
		r = c.call(q, func(ctx context.Context) (response, error) {
			return response{}, c.lease.Append(ctx, q.first, []store.Entry{note(q.id)})
		})
		c.tail++
	}
	if r.class != "" {
		c.lease = nil
	}
}

func entryIDs(list []store.Entry) (out []string) {
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}

func (c *client) send() {
	c.counter++
	q := question{op: "accept", id: fmt.Sprintf("m%d.%d", c.number, c.counter/2)} // every other one is a duplicate
	c.call(q, func(ctx context.Context) (response, error) {
		acc, err := c.s.Accept(ctx, message("s", q.id))
		return response{n: acc.Position, flag: acc.Duplicate, text: acc.Owner}, err
	})
}

func (c *client) acquire() {
	q, ttl := question{op: "acquire", owner: c.owner}, hour
	if q.brief = c.random.IntN(4) > 0; q.brief {
		ttl = instant
	}
	c.call(q, func(ctx context.Context) (response, error) {
		l, err := c.s.Acquire(ctx, "s", c.owner, ttl)
		if err != nil {
			return response{}, err
		}
		start := l.Start()
		c.lease, c.token, c.tail = l, start.Token, start.Tail
		return response{token: start.Token, n: start.Tail, flag: start.Crashed}, nil
	})
}

// useTerm makes one call.
func (c *client) useTerm() {
	if c.random.IntN(10) == 0 {
		time.Sleep(rand.N(2 * instant))
	}
	if c.term == nil || c.random.IntN(8) == 0 {
		q, ttl := question{op: "elect", owner: c.owner}, hour
		if q.brief = c.random.IntN(4) > 0; q.brief {
			ttl = instant
		}
		c.call(q, func(ctx context.Context) (response, error) {
			term, err := c.s.Elect(ctx, "t", c.owner, ttl)
			if err == nil {
				c.term = term
			}
			return response{}, err
		})
		return
	}
	q := question{owner: c.owner}
	var r response
	switch c.random.IntN(6) {
	case 0:
		q.op = "resign"
		c.call(q, func(ctx context.Context) (response, error) { return response{}, c.term.Resign(ctx) })
		c.term = nil
	case 1:
		q.op = "renew"
		r = c.call(q, func(ctx context.Context) (response, error) { return response{}, c.term.Renew(ctx) })
	case 2, 3:
		q.op = "get"
		r = c.call(q, func(ctx context.Context) (response, error) {
			value, err := c.term.Get(ctx, "k")
			return response{text: string(value)}, err
		})
	default:
		c.counter++
		q.op, q.id = "put", fmt.Sprintf("%d.%d", c.number, c.counter)
		r = c.call(q, func(ctx context.Context) (response, error) { return response{}, c.term.Put(ctx, "k", []byte(q.id)) })
	}
	if r.class != "" {
		c.term = nil
	}
}
