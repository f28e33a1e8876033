package storetest

import (
	"fmt"
	"strings"

	"clawbot/store"
)

// readText takes the data "owner|text" apart. An assistant's has no owner.
func readText(e store.Entry) (owner, text string) {
	owner, text, _ = strings.Cut(string(e.Data), "|")
	return owner, text
}

// searcher is the store as a Searcher with readText, nil if it is none.
func (e *env) searcher() store.Searcher {
	s, ok := e.Store.(store.Searcher)
	if !ok {
		return nil
	}
	s.Index(readText)
	return s
}

// said appends what owner and the agent said, in turns, after position first.
func (e *env) said(l store.Lease, first int64, owner string, texts ...string) {
	e.Helper()
	for i, text := range texts {
		en := user(fmt.Sprint(owner, first, i))
		en.Data = []byte(owner + "|" + text)
		if i%2 == 1 {
			en = assistant(en.ID)
			en.Data = []byte("|" + text)
		}
		e.append(l, first+int64(i), en)
	}
}

// finds checks what a search finds, as session:position.
func (e *env) finds(s store.Searcher, q store.Search, want ...string) {
	e.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	list, err := s.Search(e.ctx, q)
	e.ok(err)
	got := map[string]bool{}
	for _, f := range list {
		got[fmt.Sprintf("%s:%d", f.Session, f.Entry.Position)] = true
		if f.Passage == "" {
			e.Fatalf("no passage of %+v", f)
		}
	}
	for _, w := range want {
		if !got[w] {
			e.Fatalf("search %+v: %v, want %v", q, got, want)
		}
	}
	e.equal(len(got), len(want), fmt.Sprintf("found %v for %+v", got, q))
}

