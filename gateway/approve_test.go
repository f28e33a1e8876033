package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
	"clawbot/tools"
)

// guarded is a toolbox whose tools a person must approve.
type guarded struct {
	toolset
	mu       sync.Mutex
	rule     string
	binding  string
	verdict  tools.Verdict
	show     string
	approved []string // bindings that calls ran with
}

func (g *guarded) Judge(_ context.Context, call agentcore.Call) (tools.Decision, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	show := g.show
	if show == "" {
		show = call.Name + " " + string(call.Arguments)
	}
	return tools.Decision{Verdict: g.verdict, Reason: "it is new", Show: show, Where: "workspace", Binding: g.binding, Rule: g.rule}, nil
}

func (g *guarded) ran() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.approved)
}

// newGuarded has one tool, act, which is not idempotent.
func newGuarded() *guarded {
	g := &guarded{binding: "b1"}
	act := tool("act", func(ctx context.Context) string {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.approved = append(g.approved, tools.Approved(ctx))
		return "acted"
	})
	act.Label = "Act"
	g.toolset = toolset{act}
	return g
}

// clickChat is a chat with buttons.
type clickChat struct{ *chat }

func (clickChat) ButtonLimit() (rows, perRow int) { return 8, 4 }

func (c *chat) last() post {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.posts[len(c.posts)-1]
}

// question waits until a question is asked and returns its id.
func question(t *testing.T, c *chat, n int) (id string) {
	t.Helper()
	for range 1000 {
		synctest.Wait()
		count := 0
		for _, text := range c.texts() {
			if _, rest, ok := strings.Cut(text, "`/approve "); ok && strings.HasPrefix(text, "🔐") {
				id, _, _ = strings.Cut(rest, "`")
				count++
			}
		}
		if count >= n {
			return id
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nobody was asked: %q", c.texts())
	return ""
}

func owned(cfg Config) Config {
	cfg.Access.Owners = append(cfg.Access.Owners, "chat:7")
	return cfg
}

func from(in channels.Inbound, sender string) channels.Inbound {
	in.Sender = channels.Sender{ID: sender, Name: "N" + sender}
	return in
}

func TestACallRunsWhenItsApprovalIsGiven(t *testing.T) {
	for name, decide := range map[string]func(id string) channels.Inbound{
		"by command":             func(id string) channels.Inbound { return direct(sess, "2", "/approve "+id) },
		"by command with a name": func(id string) channels.Inbound { return direct(sess, "2", " /Approve@bot  "+strings.ToUpper(id)) },
		"by a button": func(id string) channels.Inbound {
			in := direct(sess, "2", "approve:"+id)
			in.Kind = channels.Click
			return in
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, s, box := newChat("chat"), newStore(t), newGuarded()
				m := &script{steps: []step{call("c1", "act", `{"x":"a`+"```"+`b"}`), say("done")}}
				b := start(t, owned(Config{Store: s, Channels: []channels.Channel{clickChat{c}}, Model: m, Toolbox: box}))
				c.send(t, direct(sess, "1", "work"))
				id := question(t, c, 1)
				asked := c.last()
				if !strings.Contains(asked.text, "````\nact {\"x\":\"a```b\"}\n````") || !strings.Contains(asked.text, "it is new") || len(asked.out.Buttons) != 1 {
					t.Errorf("question: %q %v", asked.text, asked.out.Buttons)
				}
				if got := asked.out.Buttons[0][0].Data; got != "approve:"+id {
					t.Errorf("button: %q", got)
				}
				if len(box.ran()) > 0 {
					t.Fatal("it ran before")
				}
				c.send(t, decide(id))
				settled(t, b)
				want(t, "ran with", box.ran(), []string{"b1"})
				texts := c.texts()
				if !slices.ContainsFunc(texts, func(s string) bool { return strings.HasPrefix(s, "✅ **Approved by Ann:**") }) || !slices.Contains(texts, "done") {
					t.Errorf("posts: %q", texts)
				}
				if list, err := s.State().List(t.Context(), approvals); err != nil || len(list) > 0 {
					t.Errorf("left behind: %v %v", list, err)
				}
				valid(t, s, sess)
			})
		})
	}
}

