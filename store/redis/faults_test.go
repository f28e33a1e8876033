package redis_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawbot/internal/redistest"
	"clawbot/store"
	"clawbot/store/redis"
)

func message(session, id string) store.Event {
	return store.Event{ID: id, Session: session, Key: id, Data: []byte(id)}
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// conversation takes one message to its answer with a tool call and returns
// what was done, for comparison.
func conversation(t testing.TB, s store.Store, session string, before func(step string)) {
	t.Helper()
	step := func(name string) {
		if before != nil {
			before(name)
		}
	}
	ctx := t.Context()
	step("accept")
	acc := must(s.Accept(ctx, message(session, "m1")))(t)
	if acc.Duplicate && before == nil {
		t.Fatal("the first acceptance is a duplicate")
	}
	step("acquire")
	l := must(s.Acquire(ctx, session, "a", time.Hour))(t)
	step("drain")
	if got := must(l.Drain(ctx, 0, 0, 0))(t); len(got) != 1 || got[0].ID != "m1" {
		t.Fatalf("drained %v", got)
	}
	step("append")
	check(t, l.Append(ctx, 1, []store.Entry{{Kind: store.KindAssistant, ID: "a1", Opens: []string{"c1"}}}))
	step("intent")
	if must(l.Intent(ctx, "c1"))(t) {
		t.Fatal("the call is known to have begun before")
	}
	step("result")
	check(t, l.Append(ctx, 2, []store.Entry{{Kind: store.KindToolResult, ID: "r1", Closes: "c1"}}))
	step("reply")
	check(t, l.SetReply(ctx, store.Reply{Run: "r", Open: true, Data: []byte("1")}))
	step("answer")
	check(t, l.Append(ctx, 3, []store.Entry{{Kind: store.KindAssistant, ID: "a2"}}))
	step("compact")
	check(t, l.Compact(ctx, 4, store.Entry{Kind: store.KindSummary, ID: "s"}, 3))
	step("reply done")
	check(t, l.SetReply(ctx, store.Reply{Run: "r", Data: []byte("2")}))
	step("signal")
	must(s.Accept(ctx, store.Event{ID: "stop", Session: session, Lane: store.Signals}))(t)
	step("peek")
	if w := must(l.Peek(ctx, 1))(t); len(w.Signals)+len(w.Messages) != 0 {
		t.Fatalf("waiting: %v", w)
	}
	step("renew")
	must(l.Renew(ctx))(t)
	step("release")
	if !must(l.ReleaseIfEmpty(ctx))(t) {
		t.Fatal("not released")
	}
	step("reserve")
	key := store.CounterKey{Key: "k" + session, Limit: 10, Window: time.Hour}
	check(t, s.Counters().Reserve(ctx, "r"+session, 6, []store.CounterKey{key}))
	step("state")
	must(s.State().Put(ctx, session, []byte("x"), 0))(t)
	step("elect")
	term := must(s.Elect(ctx, session, "a", time.Hour))(t)
	step("put")
	check(t, term.Put(ctx, "k", []byte("v")))
	step("blob")
	must(s.Blobs().Put(ctx, strings.NewReader(strings.Repeat(session, 1000)), 1<<20))(t)
	step("end")
	list := must(s.Archive().Read(ctx, session, 0, 100))(t)
	var ids []string
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	if !slices.Equal(ids, []string{"m1", "a1", "r1", "a2", "s"}) {
		t.Fatalf("transcript: %q", ids)
	}
	if sum := must(s.Counters().Sum(ctx, "k"+session))(t); sum != 6 {
		t.Fatalf("sum %d", sum)
	}
	if due := must(s.Due(ctx, 100))(t); len(due) != 0 {
		t.Fatalf("due: %q", due)
	}
	l = must(s.Acquire(ctx, session, "b", time.Hour))(t)
	if st := l.Start(); st.Crashed || st.Attempts != 0 || st.Generation != 1 || string(st.Reply.Data) != "2" {
		t.Fatalf("start: %+v", st)
	}
	must(l.ReleaseIfEmpty(ctx))(t)
}

func TestScriptsThatRedisForgotAreSentAgain(t *testing.T) {
	s := redistest.Start(t)
	st := open(t, quietly(s.URL()))
	conversation(t, st, "s1", func(string) { command(t, s.Addr, "SCRIPT", "FLUSH") })
}

func TestScriptsThatAClusterForgotAreSentAgain(t *testing.T) {
	url := oneNodeCluster(t)
	st := open(t, quietly(url))
	conversation(t, st, "s1", func(string) { command(t, strings.TrimPrefix(url, "redis-cluster://"), "SCRIPT", "FLUSH") })
}

func TestALostAnswerChangesNothing(t *testing.T) {
	p := redistest.StartProxy(t, shared)
	st := open(t, quietly(p.URL()))
	for lost := 1; lost <= 3; lost++ {
		conversation(t, st, fmt.Sprint("s", lost), func(string) { p.DropReplies(lost) })
		if p.Dropping() > 0 {
			// The last call's answers may outnumber those that were to be lost.
			p.DropReplies(0)
		}
	}
}

func TestACutConnectionIsMadeAgain(t *testing.T) {
	p := redistest.StartProxy(t, shared)
	st := open(t, quietly(p.URL()))
	conversation(t, st, "s", func(string) { p.Cut() })
}

func TestAnAttemptThatComesLateChangesNothing(t *testing.T) {
	p := redistest.StartProxy(t, shared)
	cfg := quietly(shared.URL())
	direct := open(t, cfg)
	cfg.URL, cfg.Patience = p.URL(), time.Millisecond
	slow := open(t, cfg)
	ctx := t.Context()
	l := must(slow.Acquire(ctx, "s", "a", time.Hour))(t)
	term := must(slow.Elect(ctx, "t", "a", time.Hour))(t)

	// Each call is held up on its way, given up, and made again on another way.
	late := func(call func(ctx context.Context) error) {
		t.Helper()
		p.Silence()
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if err := call(short); err == nil {
			t.Fatal("a call came through a silent proxy")
		}
	}
	late(func(ctx context.Context) error { return l.SetReply(ctx, store.Reply{Run: "r", Data: []byte("old")}) })
	late(func(ctx context.Context) error { return term.Put(ctx, "k", []byte("old")) })
	late(func(ctx context.Context) error { _, err := slow.Acquire(ctx, "other", "a", time.Hour); return err })
	p.Speak()
	check(t, l.SetReply(ctx, store.Reply{Run: "r", Data: []byte("new")}))
	check(t, term.Put(ctx, "k", []byte("new")))
	// Whatever was held up has arrived when a later call through the proxy has.
	if got := must(term.Get(ctx, "k"))(t); string(got) != "new" {
		t.Errorf("term value %q", got)
	}
	if st := must(direct.Acquire(ctx, "s", "a", time.Hour))(t).Start(); string(st.Reply.Data) != "new" {
		t.Errorf("reply %q", st.Reply.Data)
	}
}

func TestNothingAcknowledgedIsLostWhenRedisIsKilled(t *testing.T) {
	s := redistest.Start(t, redistest.Durable()...)
	st := open(t, quietly(s.URL()))
	ctx := t.Context()
	type result struct {
		id  string
		err error
	}
	const senders, kills = 8, 4
	acked := make(chan result, 1<<16)
	stop := make(chan struct{})
	done := make(chan struct{})
	for sender := range senders {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("%d.%d", sender, i)
				_, err := st.Accept(ctx, message("s", id))
				acked <- result{id, err}
			}
		}()
	}
	known := map[string]bool{}
	// A kill falls among writes: some come in between each two.
	for range kills {
		for range 200 {
			if r := <-acked; r.err == nil {
				known[r.id] = true
			}
		}
		s.Kill()
		check(t, s.Restart())
	}
	close(stop)
	for range senders {
		<-done
	}
	close(acked)
	for r := range acked {
		if r.err == nil {
			known[r.id] = true
		}
	}
	l := must(st.Acquire(ctx, "s", "a", time.Hour))(t)
	there := map[string]int{}
	for _, e := range must(l.Drain(ctx, 0, 0, 0))(t) {
		there[e.ID]++
	}
	for id := range known {
		if there[id] != 1 {
			t.Errorf("event %s is there %d times", id, there[id])
		}
	}
	t.Logf("%d acknowledged events, %d kills", len(known), kills)
}

