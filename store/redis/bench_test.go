package redis_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"clawbot/internal/redistest"
	"clawbot/store"
	"clawbot/store/redis"
)

// benchmarked opens a store on a server of its own that writes when told to.
func benchmarked(b *testing.B, fsync string) (*redistest.Server, *redis.Store) {
	b.Helper()
	s := redistest.Start(b, "--appendonly", "yes", "--appendfsync", fsync)
	st := must(redis.Open(context.Background(), redis.Config{URL: s.URL(), Prefix: "bench", Logger: slog.New(slog.DiscardHandler)}))(b)
	b.Cleanup(func() { _ = st.Close() })
	return s, st
}

// measure reports the 50th and 99th percentile of what call takes.
func measure(b *testing.B, call func(i int)) {
	b.Helper()
	b.ReportAllocs()
	var times []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		call(i)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	at := func(p int) float64 { return float64(times[(len(times)-1)*p/100].Microseconds()) }
	b.ReportMetric(at(50), "p50-µs")
	b.ReportMetric(at(99), "p99-µs")
}

func modes(b *testing.B, run func(b *testing.B, st *redis.Store)) {
	for _, fsync := range []string{"everysec", "always"} {
		b.Run(fsync, func(b *testing.B) {
			_, st := benchmarked(b, fsync)
			run(b, st)
		})
	}
}

var body = []byte(strings.Repeat("x", 500))

func BenchmarkAccept(b *testing.B) {
	modes(b, func(b *testing.B, st *redis.Store) {
		measure(b, func(i int) {
			ev := message("s"+strconv.Itoa(i%1000), strconv.Itoa(i))
			ev.Data = body
			must(st.Accept(b.Context(), ev))(b)
		})
	})
}

func BenchmarkAppend(b *testing.B) {
	modes(b, func(b *testing.B, st *redis.Store) {
		l := must(st.Acquire(b.Context(), "s", "a", time.Hour))(b)
		measure(b, func(i int) {
			check(b, l.Append(b.Context(), int64(i), []store.Entry{{Kind: store.KindAssistant, ID: strconv.Itoa(i), Data: body}}))
		})
	})
}

// BenchmarkDrain moves one message; its acceptance is not measured.
func BenchmarkDrain(b *testing.B) {
	modes(b, func(b *testing.B, st *redis.Store) {
		l := must(st.Acquire(b.Context(), "s", "a", time.Hour))(b)
		var times []time.Duration
		for i := 0; b.Loop(); i++ {
			ev := message("s", strconv.Itoa(i))
			ev.Data = body
			must(st.Accept(b.Context(), ev))(b)
			began := time.Now()
			must(l.Drain(b.Context(), int64(i), 0, 0))(b)
			times = append(times, time.Since(began))
		}
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(times[(len(times)-1)*99/100].Microseconds()), "p99-µs")
	})
}

func BenchmarkAcquireAndRelease(b *testing.B) {
	modes(b, func(b *testing.B, st *redis.Store) {
		measure(b, func(i int) {
			l := must(st.Acquire(b.Context(), "s"+strconv.Itoa(i%1000), "a", time.Hour))(b)
			must(l.ReleaseIfEmpty(b.Context()))(b)
		})
	})
}

// BenchmarkDue asks what is due while nothing is, as an idle replica does once
// a second.
func BenchmarkDue(b *testing.B) {
	_, st := benchmarked(b, "everysec")
	measure(b, func(int) { must(st.Due(b.Context(), 100))(b) })
}

// turn takes one message to its answer, with a tool call.
func turn(b testing.TB, st *redis.Store, i int) {
	b.Helper()
	ctx := b.Context()
	ev := message("s", fmt.Sprint("m", i))
	ev.Data = body
	must(st.Accept(ctx, ev))(b)
	l := must(st.Acquire(ctx, "s", "a", time.Hour))(b)
	at := l.Start().Tail
	must(l.Drain(ctx, at, 0, 0))(b)
	call := fmt.Sprint("c", i)
	check(b, l.Append(ctx, at+1, []store.Entry{{Kind: store.KindAssistant, ID: fmt.Sprint("a", i), Opens: []string{call}, Data: body}}))
	must(l.Intent(ctx, call))(b)
	check(b, l.Append(ctx, at+2, []store.Entry{{Kind: store.KindToolResult, ID: fmt.Sprint("t", i), Closes: call, Data: body}}))
	check(b, l.SetReply(ctx, store.Reply{Run: "r", Open: true, Data: body[:200]}))
	check(b, l.Append(ctx, at+3, []store.Entry{{Kind: store.KindAssistant, ID: fmt.Sprint("b", i), Data: body}}))
	check(b, l.SetReply(ctx, store.Reply{Run: "r", Data: body[:200]}))
	must(l.ReleaseIfEmpty(ctx))(b)
}

// BenchmarkTurnAtLength is a turn in a transcript of so many turns, with what it
// costs in bytes to and from Redis.
func BenchmarkTurnAtLength(b *testing.B) {
	for _, length := range []int{10, 1000} {
		b.Run(strconv.Itoa(length), func(b *testing.B) {
			s, st := benchmarked(b, "everysec")
			for i := range length {
				turn(b, st, i)
			}
			in, out := traffic(b, s)
			n := 0
			measure(b, func(i int) {
				turn(b, st, length+i)
				n++
			})
			in2, out2 := traffic(b, s)
			b.ReportMetric(float64(in2-in)/float64(n), "B-sent/op")
			b.ReportMetric(float64(out2-out)/float64(n), "B-received/op")
			used := command(b, s.Addr, "MEMORY", "USAGE", key(b, s, "*/log"), "SAMPLES", 0).(int64)
			b.ReportMetric(float64(used)/float64(4*(length+n)), "B-memory/entry")
		})
	}
}

// TestATurnCostsAsManyBytesInALongConversationAsInAShortOne counts what goes to
// Redis and comes back.
func TestATurnCostsAsManyBytesInALongConversationAsInAShortOne(t *testing.T) {
	s := redistest.Start(t)
	st := open(t, quietly(s.URL()))
	done := 0
	cost := func(length int) (in, out int64) {
		for ; done < length; done++ {
			turn(t, st, done)
		}
		in, out = traffic(t, s)
		for range 20 {
			turn(t, st, done)
			done++
		}
		in2, out2 := traffic(t, s)
		return in2 - in, out2 - out
	}
	in, out := cost(10)
	in2, out2 := cost(500)
	// Positions have a digit or two more.
	if in2 > in+in/50 || out2 > out+out/50 {
		t.Errorf("20 turns sent %d bytes and received %d, after 500 turns %d and %d", in, out, in2, out2)
	}
}

func key(b *testing.B, s *redistest.Server, pattern string) string {
	b.Helper()
	return command(b, s.Addr, "KEYS", pattern).([]any)[0].(string)
}

// traffic is what the server has received and sent.
func traffic(b testing.TB, s *redistest.Server) (in, out int64) {
	b.Helper()
	for line := range strings.Lines(command(b, s.Addr, "INFO", "stats").(string)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "total_net_input_bytes":
			in = n
		case "total_net_output_bytes":
			out = n
		}
	}
	return in, out
}