func TestADeniedCallDoesNotRunAndTheModelIsToldByWhom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		m := &script{steps: []step{call("c1", "act", `{}`), say("then not")}}
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
		c.send(t, direct(sess, "1", "work"))
		c.send(t, direct(sess, "2", "/deny "+question(t, c, 1)))
		settled(t, b)
		if len(box.ran()) > 0 {
			t.Error("it ran")
		}
		last := m.asked()[1].Messages
		if result := last[len(last)-1]; !result.IsError || !strings.Contains(result.Text(), "Ann denied it") {
			t.Errorf("result: %q", result.Text())
		}
		want(t, "posts", c.texts(), []string{"⛔ **Denied by Ann:** `act {}`", "then not"})
		valid(t, s, sess)
	})
}

func TestWhoMayDecide(t *testing.T) {
	tests := map[string]struct {
		sender, says string
		may          bool
	}{
		"an owner, although they did not ask": {"7", "", true},
		"an approver":                         {"8", "", true},
		"the one who asked":                   {"5", "Only an owner or an approver", false},
		"an approver who asked":               {"9", "somebody else must decide", false},
		"anybody":                             {"6", "Only an owner or an approver", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, s, box := newChat("chat"), newStore(t), newGuarded()
				m := &script{steps: []step{call("c1", "act", `{}`), say("done")}}
				cfg := owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box})
				cfg.Access.Approvers = []string{"chat:8", "chat:9"}
				b := start(t, cfg)
				asker := "5"
				if test.sender == "9" {
					asker = "9"
				}
				c.send(t, from(direct(sess, "1", "work"), asker))
				id := question(t, c, 1)
				c.send(t, from(direct(sess, "2", "/approve "+id), test.sender))
				synctest.Wait()
				if ran := len(box.ran()) == 1; ran != test.may {
					t.Errorf("it ran: %v", ran)
				}
				if test.says != "" && !strings.Contains(c.last().text, test.says) {
					t.Errorf("said: %q", c.last().text)
				}
				if !test.may {
					c.send(t, direct(sess, "3", "/deny "+id))
				}
				settled(t, b)
				valid(t, s, sess)
			})
		})
	}
}

func TestWhatIsAllowedForGoodRunsUnaskedButOnlyThat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		box.rule = "exec/abc"
		m := &script{steps: []step{call("c1", "act", `{}`), call("c2", "act", `{}`), say("done"), call("c3", "act", `{}`), say("other")}}
		cfg := owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box})
		cfg.Access.Approvers = []string{"chat:8"}
		b := start(t, cfg)
		c.send(t, direct(sess, "1", "work"))
		id := question(t, c, 1)
		c.send(t, from(direct(sess, "2", "/approve "+id+" always"), "8"))
		synctest.Wait()
		if got := c.last().text; !strings.Contains(got, "Only an owner can allow") {
			t.Errorf("an approver: %q", got)
		}
		c.send(t, direct(sess, "3", "/approve "+id+" always"))
		settled(t, b)
		want(t, "ran", box.ran(), []string{"b1", "b1"})
		box.mu.Lock()
		box.rule, box.binding = "exec/def", "b2"
		box.mu.Unlock()
		c.send(t, direct(sess, "4", "another"))
		c.send(t, direct(sess, "5", "/deny "+question(t, c, 1)))
		settled(t, b)
		want(t, "ran", box.ran(), []string{"b1", "b1"})
	})
}

func TestWhatCanBecomeAnotherIsNotAllowedForGood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		m := &script{steps: []step{call("c1", "act", `{}`), say("done")}}
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
		c.send(t, direct(sess, "1", "work"))
		id := question(t, c, 1)
		c.send(t, direct(sess, "2", "/approve "+id+" always"))
		synctest.Wait()
		if got := c.last().text; !strings.Contains(got, "can't be allowed for good") || len(box.ran()) > 0 {
			t.Errorf("said %q", got)
		}
		c.send(t, direct(sess, "3", "/approve "+id))
		settled(t, b)
		want(t, "ran", box.ran(), []string{"b1"})
	})
}

