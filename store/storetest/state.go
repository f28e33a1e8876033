package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"clawbot/store"
)

func (e *env) set(key, data string, version int64) int64 {
	e.Helper()
	v, err := e.State().Put(e.ctx, key, []byte(data), version)
	e.ok(err)
	return v
}

func keys(list []store.Value) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Key+"="+string(v.Data))
	}
	return out
}

var stateTests = []test{
	{name: "a value is put, read, replaced and deleted", fn: func(e *env) {
		_, err := e.State().Get(e.ctx, "k")
		e.is(err, store.ErrNotFound)
		v1 := e.set("k", "one", 0)
		got, err := e.State().Get(e.ctx, "k")
		e.ok(err)
		e.equal(got, store.Value{Key: "k", Data: []byte("one"), Version: v1}, "value")
		v2 := e.set("k", "two", v1)
		got, err = e.State().Get(e.ctx, "k")
		e.ok(err)
		e.equal(got, store.Value{Key: "k", Data: []byte("two"), Version: v2}, "value")
		for range 2 {
			e.ok(e.State().Delete(e.ctx, "k"))
			e.is(second(e.State().Get(e.ctx, "k")), store.ErrNotFound)
		}
	}},
	{name: "another version is a conflict and changes nothing", fn: func(e *env) {
		s := e.State()
		e.is(second(s.Put(e.ctx, "k", []byte("x"), 7)), store.ErrConflict)
		v1 := e.set("k", "one", 0)
		v2 := e.set("k", "two", v1)
		for _, version := range []int64{0, v1, v2 + 1, -1} {
			e.is(second(s.Put(e.ctx, "k", []byte("x"), version)), store.ErrConflict)
		}
		got, err := s.Get(e.ctx, "k")
		e.ok(err)
		e.equal(string(got.Data), "two", "value")
	}},
	{name: "putting again what is there already is a success", fn: func(e *env) {
		v1 := e.set("k", "one", 0)
		e.equal(e.set("k", "one", 0), v1, "version")
		v2 := e.set("k", "two", v1)
		e.equal(e.set("k", "two", v1), v2, "version")
		e.is(second(e.State().Put(e.ctx, "k", []byte("one"), 0)), store.ErrConflict)
	}},
	{name: "a version is not used again after a delete", fn: func(e *env) {
		v1 := e.set("k", "one", 0)
		e.ok(e.State().Delete(e.ctx, "k"))
		e.is(second(e.State().Put(e.ctx, "k", []byte("x"), v1)), store.ErrConflict)
		v2 := e.set("k", "two", 0)
		if v1 == v2 {
			e.Fatal("version used twice")
		}
		e.is(second(e.State().Put(e.ctx, "k", []byte("x"), v1)), store.ErrConflict)
	}},
	{name: "List returns the values with a prefix, sorted", fn: func(e *env) {
		for _, k := range []string{"b/2", "a", "b/1", "b/10", "b", "c", "B/1", "b_1", "b.1"} {
			e.set(k, k, 0)
		}
		for prefix, want := range map[string]string{
			"b/": "[b/1=b/1 b/10=b/10 b/2=b/2]",
			"":   "[B/1=B/1 a=a b=b b.1=b.1 b/1=b/1 b/10=b/10 b/2=b/2 b_1=b_1 c=c]",
			"z":  "[]", "b%": "[]", "*": "[]", "b?": "[]",
		} {
			list, err := e.State().List(e.ctx, prefix)
			e.ok(err)
			e.equal(keys(list), want, "list of "+prefix)
		}
	}},
	{name: "Range returns what lies between two keys, the first ones", fn: func(e *env) {
		for i := range 450 {
			e.set(fmt.Sprintf("due/%05d", i), "x", 0)
		}
		e.set("due.", "x", 0)
		e.set("due0", "x", 0)
		between := func(from, before string, limit int) (got []string) {
			list, err := e.State().Range(e.ctx, from, before, limit)
			e.ok(err)
			for _, v := range list {
				got = append(got, strings.TrimPrefix(v.Key, "due/"))
			}
			return got
		}
		e.equal(between("due/", "due/00003", 10), "[00000 00001 00002]", "below a bound")
		e.equal(between("due/00003", "due0", 2), "[00003 00004]", "from a bound on")
		e.equal(between("due/00003x", "due0", 1), "[00004]", "from between two keys on")
		e.equal(between("due/00449", "due0", 5), "[00449]", "at the end")
		e.equal(between("due0", "due1", 5), "[due0]", "the next prefix")
		e.equal(between("due/", "due/", 5), "[]", "nothing between")
		e.equal(between("due0", "due/", 5), "[]", "bounds that are the wrong way round")
		e.equal(len(between("", "zzz", 1000)), 452, "everything")
		e.equal(len(between("due/", "due0", 430)), 430, "several pages")
		e.equal(len(between("due/", "due0", 400)), 400, "two whole pages")
	}},
	{name: "List carries versions", fn: func(e *env) {
		v := e.set("k", "one", 0)
		list, err := e.State().List(e.ctx, "k")
		e.ok(err)
		e.equal(list[0].Version, v, "version")
	}},
	{name: "a malformed key is refused", fn: func(e *env) {
		for _, k := range []string{"", "a b", "é", "a*", strings.Repeat("k", 301)} {
			e.is(second(e.State().Put(e.ctx, k, nil, 0)), store.ErrInvalid)
		}
		e.set(strings.Repeat("k", 300), "x", 0)
		e.set("AZaz09:_.@/-", "x", 0)
	}},
	{name: "the store keeps its own copy, and a value may be empty", fn: func(e *env) {
		data := []byte("good")
		e.ok(second(e.State().Put(e.ctx, "k", data, 0)))
		copy(data, "evil")
		got, err := e.State().Get(e.ctx, "k")
		e.ok(err)
		e.equal(string(got.Data), "good", "value")
		e.set("empty", "", 0)
		got, err = e.State().Get(e.ctx, "empty")
		e.ok(err)
		e.equal(len(got.Data), 0, "length")
	}},
	{name: "of many that replace one version, one wins", fn: func(e *env) {
		v := e.set("k", "start", 0)
		var wg sync.WaitGroup
		won := make(chan bool, 16)
		for i := range cap(won) {
			wg.Go(func() {
				_, err := e.State().Put(e.ctx, "k", []byte{byte(i)}, v)
				won <- err == nil
			})
		}
		wg.Wait()
		n := 0
		for range cap(won) {
			if <-won {
				n++
			}
		}
		e.equal(n, 1, "winners")
	}},
}

