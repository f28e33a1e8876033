package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing/iotest"
	"time"

	"clawbot/store"
)

func (e *env) sessions(prefix string, page int) []store.SessionInfo {
	e.Helper()
	var all []store.SessionInfo
	after := ""
	for {
		list, next, err := e.Archive().Sessions(e.ctx, prefix, after, page)
		e.ok(err)
		if len(list) > page {
			e.Fatalf("%d sessions on a page of %d", len(list), page)
		}
		all = append(all, list...)
		if next == "" {
			return all
		}
		after = next
	}
}

func names(list []store.SessionInfo) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.Session)
	}
	return out
}

var archiveTests = []test{
	{name: "sessions are listed the latest active first, by prefix and page", fn: func(e *env) {
		for _, s := range []string{"web:1", "tg:1", "web:2", "web:3", "webx", "WEB:1"} {
			e.put(s, s)
			time.Sleep(2 * time.Millisecond) // of times that the store's own clock tells apart
		}
		l := e.acquire("web:1")
		e.drain(l, 0)
		for page := 1; page <= 7; page++ {
			e.equal(names(e.sessions("", page)), "[web:1 WEB:1 webx web:3 web:2 tg:1]", "sessions")
			e.equal(names(e.sessions("web:", page)), "[web:1 web:3 web:2]", "sessions")
			e.equal(len(e.sessions("nothing", page)), 0, "sessions")
		}
	}},
	{name: "a session is described", fn: func(e *env) {
		e.put("s", "a", "b")
		e.accept(quiet("s", "q"))
		l := e.acquireAs("s", "me", hour)
		e.ok(second(l.Drain(e.ctx, 0, 1, 0)))
		e.ok(l.Compact(e.ctx, 1, summary("sum"), 0))
		info := e.sessions("s", 1)[0]
		if info.LastActive.IsZero() {
			e.Fatal("no time")
		}
		info.LastActive = time.Time{}
		e.equal(info, store.SessionInfo{Session: "s", Tail: 2, Generation: 1, Owner: "me", Waiting: 1}, "info")
		e.ok(l.HandOff(e.ctx, 0, false))
		e.equal(e.sessions("s", 1)[0].Owner, "", "owner")
	}},
	{name: "a malformed cursor or limit is refused", fn: func(e *env) {
		for _, after := range []string{"x", "/", "x/y"} {
			_, _, err := e.Archive().Sessions(e.ctx, "", after, 10)
			e.is(err, store.ErrInvalid)
		}
		_, _, err := e.Archive().Sessions(e.ctx, "", "", 0)
		e.is(err, store.ErrInvalid)
	}},
	{name: "entries are read without a lease, up to a limit", fn: func(e *env) {
		l := e.acquire("s")
		for i := range 10 {
			e.append(l, int64(i), note(fmt.Sprint("n", i)))
		}
		for _, c := range []struct {
			from  int64
			limit int
			want  string
		}{
			{0, 3, "[0:n0 1:n1 2:n2]"}, {8, 3, "[8:n8 9:n9]"}, {10, 3, "[]"}, {99, 3, "[]"},
			{-4, 1, "[0:n0]"}, {0, 0, "[]"}, {0, -1, "[]"},
		} {
			list, err := e.Archive().Read(e.ctx, "s", c.from, c.limit)
			e.ok(err)
			e.equal(ids(list), c.want, "entries")
		}
	}},
	{name: "reading a session that is not there says so", fn: func(e *env) {
		for _, s := range []string{"nothing", "", "a b"} {
			e.is(second(e.Archive().Read(e.ctx, s, 0, 1)), store.ErrNotFound)
		}
	}},
	{name: "Purge deletes the session whole and ends the lease", fn: func(e *env) {
		e.put("s", "a", "b", "c")
		e.put("other", "x")
		e.signal("s", "sig")
		l := e.acquire("s")
		e.ok(second(l.Drain(e.ctx, 0, 1, 0)))
		e.ok(l.Bury(e.ctx, []int64{1}, "poison"))
		e.ok(l.SetReply(e.ctx, store.Reply{Run: "r", Open: true}))
		lo := e.acquire("other")
		e.ok(lo.Bury(e.ctx, []int64{0}, "poison"))
		for range 2 {
			e.ok(e.Archive().Purge(e.ctx, l))
		}
		e.equal(names(e.sessions("", 10)), "[other]", "sessions")
		e.is(second(e.Archive().Read(e.ctx, "s", 0, 1)), store.ErrNotFound)
		dead, err := e.Archive().Dead(e.ctx, 10)
		e.ok(err)
		e.equal([]any{len(dead), dead[0].ID}, "[1 x]", "dead letters")
		e.is(second(l.Renew(e.ctx)), store.ErrFenced)
		e.equal(len(e.due()), 0, "due sessions")
		l = e.acquireAs("s", "b", hour)
		st := l.Start()
		st.Token = ""
		e.equal(st, store.Start{SummaryAt: -1}, "start")
		w := e.peek(l, 0)
		e.equal(len(w.Messages)+len(w.Signals), 0, "waiting")
	}},
}

var blobTests = []test{
	{name: "a blob is read as it was put", fn: func(e *env) {
		for _, size := range []int{0, 1, 1000, 1<<18 - 1, 1 << 18, 1<<18 + 1, 3 << 20} {
			data := bytes.Repeat([]byte{0, 1, 2, 250, byte(size)}, size/5+1)[:size]
			ref, err := e.Blobs().Put(e.ctx, iotest.HalfReader(bytes.NewReader(data)), int64(size))
			e.ok(err)
			r, err := e.Blobs().Open(e.ctx, ref)
			e.ok(err)
			got, err := io.ReadAll(r)
			e.ok(err)
			e.ok(r.Close())
			if !bytes.Equal(got, data) {
				e.Fatalf("%d bytes differ", size)
			}
		}
	}},
	{name: "the reference is by content", fn: func(e *env) {
		put := func(s string) string {
			ref, err := e.Blobs().Put(e.ctx, strings.NewReader(s), 100)
			e.ok(err)
			return ref
		}
		a := put("hello")
		e.equal(put("hello"), a, "reference of the same bytes")
		if put("hellp") == a {
			e.Fatal("same reference for other bytes")
		}
		r, err := e.Blobs().Open(e.ctx, a)
		e.ok(err)
		got, err := io.ReadAll(r)
		e.ok(err)
		e.ok(r.Close())
		e.equal(string(got), "hello", "content")
	}},
	{name: "more than max bytes is refused, also of a reader that never ends", fn: func(e *env) {
		e.is(second(e.Blobs().Put(e.ctx, strings.NewReader("hello"), 4)), store.ErrLimit)
		e.is(second(e.Blobs().Put(e.ctx, endless{}, 1<<20)), store.ErrLimit)
	}},
	{name: "a failing reader fails the Put", fn: func(e *env) {
		broken := errors.New("broken")
		e.is(second(e.Blobs().Put(e.ctx, io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), 100)), broken)
	}},
	{name: "an unknown reference is not found", fn: func(e *env) {
		for _, ref := range []string{"", "x", "../../etc/passwd", "sha256:00"} {
			e.is(second(e.Blobs().Open(e.ctx, ref)), store.ErrNotFound)
		}
	}},
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
