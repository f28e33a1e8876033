package gateway

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/gateway/budget"
	"clawbot/store"
)

// spender is a bot whose model takes a dollar for a thousand tokens of an
// answer, and at most a thousand for one.
func spender(t *testing.T, s store.Store, c *chat, l budget.Limits, model *script, change func(*Config)) (*bot, *budget.Budget) {
	t.Helper()
	b, err := budget.New(budget.Config{Store: s, Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	priced := named{model, agentcore.ModelRef{Provider: "a", ID: "one"}}
	cfg := Config{
		Store: s, Channels: []channels.Channel{c}, Budget: b, Model: b.Model(thousandth{withModel{priced, priced.ref}}),
		Agent: Agent{MaxTokens: 1000}, Access: Access{DMPolicy: dmOpen, GroupPolicy: groupOpen, Owners: []string{"chat:7"}},
	}
	if change != nil {
		change(&cfg)
	}
	return start(t, cfg), b
}

type thousandth struct{ withModel }

func (m thousandth) Info() agentcore.ModelInfo {
	info := m.withModel.Info()
	info.Price = &agentcore.Price{Output: 1000}
	return info
}

// Stream cuts answers at their limit, as vendors do.
func (m thousandth) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		for ev, err := range m.withModel.Stream(ctx, req) {
			if ev.Type == agentcore.StreamDone && ev.Usage.Output > req.MaxTokens {
				ev.Stop, ev.Usage.Output = agentcore.StopLength, req.MaxTokens
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// costing answers with the text and takes so many tokens.
func costing(text string, tokens int64) step {
	st := say(text)
	st.usage = agentcore.Usage{Output: tokens}
	return st
}

// by is a message of somebody else in the same conversation.
func by(in channels.Inbound, id, name string) channels.Inbound {
	in.Sender = channels.Sender{ID: id, Name: name}
	return in
}

// rows are what was spent, per person.
func rows(t *testing.T, b *budget.Budget) string {
	t.Helper()
	list, err := b.Spend(t.Context(), time.Now(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprintf("%s %s %d=%s", r.Session, r.User, r.Calls, budget.Dollars(r.Usage.Cost)))
	}
	return strings.Join(out, ", ")
}

// wrote reports whether a post holds all texts.
func wrote(c *chat, texts ...string) bool {
	for _, post := range c.texts() {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(post, text)
		}
		if all {
			return true
		}
	}
	return false
}

func TestWhoSteersARoomsRunPaysForWhatFollows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		model := &script{}
		wait := make(chan struct{})
		model.steps = []step{call("1", "wait", `{}`), costing("both are done", 200)}
		model.steps[0].usage = agentcore.Usage{Output: 100}
		b, money := spender(t, s, c, budget.Limits{}, model, func(cfg *Config) {
			cfg.Toolbox = toolset{tool("wait", func(context.Context) string { <-wait; return "waited" })}
			cfg.Queue.SteerBy = steerAnyone
		})
		room := direct("room", "1", "begin")
		room.Target.Direct = false
		c.send(t, room)
		time.Sleep(time.Second)
		next := by(room, "8", "Ben")
		next.EventID, next.MessageID, next.Text = "room:2", "2", "and this"
		c.send(t, next)
		time.Sleep(time.Second)
		close(wait)
		settled(t, b)
		if got := rows(t, money); got != "room chat:7 1=$0.10, room chat:8 1=$0.20" {
			t.Errorf("who paid: %s", got)
		}
	})
}

func TestEverySummaryCountsAndTheCapHoldsForIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		model := &script{otherwise: func(req *agentcore.Request) step { return costing("a long answer "+strings.Repeat("x", 500), 300) }}
		b, money := spender(t, s, c, budget.Limits{DailyUSD: 22}, model, func(cfg *Config) { cfg.Compaction = Compaction{Off: true} })
		for i := range 6 {
			c.send(t, direct(sess, fmt.Sprint(i), "tell me more "+strings.Repeat("y", 500)))
			settled(t, b)
		}
		c.send(t, direct(sess, "c1", "/compact"))
		settled(t, b)
		if !wrote(c, "Summed up") || rows(t, money) != sess+" chat:7 7=$2.10" {
			t.Fatalf("after a summary: %s\n%q", rows(t, money), c.texts())
		}
		if err := money.SetLimits(budget.Limits{DailyUSD: 2.2}); err != nil {
			t.Fatal(err)
		}
		n := len(model.asked())
		c.send(t, direct(sess, "c2", "/compact"))
		settled(t, b)
		if !wrote(c, "I did not sum it up", "Today's budget of $2.20 for everybody is reached") || len(model.asked()) != n {
			t.Errorf("the cap does not hold for a summary: %q", c.texts())
		}
		c.send(t, direct(sess, "u", "/usage"))
		settled(t, b)
		if !wrote(c, "You today: $2.10", "2,100 tokens in 7 model calls", "- `a/one`: $2.10", "for everybody today: $2.10 of $2.20") {
			t.Errorf("/usage: %q", c.texts())
		}
	})
}