func TestAnApprovalExpiresAndTheRunsTimeStandsStillMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		m := &script{steps: []step{call("c1", "act", `{}`), say("without")}}
		cfg := owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box})
		cfg.Loop.Timeout = time.Minute
		b := start(t, cfg)
		c.send(t, direct(sess, "1", "work"))
		id := question(t, c, 1)
		time.Sleep(approvalTime - time.Second)
		synctest.Wait()
		if got := len(m.asked()); got != 1 {
			t.Fatalf("the model was asked %d times", got)
		}
		time.Sleep(time.Second)
		settled(t, b)
		want(t, "posts", c.texts(), []string{"⌛ **Nobody approved it in time:** `act {}`", "without"})
		c.send(t, direct(sess, "2", "/approve "+id))
		synctest.Wait()
		if got := c.last().text; !strings.Contains(got, "Nothing waits for that decision") {
			t.Errorf("a late decision: %q", got)
		}
		if len(box.ran()) > 0 {
			t.Error("it ran")
		}
		valid(t, s, sess)
	})
}

func TestAWaitingRunGivesItsPlaceToOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		m := &script{steps: []step{call("c1", "act", `{}`)}, otherwise: echo}
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box, MaxRuns: 1}))
		c.send(t, direct(sess, "1", "work"))
		id := question(t, c, 1)
		c.send(t, direct("chat:2", "1", "hello"))
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.Contains(c.texts(), "re: hello") {
			t.Errorf("posts: %q", c.texts())
		}
		c.send(t, direct(sess, "2", "/approve "+id))
		settled(t, b)
		want(t, "ran", box.ran(), []string{"b1"})
		b.dispatch.mu.Lock()
		defer b.dispatch.mu.Unlock()
		if b.dispatch.running != 0 {
			t.Errorf("%d places are taken", b.dispatch.running)
		}
	})
}

func TestWhoWritesDuringAWaitIsToldWhyNothingHappensOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		m := &script{steps: []step{call("c1", "act", `{}`), say("both")}}
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
		c.send(t, direct(sess, "1", "work"))
		id := question(t, c, 1)
		c.send(t, direct(sess, "2", "and this"))
		c.send(t, direct(sess, "3", "and that"))
		time.Sleep(time.Second)
		synctest.Wait()
		texts := slices.DeleteFunc(c.texts(), func(s string) bool { return !strings.Contains(s, "when it is decided") })
		if len(texts) != 1 || !strings.Contains(texts[0], id) {
			t.Errorf("posts: %q", c.texts())
		}
		c.send(t, direct(sess, "4", "/approve "+id))
		settled(t, b)
		want(t, "what the model saw", users(m.asked()[1]), []string{"work", "and this", "and that"})
		valid(t, s, sess)
	})
}

func TestStopWithdrawsTheQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		m := &script{steps: []step{call("c1", "act", `{}`)}, otherwise: echo}
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
		c.send(t, direct(sess, "1", "work"))
		id := question(t, c, 1)
		c.send(t, direct(sess, "2", "/stop"))
		settled(t, b)
		c.send(t, direct(sess, "3", "/approve "+id))
		settled(t, b)
		c.send(t, direct(sess, "4", "hello"))
		settled(t, b)
		texts := c.texts()
		if texts[0] != "⌛ **Withdrawn:** `act {}`" || !slices.Contains(texts, stoppedText) || !slices.Contains(texts, "re: hello") || len(box.ran()) > 0 {
			t.Errorf("posts: %q", texts)
		}
		valid(t, s, sess)
	})
}

func TestParallelCallsWaitAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		two := step{calls: []agentcore.ToolCall{{ID: "c1", Name: "act", Arguments: []byte(`{"n":1}`)}, {ID: "c2", Name: "act", Arguments: []byte(`{"n":2}`)}}}
		m := &script{steps: []step{two, say("done")}}
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
		c.send(t, direct(sess, "1", "work"))
		question(t, c, 2)
		for i, text := range c.texts() {
			_, rest, _ := strings.Cut(text, "`/approve ")
			id, _, _ := strings.Cut(rest, "`")
			c.send(t, direct(sess, "d"+id, map[int]string{0: "/approve ", 1: "/deny "}[i]+id))
		}
		settled(t, b)
		if got := box.ran(); len(got) != 1 {
			t.Errorf("ran %d times", len(got))
		}
		valid(t, s, sess)
	})
}

