package storetest

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"clawbot/store"
)

var retentionTests = []test{
	{name: "dead letters are forgotten by the time of their burial", fn: func(e *env) {
		l := e.acquire("s")
		for _, session := range []string{"s", "other"} {
			if session != "s" {
				l = e.acquire(session)
			}
			for i := range 3 {
				acc := e.put(session, fmt.Sprint(session, i))
				e.ok(l.Bury(e.ctx, []int64{acc.Position}, "tried"))
			}
		}
		e.equal(e.forgetDead(hour), 0, "forgotten of before an hour ago")
		e.equal(len(e.deadLetters()), 6, "dead letters")
		e.equal(e.forgetDead(-hour), 6, "forgotten")
		e.equal(len(e.deadLetters()), 0, "dead letters")
		e.equal(e.forgetDead(-hour), 0, "forgotten again")
	}},
	{name: "old dead letters go and newer ones stay", hours: true, fn: func(e *env) {
		l := e.acquire("s")
		e.ok(l.Bury(e.ctx, []int64{e.put("s", "old").Position}, "tried"))
		time.Sleep(hour)
		e.ok(l.Bury(e.ctx, []int64{e.put("s", "new").Position}, "tried"))
		e.equal(e.forgetDead(hour/2), 1, "forgotten")
		left := e.deadLetters()
		e.equal(len(left), 1, "dead letters")
		e.equal(left[0].ID, "new", "the one that stays")
	}},
	{name: "blobs that nobody wants are forgotten, and others stay", fn: func(e *env) {
		var refs []string
		for i := range 5 {
			refs = append(refs, e.putBlob(strings.Repeat(fmt.Sprint(i), 300_000)))
		}
		e.equal(e.forgetBlobs(hour), 0, "forgotten of before an hour ago")
		e.equal(e.forgetBlobs(-hour, refs[1], refs[3]), 3, "forgotten")
		for i, ref := range refs {
			e.equal(e.hasBlob(ref), i == 1 || i == 3, fmt.Sprint("blob ", i, " is there"))
		}
		e.equal(e.putBlob(strings.Repeat("0", 300_000)), refs[0], "reference of the same bytes")
		e.equal(e.hasBlob(refs[0]), true, "a blob that was put again is there")
	}},
	{name: "a blob that is put while it is being forgotten stays", fn: func(e *env) {
		for range max(e.rounds/10, 10) {
			e.putBlob("hello")
			before := time.Now()
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := e.Retention().ForgetBlobs(e.ctx, before, func(string) bool { return false }); err != nil {
					e.Error(err)
				}
			})
			ref, err := e.Blobs().Put(e.ctx, strings.NewReader("hello"), 100)
			both.Wait()
			e.ok(err)
			e.equal(e.hasBlob(ref), true, "it is there")
		}
	}},
	{name: "one session is described as the list does", fn: func(e *env) {
		e.put("s", "a", "b")
		e.put("s2", "c")
		list, _, err := e.Archive().Sessions(e.ctx, "s", "", 10)
		e.ok(err)
		for _, want := range list {
			got, err := e.Archive().Session(e.ctx, want.Session)
			e.ok(err)
			e.equal(got, want, "session "+want.Session)
		}
		for _, id := range []string{"", "x", "s3", "a b"} {
			e.is(second(e.Archive().Session(e.ctx, id)), store.ErrNotFound)
		}
	}},
}

func (e *env) forgetDead(age time.Duration) int {
	e.Helper()
	n, err := e.Retention().ForgetDead(e.ctx, time.Now().Add(-age))
	e.ok(err)
	return n
}

func (e *env) forgetBlobs(age time.Duration, wanted ...string) int {
	e.Helper()
	n, err := e.Retention().ForgetBlobs(e.ctx, time.Now().Add(-age), func(ref string) bool {
		return strings.Contains(strings.Join(wanted, " "), ref)
	})
	e.ok(err)
	return n
}

func (e *env) deadLetters() []store.DeadLetter {
	e.Helper()
	list, err := e.Archive().Dead(e.ctx, 100)
	e.ok(err)
	return list
}

func (e *env) putBlob(content string) string {
	e.Helper()
	ref, err := e.Blobs().Put(e.ctx, strings.NewReader(content), 1<<20)
	e.ok(err)
	return ref
}

func (e *env) hasBlob(ref string) bool {
	r, err := e.Blobs().Open(e.ctx, ref)
	if err != nil {
		e.is(err, store.ErrNotFound)
		return false
	}
	_, err = io.Copy(io.Discard, r)
	e.ok(err)
	e.ok(r.Close())
	return true
}
