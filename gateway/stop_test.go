package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
)

// words is a slow stream of n words, one each 100 ms.
func words(n int) step {
	s := step{every: 100 * time.Millisecond}
	for range n {
		s.text = append(s.text, "word ")
	}
	return s
}

func TestStopMidStreamKeepsWhatWasSaidAndTheNextMessageWorks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{words(100)}, otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct(sess, "1", "go on"))
		time.Sleep(2050 * time.Millisecond)
		stopped := time.Now()
		c.send(t, direct(sess, "2", "/stop"))
		settled(t, b)
		if took := time.Since(stopped); took > 2*time.Second {
			t.Errorf("stopping took %v", took)
		}
		text := strings.Repeat("word ", 20) + "\n\n" + stoppedText
		want(t, "posts", c.texts(), []string{text})
		c.send(t, direct(sess, "3", "hello"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{text, "re: hello"})
		want(t, "transcript", outline(t, s, sess), []string{
			"u go on", "a " + strings.TrimSpace(strings.Repeat("word ", 20)), "n " + stoppedText, "u hello", "a re: hello",
		})
		valid(t, s, sess)
	})
}

func TestStopDuringAToolClosesItsCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{call("c1", "slow", `{}`)}, otherwise: echo}
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, time.Hour); return "woken" })
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{slow}})
		c.send(t, direct(sess, "1", "work"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "2", "🛑 /stop@bot"))
		settled(t, b)
		c.send(t, direct(sess, "3", "hello"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{stoppedText, "re: hello"})
		valid(t, s, sess)
	})
}

func TestMessagesSentBeforeAStopAreCoveredByItAndLaterOnesRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{words(100)}, otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Queue: Queue{Mode: ModeFollowUp}})
		c.send(t, direct(sess, "1", "first"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "2", "before"))
		c.send(t, direct(sess, "3", "/stop"))
		c.send(t, direct(sess, "4", "after"))
		settled(t, b)
		got := outline(t, s, sess)
		want(t, "transcript", got[2:], []string{"u before", "n " + stoppedText, "u after", "a re: after"})
		if n := len(m.asked()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		valid(t, s, sess)
	})
}

func TestStopWithNothingToStopSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct(sess, "1", "/stop"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{idleText})
		if len(entries(t, s, sess)) != 0 {
			t.Error("an idle stop left something in the transcript")
		}
	})
}

func TestManyStopsInARowAreEachAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		for i := range 10 {
			c.send(t, direct(sess, string(rune('a'+i)), "/stop"))
		}
		at := time.Now()
		c.send(t, direct(sess, "z", "hello"))
		settled(t, b)
		if took := time.Since(at); took > time.Second {
			t.Errorf("the message after them took %v", took)
		}
		if got := c.texts(); len(got) != 11 || got[10] != "re: hello" {
			t.Errorf("posts: %q", got)
		}
	})
}

func TestAModeratorMayStopARunAlthoughTheyMayNotSpeak(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{words(600)}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Access: Access{
			GroupPolicy: groupAllowlist, Channels: map[string]ChannelAccess{"chat": {AllowFrom: []string{"7"}}},
		}})
		c.send(t, inRoom("1", "7", "go on", true))
		time.Sleep(time.Second)
		stranger := inRoom("2", "8", "/stop", true)
		c.send(t, stranger)
		time.Sleep(time.Second)
		if !b.dispatch.busy() {
			t.Fatal("a stranger stopped the run")
		}
		moderator := inRoom("3", "9", "/stop", true)
		moderator.Sender.Roles = []string{"moderator"}
		c.send(t, moderator)
		time.Sleep(2 * time.Second)
		if b.dispatch.busy() {
			t.Error("a moderator could not stop the run")
		}
	})
}

func TestNewBeginsAnEmptyConversation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		for i, text := range []string{"one", "/new", "two"} {
			c.send(t, direct(sess, string(rune('a'+i)), text))
			settled(t, b)
		}
		want(t, "posts", c.texts(), []string{"re: one", resetText, "re: two"})
		reqs := m.asked()
		want(t, "the model's view after /new", users(reqs[len(reqs)-1]), []string{"two"})
		valid(t, s, sess)
		// A process that has nothing cached sees the same.
		c2 := newChat("chat")
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		b2 := start(t, Config{Store: s, Channels: []channels.Channel{c2}, Model: m})
		c2.send(t, direct(sess, "z", "three"))
		settled(t, b2)
		reqs = m.asked()
		want(t, "the model's view after a restart", users(reqs[len(reqs)-1]), []string{"two", "three"})
	})
}

func TestNewDuringARunStopsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{words(100)}, otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct(sess, "1", "go on"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "2", "/reset"))
		c.send(t, direct(sess, "3", "hello"))
		settled(t, b)
		reqs := m.asked()
		want(t, "the model's view after /new", users(reqs[len(reqs)-1]), []string{"hello"})
		valid(t, s, sess)
	})
}

func TestStopWorksWhileEverySlotIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{words(600)}, otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, MaxRuns: 1})
		c.send(t, direct("chat:busy", "1", "go on"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "1", "waits"))
		c.send(t, direct(sess, "2", "/stop"))
		time.Sleep(time.Second)
		want(t, "transcript", outline(t, s, sess), []string{"u waits", "n " + stoppedText})
		settled(t, b)
		if n := len(m.asked()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

func TestAStopWhoseHintWasLostIsFoundByTheRenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{words(600)}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct(sess, "1", "go on"))
		time.Sleep(time.Second)
		data, err := encode(signal{V: recordVersion, ID: newID(), Kind: signalStop, Channel: "chat", Target: direct(sess, "", "").Target})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Accept(t.Context(), store.Event{ID: "stop", Session: sess, Lane: store.Signals, Data: data}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5100 * time.Millisecond)
		got := outline(t, s, sess)
		if last := got[len(got)-1]; last != "n "+stoppedText {
			t.Errorf("5 s later the transcript ends in %q", last)
		}
		settled(t, b)
	})
}

// What a process hears of what another one has accepted.
const (
	hearsAtOnce   = "everything at once"
	hearsAll      = "everything"
	hearsMessages = "messages"
	hearsNothing  = "nothing"
)

// TestAStopEndsOnlyWhatWasSentBeforeIt lets a stop and a message after it be
// accepted right before each of the calls that the process makes to the store,
// so that the message may be taken up before the stop is known.
func TestAStopEndsOnlyWhatWasSentBeforeIt(t *testing.T) {
	for _, command := range []string{"/stop", "/new"} {
		for _, hears := range []string{hearsAtOnce, hearsAll, hearsMessages, hearsNothing} {
			total := 0
			bubble(t, func(t *testing.T) { total = stopBetween(t, command, 0, hears) })
			if total < 8 {
				t.Fatalf("the scenario makes only %d calls", total)
			}
			for n := 2; n <= total+1; n++ {
				t.Run(fmt.Sprintf("%s/hears %s/%d", command[1:], hears, n), func(t *testing.T) {
					bubble(t, func(t *testing.T) { stopBetween(t, command, n, hears) })
				})
			}
		}
	}
}

// stopBetween plays: a message with a tool call, and before the nth call to the
// store a command and a message after it, both accepted by another process. It
// returns how many calls were made.
func stopBetween(t *testing.T, command string, n int, hears string) int {
	once := tool("once", func(ctx context.Context) string { sleep(ctx, time.Second); return "ran" })
	m := &script{otherwise: func(req *agentcore.Request) step {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Role == agentcore.RoleUser && last.Text() == "first":
			return call("c1", "once", `{}`)
		case last.Role == agentcore.RoleUser && last.Text() == "second":
			return echoAfter(6 * time.Second)(req) // longer than between two renewals
		}
		return echo(req)
	}}
	w := newWorld(t, m, once)
	p := &process{}
	b1, conn := w.spawn(p)
	b2, otherConn := w.spawn(&process{mutes: func(h hint) bool {
		return hears == hearsNothing || hears == hearsMessages && h.lane == store.Signals
	}})
	time.Sleep(100 * time.Millisecond) // their first sweeps find nothing
	interrupt := func() {
		for i, text := range []string{command, "second"} {
			if err := otherConn.accept(direct(sess, fmt.Sprint("x", i), text)); err != nil {
				t.Errorf("accept %q: %v", text, err)
			}
		}
		if hears == hearsAtOnce {
			time.Sleep(time.Millisecond)
		}
	}
	var once1 sync.Once
	p.before = func(call int) {
		if call == n {
			once1.Do(interrupt)
		}
	}
	if err := conn.accept(direct(sess, "1", "first")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Second)
	settled(t, b1, b2)
	calls := p.count()
	if n > calls {
		interrupt()
		time.Sleep(30 * time.Second)
		settled(t, b1, b2)
	}
	valid(t, w.store, sess)
	if n == 0 {
		return calls
	}
	shown := strings.Join(w.chat.texts(), "\n")
	if !strings.Contains(shown, "re: second") {
		t.Errorf("the message after the command was not answered: %q", shown)
	}
	said := map[string]string{"/stop": stoppedText, "/new": resetText}[command]
	if !strings.Contains(shown, said) && !strings.Contains(shown, idleText) {
		t.Errorf("the command was not confirmed: %q", shown)
	}
	if err := conn.accept(direct(sess, "2", "third")); err != nil {
		t.Fatal(err)
	}
	settled(t, b1, b2)
	seen := users(m.asked()[len(m.asked())-1])
	if slices.Contains(seen, "first") == (command == "/new") || !slices.Contains(seen, "second") {
		t.Errorf("the model saw at the end: %q", seen)
	}
	if t.Failed() {
		t.Logf("calls: %v\ntranscript: %q", p.log, outline(t, w.store, sess))
	}
	return calls
}
