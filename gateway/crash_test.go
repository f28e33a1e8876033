package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
)

// world is a store and a chat that outlive the processes that use them.
type world struct {
	t     *testing.T
	store store.Store
	chat  *chat
	model *script
	tools toolset
	bots  []*bot
	queue Queue
}

func newWorld(t *testing.T, m *script, tools ...*agentcore.Tool) *world {
	return &world{t: t, store: newStore(t), chat: newChat("chat"), model: m, tools: tools}
}

// spawn starts one more replica.
func (w *world) spawn(p *process) (*bot, *mortalChat) {
	conn := connect(w.chat, p)
	b := start(w.t, Config{
		Store: &mortalStore{w.store, p}, Channels: []channels.Channel{conn},
		Model: w.model, Toolbox: w.tools, Queue: w.queue, Drain: -1, Owner: fmt.Sprintf("p%d", len(w.bots)+1),
	})
	w.bots = append(w.bots, b)
	<-conn.ready
	return b, conn
}

func TestAProcessThatDiesDuringATurnIsReplacedAndTheTurnAnsweredOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var world1 atomic.Int32
		slow := tool("slow", func(ctx context.Context) string { world1.Add(1); sleep(ctx, time.Minute); return "slept" })
		again := tool("again", func(ctx context.Context) string { return "idempotent" })
		again.Idempotent = true
		m := &script{steps: []step{{
			text: []string{"Let me see."},
			calls: []agentcore.ToolCall{
				{ID: "c1", Name: "slow", Arguments: []byte(`{}`)},
				{ID: "c2", Name: "again", Arguments: []byte(`{}`)},
			},
		}, say("All done.")}}
		w := newWorld(t, m, slow, again)
		p1 := &process{}
		_, conn := w.spawn(p1)
		if err := conn.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		p1.kill()
		b2, _ := w.spawn(&process{})
		time.Sleep(20 * time.Second)
		settled(t, b2)
		if n := world1.Load(); n != 1 {
			t.Errorf("the tool ran %d times", n)
		}
		want(t, "transcript", outline(t, w.store, sess), []string{
			"u work", "a Let me see.→slow→again", "t " + interruptedText, "t idempotent", "a All done.",
		})
		want(t, "posts", w.chat.texts(), []string{"Let me see.\n\nAll done."})
		valid(t, w.store, sess)
	})
}

func TestWorkThatKillsThreeProcessesIsGivenUpWithANotice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var current *process
		w.model = &script{otherwise: func(req *agentcore.Request) step {
			if !strings.Contains(lastUser(req), "poison") {
				return echo(req)
			}
			return step{wait: func(context.Context) error { current.kill(); return errDead }}
		}}
		for i := range 3 {
			current = &process{}
			_, conn := w.spawn(current)
			if i == 0 {
				if err := conn.accept(direct(sess, "1", "poison")); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(20 * time.Second)
			if !current.isDead() {
				t.Fatalf("process %d is alive", i+1)
			}
		}
		current = &process{}
		b, conn := w.spawn(current)
		time.Sleep(20 * time.Second)
		settled(t, b)
		if n := len(w.model.asked()); n != 3 {
			t.Errorf("the model was asked %d times, want 3", n)
		}
		if got := w.chat.texts(); len(got) != 1 || !strings.HasPrefix(got[0], "I gave up") {
			t.Errorf("posts: %q", got)
		}
		if err := conn.accept(direct(sess, "2", "hello")); err != nil {
			t.Fatal(err)
		}
		settled(t, b)
		if got := w.chat.texts(); got[len(got)-1] != "re: hello" {
			t.Errorf("posts: %q", got)
		}
		valid(t, w.store, sess)
	})
}

func TestAHolderThatLostItsLeaseWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &script{steps: []step{words(1000)}, otherwise: echo}
		w := newWorld(t, m)
		p1 := &process{}
		b1, conn := w.spawn(p1)
		if err := conn.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		// The process is cut off from the store, but goes on.
		p1.kill()
		time.Sleep(11 * time.Second)
		if b1.dispatch.busy() {
			t.Error("11 s after the last renewal the run still goes on")
		}
		b2, _ := w.spawn(&process{})
		time.Sleep(10 * time.Second)
		settled(t, b2)
		got := outline(t, w.store, sess)
		want(t, "transcript", got, []string{"u work", "a re: work"})
		tokens := map[string]bool{}
		for _, e := range entries(t, w.store, sess)[1:] {
			tokens[e.Token] = true
		}
		if len(tokens) != 1 {
			t.Errorf("written under %d leases", len(tokens))
		}
	})
}

