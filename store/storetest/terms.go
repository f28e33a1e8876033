package storetest

import (
	"errors"
	"time"

	"clawbot/store"
)

func (e *env) elect(name, owner string, ttl time.Duration) store.Term {
	e.Helper()
	t, err := e.Elect(e.ctx, name, owner, ttl)
	e.ok(err)
	return t
}

func (e *env) electWaiting(name, owner string) store.Term {
	e.Helper()
	for {
		t, err := e.Elect(e.ctx, name, owner, hour)
		if !e.wait(err) {
			return t
		}
	}
}

func (e *env) termValue(t store.Term, key string) []byte {
	e.Helper()
	v, err := t.Get(e.ctx, key)
	e.ok(err)
	return v
}

var termTests = []test{
	{name: "one owner holds a term, others are told who", fn: func(e *env) {
		e.elect("tg:1", "a", hour)
		_, err := e.Elect(e.ctx, "tg:1", "b", hour)
		var held *store.HeldError
		if !errors.As(err, &held) || held.Owner != "a" || held.For <= 0 || held.For > hour {
			e.Fatalf("error is %v", err)
		}
		e.elect("tg:2", "b", hour)
	}},
	{name: "its holder is elected again to the same term", fn: func(e *env) {
		t1, t2 := e.elect("t", "a", hour), e.elect("t", "a", hour)
		e.ok(t1.Put(e.ctx, "k", []byte("1")))
		e.ok(t2.Put(e.ctx, "k", []byte("2")))
		e.ok(t1.Renew(e.ctx))
	}},
	{name: "after Resign the next candidate wins at once", fn: func(e *env) {
		t := e.elect("t", "a", hour)
		e.ok(t.Resign(e.ctx))
		e.ok(t.Resign(e.ctx))
		e.elect("t", "b", hour)
		e.ok(t.Resign(e.ctx))
		var held *store.HeldError
		if _, err := e.Elect(e.ctx, "t", "c", hour); !errors.As(err, &held) || held.Owner != "b" {
			e.Fatalf("error is %v", err)
		}
	}},
	{name: "a holder that lost its term can do nothing", fn: func(e *env) {
		old := e.elect("t", "a", e.short)
		e.ok(old.Put(e.ctx, "k", []byte("old")))
		t := e.electWaiting("t", "b")
		e.is(old.Renew(e.ctx), store.ErrFenced)
		e.is(old.Put(e.ctx, "k", []byte("evil")), store.ErrFenced)
		e.is(second(old.Get(e.ctx, "k")), store.ErrFenced)
		e.is(old.Resign(e.ctx), store.ErrFenced)
		e.equal(string(e.termValue(t, "k")), "old", "value")
		e.ok(t.Renew(e.ctx))
	}},
	{name: "who resigned can write nothing more", fn: func(e *env) {
		t := e.elect("t", "a", hour)
		e.ok(t.Resign(e.ctx))
		e.is(t.Put(e.ctx, "k", []byte("x")), store.ErrFenced)
		e.is(t.Renew(e.ctx), store.ErrFenced)
		e.equal(e.termValue(e.elect("t", "b", hour), "k") == nil, true, "never put")
	}},
	{name: "values outlive the term and pass to the next holder", fn: func(e *env) {
		t := e.elect("t", "a", hour)
		e.equal(e.termValue(t, "offset") == nil, true, "never put")
		for range 2 {
			e.ok(t.Put(e.ctx, "offset", []byte("41")))
		}
		e.ok(t.Put(e.ctx, "offset", []byte("42")))
		e.ok(t.Put(e.ctx, "empty", nil))
		e.ok(t.Resign(e.ctx))
		t = e.elect("t", "b", hour)
		e.equal(string(e.termValue(t, "offset")), "42", "value")
		if v := e.termValue(t, "empty"); v == nil || len(v) != 0 {
			e.Fatalf("empty value is %#v", v)
		}
		e.equal(e.termValue(e.elect("t2", "b", hour), "offset") == nil, true, "value of another term")
	}},
	{name: "Renew keeps a term beyond its ttl", hours: true, fn: func(e *env) {
		t := e.elect("t", "a", time.Minute)
		for range 5 {
			time.Sleep(50 * time.Second)
			e.ok(t.Renew(e.ctx))
		}
		_, err := e.Elect(e.ctx, "t", "b", hour)
		if _, ok := errors.AsType[*store.HeldError](err); !ok {
			e.Fatalf("error is %v", err)
		}
	}},
	{name: "the store keeps its own copy of a value", fn: func(e *env) {
		t := e.elect("t", "a", hour)
		v := []byte("good")
		e.ok(t.Put(e.ctx, "k", v))
		copy(v, "evil")
		e.equal(string(e.termValue(t, "k")), "good", "value")
	}},
	{name: "malformed names, owners, times and keys are refused", fn: func(e *env) {
		e.is(second(e.Elect(e.ctx, "", "a", hour)), store.ErrInvalid)
		e.is(second(e.Elect(e.ctx, "a b", "a", hour)), store.ErrInvalid)
		e.is(second(e.Elect(e.ctx, "t", "", hour)), store.ErrInvalid)
		e.is(second(e.Elect(e.ctx, "t", "a", 0)), store.ErrInvalid)
		e.is(e.elect("t", "a", hour).Put(e.ctx, "a b", nil), store.ErrInvalid)
	}},
}