func TestStrangersMayHaveThreeQuestionsOpenEach(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		m := &script{otherwise: func(req *agentcore.Request) step {
			if req.Messages[len(req.Messages)-1].Role == agentcore.RoleUser {
				return call("c1", "act", `{}`)
			}
			return say("ended")
		}}
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
		for _, n := range []string{"1", "2", "3", "4"} {
			c.send(t, from(direct("chat:s"+n, "1", "work"), "5"))
			time.Sleep(time.Second)
		}
		c.send(t, from(direct("chat:other", "1", "work"), "6"))
		question(t, c, 4)
		synctest.Wait()
		texts := c.texts()
		if n := len(slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return !strings.HasPrefix(s, "🔐") })); n != 4 || !slices.Contains(texts, "ended") {
			t.Errorf("posts: %q", texts)
		}
		for _, n := range []string{"s1", "s2", "s3", "other"} {
			c.send(t, direct("chat:"+n, "stop", "/stop"))
		}
		settled(t, b)
	})
}

func TestAnApprovalSurvivesARestart(t *testing.T) {
	for name, late := range map[string]bool{"decided after it": false, "decided while nobody waits": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, s, box := newChat("chat"), newStore(t), newGuarded()
				m := &script{steps: []step{call("c1", "act", `{}`), say("done")}}
				first := connect(c, &process{})
				b1 := start(t, owned(Config{Store: s, Channels: []channels.Channel{first}, Model: m, Toolbox: box}))
				if err := first.accept(direct(sess, "1", "work")); err != nil {
					t.Fatal(err)
				}
				id := question(t, c, 1)
				began := time.Now()
				if err := b1.stop(); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("stopping took %v although only a person was waited for", took)
				}
				if late { // another replica takes the decision in, and dies before it acts on it
					sig, err := encode(signal{V: recordVersion, ID: "s", Kind: signalDecide, Channel: "chat", Sender: channels.Sender{ID: "7", Name: "Ann"}, Approval: id, Decision: decisionApprove})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := s.Accept(t.Context(), storeSignal(sig)); err != nil {
						t.Fatal(err)
					}
				}
				second := connect(c, &process{})
				b2 := start(t, owned(Config{Store: s, Channels: []channels.Channel{second}, Model: m, Toolbox: box}))
				if !late {
					time.Sleep(10 * time.Second)
					if err := second.accept(direct(sess, "2", "/approve "+id)); err != nil {
						t.Fatal(err)
					}
				}
				settled(t, b2)
				want(t, "ran", box.ran(), []string{"b1"})
				texts := c.texts()
				if len(texts) != 2 || texts[1] != "done" {
					t.Errorf("posts: %q", texts)
				}
				valid(t, s, sess)
			})
		})
	}
}

func TestADecisionReachesTheReplicaThatWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		m := &script{steps: []step{call("c1", "act", `{}`), say("done")}}
		one, two := connect(c, &process{}), connect(c, &process{})
		b1 := start(t, owned(Config{Store: s, Channels: []channels.Channel{one}, Model: m, Toolbox: box}))
		b2 := start(t, owned(Config{Store: s, Channels: []channels.Channel{two}, Model: m, Toolbox: box}))
		if err := one.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		id := question(t, c, 1)
		at := time.Now()
		if err := two.accept(direct("chat:elsewhere", "2", "/approve "+id)); err != nil {
			t.Fatal(err)
		}
		settled(t, b1, b2)
		want(t, "ran", box.ran(), []string{"b1"})
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		valid(t, s, sess)
	})
}

func TestAnApprovalIsOfWhatWasShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		box.show = strings.Repeat("x", maxShown+1)
		m := &script{steps: []step{call("c1", "act", `{}`), say("smaller")}}
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
		c.send(t, direct(sess, "1", "work"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"smaller"})
		if len(box.ran()) > 0 {
			t.Error("it ran")
		}
	})
}

func storeSignal(data []byte) store.Event {
	return store.Event{ID: "late", Session: sess, Lane: store.Signals, Data: data}
}