// TestEveryCrashPoint kills the process at each of its calls to the store,
// before and after the call takes effect, and lets another one take over.
func TestEveryCrashPoint(t *testing.T) {
	for _, mode := range []string{ModeSteer, ModeFollowUp} {
		total := 0
		bubble(t, func(t *testing.T) { total = crashAt(t, mode, 0, false, false) })
		if total < 10 {
			t.Fatalf("the scenario makes only %d calls", total)
		}
		for n := 1; n <= total; n++ {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/after=%v", mode, n, after), func(t *testing.T) {
					bubble(t, func(t *testing.T) { crashAt(t, mode, n, after, false) })
				})
			}
			t.Run(fmt.Sprintf("%s/%d/lost", mode, n), func(t *testing.T) {
				bubble(t, func(t *testing.T) { crashAt(t, mode, n, true, true) })
			})
		}
	}
}

// crashAt plays: a message, a tool that must not run twice, a second message
// while it runs, answers. It returns how many calls the first process made.
func crashAt(t *testing.T, mode string, n int, after, loseOnly bool) int {
	var ran atomic.Int32
	once := tool("once", func(ctx context.Context) string { ran.Add(1); sleep(ctx, time.Second); return "ran" })
	m := &script{otherwise: func(req *agentcore.Request) step {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == agentcore.RoleUser && strings.Contains(last.Text(), "first") && len(req.Messages) == 1 {
			s := call("c1", "once", `{}`)
			s.text = []string{"Looking."}
			return s
		}
		return echo(req)
	}}
	w := newWorld(t, m, once)
	w.queue.Mode = mode
	p1 := &process{dieAt: n, after: after}
	if loseOnly {
		p1 = &process{lose: n}
	}
	_, conn1 := w.spawn(p1)
	var conn2 *mortalChat
	second := func() *mortalChat {
		if conn2 == nil {
			_, conn2 = w.spawn(&process{})
		}
		return conn2
	}
	deliver := func(in channels.Inbound) {
		for conn1.accept(in) != nil && second().accept(in) != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
	deliver(direct(sess, "1", "first"))
	time.Sleep(500 * time.Millisecond)
	deliver(direct(sess, "2", "second"))
	time.Sleep(5 * time.Second)
	second()
	time.Sleep(60 * time.Second)
	settled(t, w.bots[1])
	if !p1.isDead() {
		settled(t, w.bots[0])
	}
	valid(t, w.store, sess)
	if got := ran.Load(); got > 1 {
		t.Errorf("the tool ran %d times", got)
	}
	positions := map[string]int{}
	for _, line := range outline(t, w.store, sess) {
		if strings.HasPrefix(line, "u ") {
			positions[line]++
		}
	}
	if positions["u first"] != 1 || positions["u second"] != 1 {
		t.Errorf("messages in the transcript: %v", positions)
	}
	shown := strings.Join(w.chat.texts(), "\n")
	if !strings.Contains(shown, "re: second") {
		t.Errorf("the second message was not answered in the chat: %q", shown)
	}
	if finals := strings.Count(shown, "re: second"); finals > 2 {
		t.Errorf("the answer is shown %d times: %q", finals, shown)
	}
	info, err := w.bots[1].sessionInfo(t.Context(), sess)
	if err != nil || info.Owner != "" || info.Waiting != 0 {
		t.Errorf("at the end: %+v, %v", info, err)
	}
	if due, _ := w.store.Due(t.Context(), 10); slices.Contains(due, sess) {
		t.Error("the session is still due")
	}
	if t.Failed() {
		t.Logf("calls: %v\ntranscript: %q", p1.log, outline(t, w.store, sess))
	}
	t.Logf("calls: %v", p1.log)
	return p1.calls
}
