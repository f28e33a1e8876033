package storetest

import (
	"fmt"
	"time"

	"clawbot/store"
)

func (m *machine) doTerm() {
	name := m.pick("name", "t1", "t2")
	t, ok := m.terms[name]
	what := m.pick("what", "elect", "put", "get", "renew", "resign")
	if what == "elect" || !ok {
		owner := m.owner()
		got, ok := same(m, "elect "+owner+" to "+name, m.stores, func(s store.Store) (store.Term, error) {
			return s.Elect(m.ctx, name, owner, time.Hour)
		}, func(store.Term) string { return "ok" })
		if ok {
			m.terms[name] = got
		}
		return
	}
	key, value := m.pick("key", "k1", "k2"), m.pick("value", "", "x", "y")
	same(m, what+" "+name, t, func(t store.Term) (string, error) {
		switch what {
		case "put":
			return "ok", t.Put(m.ctx, key, []byte(value))
		case "get":
			v, err := t.Get(m.ctx, key)
			return fmt.Sprint(v == nil, string(v)), err
		case "renew":
			return "ok", t.Renew(m.ctx)
		}
		return "ok", t.Resign(m.ctx)
	}, show)
}

// doState compares all but the versions themselves, which are known in pairs.
func (m *machine) doState() {
	key := m.pick("key", "k", "k/1", "k/2")
	type side struct {
		state   store.State
		version int64
	}
	known := append([]both[int64]{{0, 0}}, m.versions[key]...)
	v := known[len(known)-1-min(m.number("version", 0, 2), len(known)-1)]
	sides := both[side]{{m.stores[0].State(), v[0]}, {m.stores[1].State(), v[1]}}
	data := m.pick("data", "", "x", "y")
	switch m.pick("what", "put", "put", "get", "list", "range", "delete") {
	case "put":
		got, ok := same(m, fmt.Sprintf("put state %s=%s at %d", key, data, v), sides, func(s side) (int64, error) {
			return s.state.Put(m.ctx, key, []byte(data), s.version)
		}, func(int64) string { return "ok" })
		if ok {
			if m.versions == nil {
				m.versions = map[string][]both[int64]{}
			}
			m.versions[key] = append(m.versions[key], both[int64]{got[0], got[1]})
		}
	case "get":
		same(m, "get state "+key, sides, func(s side) (store.Value, error) { return s.state.Get(m.ctx, key) },
			func(v store.Value) string { return v.Key + string(v.Data) })
	case "list":
		same(m, "list state "+key, sides, func(s side) ([]store.Value, error) { return s.state.List(m.ctx, key) },
			func(list []store.Value) string { return fmt.Sprint(keys(list)) })
	case "range":
		limit := m.number("limit", 1, 3)
		same(m, fmt.Sprintf("list %d of state from %s", limit, key), sides, func(s side) ([]store.Value, error) { return s.state.Range(m.ctx, key, "k/2", limit) },
			func(list []store.Value) string { return fmt.Sprint(keys(list)) })
	case "delete":
		same(m, "delete state "+key, sides, do(func(s side) error { return s.state.Delete(m.ctx, key) }), nothing)
	}
}

func (m *machine) doCounters() {
	id, amount := m.pick("id", "r1", "r2", "r3", "r4"), int64(m.number("amount", 0, 4))
	counters := both[store.Counters]{m.stores[0].Counters(), m.stores[1].Counters()}
	list := []store.CounterKey{key("c1", 6), key("c2", 0), {Key: "c3"}}[m.number("from", 0, 2):]
	switch m.pick("what", "reserve", "settle", "sum") {
	case "reserve":
		same(m, fmt.Sprintf("reserve %s %d %v", id, amount, list), counters,
			do(func(c store.Counters) error { return c.Reserve(m.ctx, id, amount, list) }), nothing)
	case "settle":
		same(m, fmt.Sprintf("settle %s %d", id, amount), counters,
			do(func(c store.Counters) error { return c.Settle(m.ctx, id, amount) }), nothing)
	case "sum":
		same(m, "sum", counters, func(c store.Counters) (int64, error) { return c.Sum(m.ctx, list[0].Key) }, show)
	}
}
