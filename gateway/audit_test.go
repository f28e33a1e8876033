package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/tools"
)

// ledger is an audit log in memory.
type ledger struct {
	mu      sync.Mutex
	full    bool
	records []AuditRecord
}

func (l *ledger) keep(r AuditRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full {
		return errors.New("no space left")
	}
	l.records = append(l.records, r)
	return nil
}

// lines is what matters of each record.
func (l *ledger) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, r := range l.records {
		out = append(out, fmt.Sprintf("%s %s(%s) by %s on %s: %s %s %s", r.Outcome, r.Tool, r.Arguments, r.Sender, r.Channel, r.Decision, r.Approver, r.Detail))
	}
	return out
}

func audited(t *testing.T, l *ledger, c *chat, m *script, box Toolbox) Config {
	return owned(Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m, Toolbox: box, Audit: l.keep})
}

func TestTheAuditLogHasEveryCallWithWhoLetItRunAndHowItEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, l := newChat("chat"), &ledger{}
		m := &script{steps: []step{call("c1", "act", `{"n":1}`), call("c2", "act", `{"n":2}`), call("c3", "act", `{"n":3}`), say("done")}}
		box := newGuarded()
		b := start(t, audited(t, l, c, m, box))
		c.send(t, direct(sess, "1", "go"))
		id := question(t, c, 1)
		c.send(t, direct(sess, "2", "/approve "+id))
		id = nextQuestion(t, c, id)
		box.mu.Lock()
		box.verdict = tools.Allow
		box.mu.Unlock()
		c.send(t, direct(sess, "3", "/deny "+id))
		settled(t, b)
		want(t, "records", l.lines(), []string{
			`begun act({"n":1}) by 7 on chat: approve 7 `,
			`ok act({"n":1}) by 7 on chat: approve 7 `,
			`refused act({"n":2}) by 7 on chat: deny 7 Not run: Ann denied it. Do not try another way to the same end; ask what to do instead.`,
			`begun act({"n":3}) by 7 on chat:   `,
			`ok act({"n":3}) by 7 on chat:   `,
		})
		for _, r := range l.records {
			if r.Run == "" || r.Message == "" || r.At.IsZero() || r.Session != sess || r.Role != RoleOwner {
				t.Errorf("an incomplete record: %+v", r)
			}
		}
	})
}

func TestACallThatFailsOrPanicsIsAuditedAsAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, l := newChat("chat"), &ledger{}
		m := &script{steps: []step{call("c1", "bad", `{}`), say("done")}}
		bad := tool("bad", func(context.Context) string { panic("boom") })
		b := start(t, audited(t, l, c, m, toolset{bad}))
		c.send(t, direct(sess, "1", "go"))
		settled(t, b)
		want(t, "records", l.lines(), []string{"begun bad({}) by 7 on chat:   ", "error bad({}) by 7 on chat:   "})
	})
}

func TestACallThatCannotBeAuditedDoesNotRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, l := newChat("chat"), &ledger{full: true}
		m := &script{steps: []step{call("c1", "act", `{}`), say("done")}}
		box := newGuarded()
		box.verdict = tools.Allow
		b := start(t, audited(t, l, c, m, box))
		c.send(t, direct(sess, "1", "go"))
		settled(t, b)
		if ran := box.ran(); len(ran) != 0 {
			t.Errorf("it ran: %q", ran)
		}
		want(t, "posts", c.texts(), []string{"done"})
	})
}

// nextQuestion waits for another question than the one that was answered.
func nextQuestion(t *testing.T, c *chat, answered string) string {
	t.Helper()
	for range 1000 {
		if id := question(t, c, 1); id != answered {
			return id
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nobody was asked again")
	return ""
}

func TestACallThatNeverCameToItsToolIsAuditedAsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, l := newChat("chat"), &ledger{}
		m := &script{steps: []step{call("c1", "act", `{"blocked":1}`), call("c2", "hidden", `{"a":1}`), call("c3", "act", `[1]`), call("c4", "act", `{"a":`), say("done")}}
		act := tool("act", func(context.Context) string { return "ran" })
		before := func(call agentcore.Call, _ *tools.Scope) (agentcore.BeforeResult, error) {
			return agentcore.BeforeResult{Block: true, Reason: "the hook says no"}, nil
		}
		b := start(t, audited(t, l, c, m, hooking{toolset{act}, before, nil}))
		c.send(t, direct(sess, "1", "go"))
		settled(t, b)
		got := l.lines()
		if len(got) != 4 {
			t.Fatalf("records: %q", got)
		}
		for i, want := range []string{
			`refused act({"blocked":1}) by 7 on chat:   the hook says no`,
			`refused hidden({"a":1}) by 7 on chat:   Tool hidden not found`,
			`refused act([1]) by 7 on chat:   Validation failed`,
			`refused act("{\"a\":") by 7 on chat:   `,
		} {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("record %d: %q, want %q", i, got[i], want)
			}
		}
	})
}