func TestANewConversationStartsItsBudgetAnewAndASummaryDoesNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		model := &script{otherwise: func(req *agentcore.Request) step { return costing("answer", 400) }}
		b, _ := spender(t, s, c, budget.Limits{SessionUSD: 23}, model, func(cfg *Config) { cfg.Compaction = Compaction{Off: true} })
		for i, text := range []string{"a", "b", "c", "/compact", "/status"} {
			c.send(t, direct(sess, fmt.Sprint(i), text+strings.Repeat("y", 900)[:900*(3-min(i, 3))/3]))
			settled(t, b)
		}
		c.send(t, direct(sess, "7", "/budget"))
		settled(t, b)
		if !wrote(c, "Summed up") || !wrote(c, "for this conversation: $1.60 of $23.00") || !wrote(c, "Cost so far: about $1.60") {
			t.Errorf("after a summary: %q", c.texts())
		}
		c.send(t, direct(sess, "8", "/new"))
		settled(t, b)
		c.send(t, direct(sess, "9", "d"))
		settled(t, b)
		c.send(t, direct(sess, "10", "/budget"))
		settled(t, b)
		if !wrote(c, "for this conversation: $0.40 of $23.00") {
			t.Errorf("after /new: %q", c.texts())
		}
	})
}

func TestAnOwnersRaiseIsForOwnersAndSaysWhatItDid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b, _ := spender(t, s, c, budget.Limits{UserUSD: 1}, &script{otherwise: echo}, nil)
		for i, text := range []string{
			"/budget", "/budget raise day 5", "/budget raise chat:8 $2.5", "/budget raise", "/budget lower me 1", "/budget raise nobody 1",
			"/budget raise me 1e9", "/budget raise me x", "/budget raise me 1",
		} {
			c.send(t, direct(sess, fmt.Sprint(i), text))
			settled(t, b)
		}
		c.send(t, by(direct("other", "20", "/budget"), "8", "Ben"))
		settled(t, b)
		got := c.texts()
		for i, part := range []string{
			"for `chat:7` today: $0.00 of $1.00", "There is no such cap", "Raised for `chat:8` today: $0.00 of $3.50 (raised by $2.50)", "did not understand",
			"did not understand", "Whose?", "no amount", "no amount in dollars", "Raised for `chat:7` today: $0.00 of $2.00", "Only my owner",
		} {
			if i >= len(got) || !strings.Contains(got[i], part) {
				t.Errorf("answer %d lacks %q: %q", i, part, got)
			}
		}
	})
}

func TestAPersonIsToldOnceAndTheOwnersToo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b, _ := spender(t, s, c, budget.Limits{DailyUSD: 1.5, WarnAt: 0.8}, &script{otherwise: func(*agentcore.Request) step { return costing("answer", 600) }},
			func(cfg *Config) { cfg.Agent.MaxTokens = 600 })
		for i := range 4 {
			c.send(t, by(direct("other", fmt.Sprint(i), "hi"), "8", "Ben"))
			settled(t, b)
		}
		warned, reached := 0, 0
		for _, text := range c.texts() {
			if strings.Contains(text, "are used (80 %)") {
				warned++
			}
			if strings.Contains(text, "is reached") {
				reached++
			}
		}
		if warned != 1 || reached != 2 {
			t.Errorf("%d warnings, and %d times told that it is reached: %q", warned, reached, c.texts())
		}
	})
}

func TestWhatIsLeftOfACapIsUsedAndTheAnswerKeepsWhatItSaid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		model := &script{steps: []step{call("1", "act", `{}`), costing("This is the first half", 5000)}, otherwise: echo}
		model.steps[0].usage = agentcore.Usage{Output: 2000}
		ran := 0
		b, money := spender(t, s, c, budget.Limits{DailyUSD: 5}, model, func(cfg *Config) {
			cfg.Agent.MaxTokens = 4000
			cfg.Toolbox = toolset{tool("act", func(context.Context) string { ran++; return "done" })}
		})
		c.send(t, direct(sess, "1", "act, and tell me all of it"))
		settled(t, b)
		requests := model.asked()
		if len(requests) != 2 || requests[1].MaxTokens != 3000 || ran != 1 {
			t.Errorf("%d requests, the last with %d tokens; the tool ran %d times", len(requests), requests[len(requests)-1].MaxTokens, ran)
		}
		if !wrote(c, "This is the first half", "⚠️ My answer had to end here. Today's budget of $5.00 for everybody is reached: $5.00 are spent") {
			t.Errorf("shown is %q", c.texts())
		}
		if got := rows(t, money); got != sess+" chat:7 2=$5.00" {
			t.Errorf("spent: %s", got)
		}
		valid(t, s, sess)
		if err := money.SetLimits(budget.Limits{DailyUSD: 50}); err != nil {
			t.Fatal(err)
		}
		c.send(t, direct(sess, "2", "go on"))
		settled(t, b)
		requests = model.asked()
		last := requests[len(requests)-1]
		if got := users(last); len(got) != 2 || !wrote(c, "re: go on") {
			t.Errorf("after a raise the model is asked with %q, and shown is %q", got, c.texts())
		}
	})
}