var searchTests = []test{
	{name: "what was said is found by its owner alone", fn: func(e *env) {
		s := e.searcher()
		if s == nil {
			return
		}
		a, b, room := e.acquire("a"), e.acquire("b"), e.acquire("room")
		e.said(a, 0, "ann", "my dog is called Rex", "What a fine dog")
		e.said(b, 0, "bob", "my dog is called Max", "What a fine dog")
		e.said(room, 0, "", "the dog of everybody", "What a fine dog")
		e.finds(s, store.Search{Owner: "ann", Words: "dog"}, "a:0", "a:1")
		e.finds(s, store.Search{Owner: "bob", Words: "DOG"}, "b:0", "b:1")
		e.finds(s, store.Search{Owner: "ann", Words: "max"})
		e.finds(s, store.Search{Owner: "", Words: "dog"})
		e.finds(s, store.Search{Owner: "an", Words: "dog"})
		e.said(a, 2, "ann", "Rex is ill", "Poor Rex")
		e.finds(s, store.Search{Owner: "ann", Words: "rex"}, "a:0", "a:2", "a:3")
		e.finds(s, store.Search{Owner: "ann", Words: "rex", Session: "a", Before: 2}, "a:0")
		e.finds(s, store.Search{Owner: "ann", Words: "rex", Session: "b", Before: 0}, "a:0", "a:2", "a:3")
	}},
	{name: "drained messages are found, tool results, notes and summaries are not", fn: func(e *env) {
		s := e.searcher()
		if s == nil {
			return
		}
		e.accept(store.Event{ID: "m", Session: "s", Data: []byte("ann|the blue bird")})
		l := e.acquire("s")
		e.drain(l, 0)
		e.append(l, 1, withData(assistant("x", "c"), "|bird one"))
		e.append(l, 2, withData(result("r", "c"), "ann|bird two"), withData(note("n"), "ann|bird three"))
		e.ok(l.Compact(e.ctx, 4, withData(summary("sum"), "ann|bird four"), 4))
		e.finds(s, store.Search{Owner: "ann", Words: "bird"}, "s:0", "s:1")
	}},
	{name: "who speaks later in a session does not own what was said before", fn: func(e *env) {
		s := e.searcher()
		if s == nil {
			return
		}
		l := e.acquire("s")
		e.said(l, 0, "ann", "apples", "apples it is")
		e.finds(s, store.Search{Owner: "ann", Words: "apples"}, "s:0", "s:1")
		e.said(l, 2, "bob", "apples", "apples again")
		e.finds(s, store.Search{Owner: "ann", Words: "apples"}, "s:0", "s:1")
		e.finds(s, store.Search{Owner: "bob", Words: "apples"}, "s:2", "s:3")
	}},
	{name: "what was written before Index is found", fn: func(e *env) {
		if _, ok := e.Store.(store.Searcher); !ok {
			return
		}
		l := e.acquire("s")
		e.said(l, 0, "ann", "early bird", "worm")
		s := e.searcher()
		for range 200 {
			if list, err := s.Search(e.ctx, store.Search{Owner: "ann", Words: "early", Limit: 1}); err == nil && len(list) == 1 {
				return
			}
			e.acquireAs("other", "a", hour) // some other work, meanwhile
		}
		e.Fatal("it is not found")
	}},
	{name: "Purge takes a session out of the index", fn: func(e *env) {
		s := e.searcher()
		if s == nil {
			return
		}
		a, b := e.acquire("a"), e.acquire("b")
		e.said(a, 0, "ann", "one bird", "yes")
		e.said(b, 0, "ann", "two birds", "yes")
		e.finds(s, store.Search{Owner: "ann", Words: "yes"}, "a:1", "b:1")
		e.ok(e.Archive().Purge(e.ctx, a))
		e.finds(s, store.Search{Owner: "ann", Words: "yes"}, "b:1")
		a = e.acquireAs("a", "again", hour)
		e.finds(s, store.Search{Owner: "ann", Words: "yes"}, "b:1")
		e.said(a, 0, "bob", "yes")
		e.finds(s, store.Search{Owner: "ann", Words: "yes"}, "b:1")
	}},
	{name: "a query is words, whatever it looks like", fn: func(e *env) {
		s := e.searcher()
		if s == nil {
			return
		}
		l := e.acquire("s")
		e.said(l, 0, "ann", `say "hello" to 东京塔 and Ångström: AND OR NOT NEAR(x)`, "ok")
		for _, words := range []string{
			`"hello`, `hello"`, `hello*`, `hello AND`, `NOT hello`, `NEAR(hello`, `say:hello`, `^hello`, `(hello`, `hello;--`, "东京", "京塔", "塔",
			"angstrom", "{hello}", "'hello'",
		} {
			e.finds(s, store.Search{Owner: "ann", Words: words}, "s:0")
		}
		for _, words := range []string{"塔东", "hello goodbye", "ell", "owner:ann hello", "ann"} {
			e.finds(s, store.Search{Owner: "ann", Words: words})
		}
		for _, words := range []string{"", " ", `"*()`, "\x00"} {
			e.is(second(s.Search(e.ctx, store.Search{Owner: "ann", Words: words, Limit: 1})), store.ErrInvalid)
		}
	}},
	{name: "at most as many as wanted are found, the latest first", fn: func(e *env) {
		s := e.searcher()
		if s == nil {
			return
		}
		l := e.acquire("s")
		for i := range int64(40) {
			e.said(l, i*2, "ann", fmt.Sprint("bird ", i), "tweet")
		}
		list, err := s.Search(e.ctx, store.Search{Owner: "ann", Words: "bird", Limit: 3})
		e.ok(err)
		var at []int64
		for _, f := range list {
			at = append(at, f.Entry.Position)
		}
		e.equal(at, "[78 76 74]", "found")
		for _, limit := range []int{0, -1} {
			list, err := s.Search(e.ctx, store.Search{Owner: "ann", Words: "bird", Limit: limit})
			e.ok(err)
			e.equal(len(list), 0, "found")
		}
	}},
}

func withData(e store.Entry, data string) store.Entry {
	e.Data = []byte(data)
	return e
}