func key(name string, limit int64) store.CounterKey {
	return store.CounterKey{Key: name, Limit: limit, Window: hour}
}

func (e *env) reserve(id string, amount int64, keys ...store.CounterKey) {
	e.Helper()
	e.ok(e.Counters().Reserve(e.ctx, id, amount, keys))
}

func (e *env) sums(want string, names ...string) {
	e.Helper()
	var got []int64
	for _, name := range names {
		n, err := e.Counters().Sum(e.ctx, name)
		e.ok(err)
		got = append(got, n)
	}
	e.equal(got, want, "sums")
}

var counterTests = []test{
	{name: "a reservation is added to every key", fn: func(e *env) {
		e.sums("[0]", "a")
		e.reserve("r1", 3, key("a", 10), key("b", 0))
		e.reserve("r2", 4, key("b", 0))
		e.sums("[3 7 0]", "a", "b", "c")
	}},
	{name: "a limit may be reached but not passed, and then nothing is changed", fn: func(e *env) {
		e.reserve("r1", 6, key("a", 10))
		err := e.Counters().Reserve(e.ctx, "r2", 5, []store.CounterKey{key("b", 0), key("a", 10)})
		e.is(err, store.ErrLimit)
		e.sums("[6 0]", "a", "b")
		e.reserve("r3", 4, key("a", 10))
		e.is(e.Counters().Reserve(e.ctx, "r4", 1, []store.CounterKey{key("a", 10)}), store.ErrLimit)
		e.reserve("r5", 0, key("a", 10))
	}},
	{name: "a refused reservation can be made when there is room", fn: func(e *env) {
		e.reserve("r1", 10, key("a", 10))
		e.is(e.Counters().Reserve(e.ctx, "r2", 5, []store.CounterKey{key("a", 10)}), store.ErrLimit)
		e.ok(e.Counters().Settle(e.ctx, "r1", 2))
		e.reserve("r2", 5, key("a", 10))
		e.sums("[7]", "a")
	}},
	{name: "reserving twice under one id is once", fn: func(e *env) {
		for range 3 {
			e.reserve("r1", 6, key("a", 10))
		}
		e.sums("[6]", "a")
	}},
	{name: "Settle replaces what was reserved, even beyond a limit", fn: func(e *env) {
		e.reserve("r1", 6, key("a", 10), key("b", 0))
		e.reserve("r2", 1, key("a", 10))
		for range 2 {
			e.ok(e.Counters().Settle(e.ctx, "r1", 2))
			e.sums("[3 2]", "a", "b")
		}
		e.reserve("r1", 6, key("a", 10), key("b", 0))
		e.sums("[3 2]", "a", "b")
		e.ok(e.Counters().Settle(e.ctx, "r1", 50))
		e.sums("[51 50]", "a", "b")
		e.ok(e.Counters().Settle(e.ctx, "r1", 0))
		e.sums("[1 0]", "a", "b")
	}},
	{name: "settling what is not known is a success", fn: func(e *env) {
		e.ok(e.Counters().Settle(e.ctx, "nothing", 5))
	}},
	{name: "a sum is forgotten when its window has passed since the first addition", hours: true, fn: func(e *env) {
		e.reserve("r1", 6, key("a", 10))
		time.Sleep(40 * time.Minute)
		e.reserve("r2", 4, key("a", 10))
		time.Sleep(20*time.Minute - time.Second)
		e.sums("[10]", "a")
		time.Sleep(time.Second)
		e.sums("[0]", "a")
		e.reserve("r3", 1, key("a", 10))
		e.ok(e.Counters().Settle(e.ctx, "r2", 0))
		e.sums("[1]", "a")
		e.reserve("r1", 2, key("a", 10))
		e.sums("[3]", "a")
	}},
	{name: "a window without length is never forgotten", hours: true, fn: func(e *env) {
		e.reserve("r1", 6, store.CounterKey{Key: "a"}, key("b", 0))
		time.Sleep(24 * 365 * hour)
		e.reserve("r2", 1, store.CounterKey{Key: "a"}, key("b", 0))
		e.sums("[7 1]", "a", "b")
	}},
	{name: "malformed reservations are refused", fn: func(e *env) {
		c := e.Counters()
		for _, err := range []error{
			c.Reserve(e.ctx, "", 1, []store.CounterKey{key("a", 0)}),
			c.Reserve(e.ctx, "r", -1, []store.CounterKey{key("a", 0)}),
			c.Reserve(e.ctx, "r", 1, []store.CounterKey{key("a b", 0)}),
			c.Reserve(e.ctx, "r", 1, []store.CounterKey{key("a", -1)}),
			c.Reserve(e.ctx, "r", 1, []store.CounterKey{key("a", 0), key("a", 0)}),
			c.Reserve(e.ctx, "r", 1, []store.CounterKey{{Key: "a", Window: -1}}),
			c.Settle(e.ctx, "r", -1),
		} {
			e.is(err, store.ErrInvalid)
		}
		e.sums("[0]", "a")
	}},
	{name: "many that reserve at once never pass the limit", fn: func(e *env) {
		var wg sync.WaitGroup
		won := make(chan bool, 32)
		for i := range cap(won) {
			wg.Go(func() {
				id := "r" + string(rune('A'+i))
				won <- e.Counters().Reserve(e.ctx, id, 1, []store.CounterKey{key("a", 10)}) == nil
			})
		}
		wg.Wait()
		n := 0
		for range cap(won) {
			if <-won {
				n++
			}
		}
		e.equal(n, 10, "reservations")
		e.sums("[10]", "a")
	}},
}
