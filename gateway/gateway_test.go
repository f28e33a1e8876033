package gateway

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"clawbot/agentcore"
	"clawbot/channels"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sess = "chat:1"

func TestAMessageIsAnsweredOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		in := direct(sess, "1", "hello")
		c.send(t, in)
		c.send(t, in) // delivered twice by the platform
		settled(t, b)
		c.send(t, in)
		settled(t, b)
		want(t, "posts", c.texts(), []string{"re: hello"})
		want(t, "transcript", outline(t, s, sess), []string{"u hello", "a re: hello"})
		valid(t, s, sess)
	})
}

func TestSteeringDuringAToolIsInTheNextRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{call("c1", "slow", `{}`), say("done both")}}
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, 2*time.Second); return "slept" })
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{slow}})
		c.send(t, direct(sess, "1", "work"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "2", "and this"))
		settled(t, b)
		reqs := m.asked()
		if len(reqs) != 2 {
			t.Fatalf("%d requests, want 2", len(reqs))
		}
		want(t, "second request", users(reqs[1]), []string{"work", "and this"})
		want(t, "transcript", outline(t, s, sess), []string{"u work", "a →slow", "t slept", "u and this", "a done both"})
		want(t, "posts", c.texts(), []string{"done both"})
		valid(t, s, sess)
	})
}

func TestSteeringDuringASequentialBatchSkipsWhatHasNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		ran := 0
		slow := tool("slow", func(ctx context.Context) string { ran++; sleep(ctx, 2*time.Second); return "slept" })
		slow.Mode = agentcore.Sequential
		m := &script{steps: []step{{calls: []agentcore.ToolCall{
			{ID: "c1", Name: "slow", Arguments: []byte(`{}`)}, {ID: "c2", Name: "slow", Arguments: []byte(`{}`)},
		}}, say("done")}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{slow}})
		c.send(t, direct(sess, "1", "work"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "2", "wait"))
		c.send(t, direct(sess, "3", "stop it"))
		settled(t, b)
		if ran != 1 {
			t.Errorf("%d calls ran, want 1", ran)
		}
		want(t, "second request", users(m.asked()[1]), []string{"work", "wait", "stop it"})
		want(t, "transcript", outline(t, s, sess), []string{
			"u work", "a →slow→slow", "t slept", "t Skipped to process an incoming message.", "u wait", "u stop it", "a done",
		})
		valid(t, s, sess)
	})
}

// TestWhatIsShownInTheEndIsWhatTheMessageSays lets a stream begin anew and a
// block end in another text than its deltas made.
func TestWhatIsShownInTheEndIsWhatTheMessageSays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := events{
			{Type: agentcore.StreamText, Delta: "A first attempt that breaks off, and is long enough to be shown."},
			{Type: agentcore.StreamRestart},
			{Type: agentcore.StreamText, Delta: "A second one with a <tag>"},
			{Type: agentcore.StreamBlockEnd, Block: agentcore.Text{Text: "A second one."}},
			{Type: agentcore.StreamText, Index: 1, Delta: "And more."},
			{Type: agentcore.StreamDone, Stop: agentcore.StopEnd},
		}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct(sess, "1", "hi"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"A second one.\nAnd more."})
		want(t, "transcript", outline(t, s, sess), []string{"u hi", "a A second one.\nAnd more."})
	})
}

// events is a model that streams the same events, a second apart.
type events []agentcore.StreamEvent

func (m events) Stream(ctx context.Context, _ *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		for _, ev := range m {
			if !sleep(ctx, time.Second) || !yield(ev, nil) {
				return
			}
		}
	}
}

func TestASteeredRunAnswersBelowTheMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		first := words(10)
		first.calls = []agentcore.ToolCall{{ID: "c1", Name: "slow", Arguments: []byte(`{}`)}}
		m := &script{steps: []step{first, say("And that, too.")}}
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, 2*time.Second); return "slept" })
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{slow}})
		c.send(t, direct(sess, "1", "work"))
		time.Sleep(2 * time.Second)
		c.send(t, direct(sess, "2", "and that"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{strings.TrimSpace(strings.Repeat("word ", 10)), "And that, too."})
	})
}