func TestALeaseOutlivesARestartOfRedis(t *testing.T) {
	s := redistest.Start(t, redistest.Durable()...)
	st := open(t, quietly(s.URL()))
	ctx := t.Context()
	l := must(st.Acquire(ctx, "s", "a", time.Hour))(t)
	s.Kill()
	check(t, s.Restart())
	check(t, l.Append(ctx, 0, []store.Entry{{Kind: store.KindAssistant, ID: "a"}}))
	if _, err := st.Acquire(ctx, "s", "b", time.Hour); err == nil {
		t.Error("another took the lease")
	}
}

func TestHintsComeAgainAfterRedisWasAway(t *testing.T) {
	s := redistest.Start(t)
	st := open(t, quietly(s.URL()))
	got := make(chan string, 1000)
	cancel := must(st.Bus().Subscribe("wake:*", func(topic string, data []byte) { got <- topic + "=" + string(data) }))(t)
	defer cancel()
	s.Kill()
	if err := st.Bus().Publish(t.Context(), "wake:a", nil); err == nil {
		t.Error("a hint was published without Redis")
	}
	check(t, s.Restart())
	for {
		if err := st.Bus().Publish(t.Context(), "wake:a", []byte("x")); err != nil {
			continue // the pool still has connections of before
		}
		select {
		case m := <-got:
			if m != "wake:a=x" {
				t.Errorf("got %s", m)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestHolder is a process of TestAHolderThatWasAsleepCanWriteNothing.
func TestHolder(t *testing.T) {
	url, prefix := os.Getenv("CLAWBOT_TEST_REDIS"), os.Getenv("CLAWBOT_TEST_PREFIX")
	if url == "" {
		return
	}
	st := must(redis.Open(t.Context(), redis.Config{URL: url, Prefix: prefix}))(t)
	l := must(st.Acquire(t.Context(), "s", "sleeper", 300*time.Millisecond))(t)
	fmt.Println("holding")
	for i := int64(0); ; i++ {
		if err := l.Append(t.Context(), i, []store.Entry{{Kind: store.KindNote, ID: fmt.Sprint("n", i)}}); err != nil {
			fmt.Println("fenced:", errors.Is(err, store.ErrFenced))
			return
		}
		if _, err := l.Renew(t.Context()); err != nil {
			fmt.Println("fenced:", errors.Is(err, store.ErrFenced))
			return
		}
	}
}

func TestAHolderThatWasAsleepCanWriteNothing(t *testing.T) {
	cfg := quietly(shared.URL())
	st := open(t, cfg)
	cmd := exec.Command(os.Args[0], "-test.run=^TestHolder$", "-test.v")
	cmd.Env = append(os.Environ(), "CLAWBOT_TEST_REDIS="+cfg.URL, "CLAWBOT_TEST_PREFIX="+cfg.Prefix)
	out := must(cmd.StdoutPipe())(t)
	check(t, cmd.Start())
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == text {
				return
			}
		}
		t.Fatalf("the holder ended without saying %q", text)
	}
	until("holding")
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	l := takeOver(t, st, "s")
	if !l.Start().Crashed {
		t.Error("the takeover is not counted as a crash")
	}
	tail := l.Start().Tail
	check(t, l.Append(t.Context(), tail, []store.Entry{{Kind: store.KindAssistant, ID: "mine"}}))
	check(t, cmd.Process.Signal(syscall.SIGCONT))
	until("fenced: true")
	list := must(st.Archive().Read(t.Context(), "s", tail, 10))(t)
	if len(list) != 1 || list[0].ID != "mine" {
		t.Errorf("behind the takeover stand %v", list)
	}
	check(t, cmd.Wait())
}

func takeOver(t testing.TB, st store.Store, session string) store.Lease {
	t.Helper()
	for {
		l, err := st.Acquire(t.Context(), session, "b", time.Hour)
		var held *store.HeldError
		if !errors.As(err, &held) {
			return must(l, err)(t)
		}
		time.Sleep(held.For)
	}
}

func TestTwoPrefixesAreApart(t *testing.T) {
	a, b := open(t, quietly(shared.URL())), open(t, quietly(shared.URL()))
	ctx := t.Context()
	conversation(t, a, "s", nil)
	if _, err := b.Archive().Read(ctx, "s", 0, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the other prefix has the session: %v", err)
	}
	must(a.Accept(ctx, message("s", "m2")))(t)
	if due := must(b.Due(ctx, 10))(t); len(due) != 0 {
		t.Errorf("due there: %q", due)
	}
	if v, err := b.State().Get(ctx, "s"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("state there: %v", v)
	}
	got := make(chan string, 10)
	defer must(b.Bus().Subscribe("*", func(topic string, _ []byte) { got <- topic }))(t)()
	check(t, a.Bus().Publish(ctx, "from-a", nil))
	check(t, b.Bus().Publish(ctx, "from-b", nil))
	if topic := <-got; topic != "from-b" {
		t.Errorf("heard %s", topic)
	}
	conversation(t, b, "s", nil)
}
