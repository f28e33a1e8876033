package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"clawbot/store"
)

// Benchmark measures what lies on a message's way. open is called once for
// each; Benchmark closes what it returns.
func Benchmark(b *testing.B, open func(b *testing.B) store.Store) {
	for _, bench := range []struct {
		name string
		fn   func(b *testing.B, s store.Store)
	}{
		{"accept", func(b *testing.B, s store.Store) { benchAccept(b, s, 1) }},
		{"accept 64 at once", func(b *testing.B, s store.Store) { benchAccept(b, s, 64) }},
		{"drain 1", benchDrain}, {"append", benchAppend}, {"acquire and release", benchAcquire},
		{"load 1000", benchLoad}, {"set reply", benchReply}, {"renew", benchRenew},
		{"accept to drained", benchMessage},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := open(b)
			b.ReportAllocs()
			bench.fn(b, s)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

var payload = make([]byte, 500)

func benchAccept(b *testing.B, s store.Store, atOnce int) {
	var n atomic.Int64
	b.SetParallelism(atOnce)
	accept := func() {
		i := n.Add(1)
		ev := store.Event{ID: fmt.Sprint("telegram:4711:u:", i), Session: fmt.Sprint("telegram:4711:", i%100), Data: payload}
		if _, err := s.Accept(b.Context(), ev); err != nil {
			b.Fatal(err)
		}
	}
	if atOnce == 1 {
		for b.Loop() {
			accept()
		}
		return
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			accept()
		}
	})
}

func benchLease(b *testing.B, s store.Store) store.Lease {
	b.Helper()
	l, err := s.Acquire(b.Context(), "telegram:4711:1", "bench", hour)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func benchDrain(b *testing.B, s store.Store) {
	l := benchLease(b, s)
	for i := int64(0); b.Loop(); i++ {
		b.StopTimer()
		if _, err := s.Accept(b.Context(), store.Event{ID: fmt.Sprint(i), Session: l.Session(), Data: payload}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := l.Drain(b.Context(), i, 0, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func benchAppend(b *testing.B, s store.Store) {
	l := benchLease(b, s)
	for i := int64(0); b.Loop(); i++ {
		if err := l.Append(b.Context(), i, []store.Entry{{Kind: store.KindAssistant, ID: fmt.Sprint(i), Data: payload}}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchAcquire(b *testing.B, s store.Store) {
	for b.Loop() {
		if _, err := benchLease(b, s).ReleaseIfEmpty(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchLoad(b *testing.B, s store.Store) {
	l := benchLease(b, s)
	list := make([]store.Entry, 1000)
	for i := range list {
		list[i] = store.Entry{Kind: store.KindAssistant, ID: fmt.Sprint(i), Data: payload}
	}
	if err := l.Append(b.Context(), 0, list); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := l.Load(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
	}
}

func benchReply(b *testing.B, s store.Store) {
	l := benchLease(b, s)
	for b.Loop() {
		if err := l.SetReply(b.Context(), store.Reply{Run: "r", Open: true, Data: payload[:200]}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchRenew(b *testing.B, s store.Store) {
	l := benchLease(b, s)
	for b.Loop() {
		if _, err := l.Renew(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// benchMessage is the store's part between a message's delivery and the model.
func benchMessage(b *testing.B, s store.Store) {
	tail := int64(0)
	for b.Loop() {
		ev := store.Event{ID: fmt.Sprint(tail), Session: "telegram:4711:1", Data: payload}
		if _, err := s.Accept(b.Context(), ev); err != nil {
			b.Fatal(err)
		}
		l := benchLease(b, s)
		list, err := l.Drain(b.Context(), tail, 0, 0)
		if err != nil {
			b.Fatal(err)
		}
		tail += int64(len(list))
	}
}
