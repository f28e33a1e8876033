package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
)

// named is a scripted model with a name and a price.
type named struct {
	*script
	ref agentcore.ModelRef
}

func (m named) Info() agentcore.ModelInfo {
	return agentcore.ModelInfo{Ref: m.ref, Window: 100_000, Price: &agentcore.Price{Input: 1, Output: 2}}
}

func TestAModelIsChosenForOneConversation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		first := named{&script{otherwise: func(*agentcore.Request) step { return say("one") }}, agentcore.ModelRef{Provider: "a", ID: "one"}}
		second := named{&script{otherwise: func(*agentcore.Request) step { return say("two") }}, agentcore.ModelRef{Provider: "b", ID: "two"}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: first, ModelRefs: []string{"a/one", "b/two", "c/broken"},
			Models: func(ref string) (agentcore.Model, error) {
				switch ref {
				case "a/one":
					return first, nil
				case "b/two":
					return second, nil
				}
				return nil, errors.New("no key")
			}})
		for i, text := range []string{"/model", "hi", "/model two", "hi", "/model nonsense", "/model c/broken", "/model default", "hi"} {
			c.send(t, direct(sess, fmt.Sprint(i), text))
			settled(t, b)
		}
		c.send(t, stranger("8", "x", "hi"))
		settled(t, b)
		got := c.texts()
		for i, want := range []string{"**a/one**", "one", "**b/two**", "two", "don't have the model `nonsense`", "can't be used", "**a/one**", "one", "one"} {
			if i >= len(got) || !strings.Contains(got[i], want) {
				t.Fatalf("posts: %q, want %q at %d", got, want, i)
			}
		}
		if !strings.Contains(got[0], "`b/two`") {
			t.Errorf("/model does not list the others: %q", got[0])
		}
	})
}

func TestTheUsageOfAConversationIsAddedUpSinceItBegan(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := named{&script{otherwise: func(*agentcore.Request) step {
			st := say("ok")
			st.usage = agentcore.Usage{Input: 1_000_000, Output: 500_000, CacheRead: 200}
			return st
		}}, agentcore.ModelRef{Provider: "a", ID: "one"}}
		answered := withModel{m, m.ref}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: answered})
		for i, text := range []string{"/usage", "hi", "/new", "hi", "hi", "/usage"} {
			c.send(t, direct(sess, fmt.Sprint(i), text))
			settled(t, b)
		}
		got := c.texts()
		if !strings.HasPrefix(got[0], "Nothing yet") {
			t.Errorf("at the beginning: %q", got[0])
		}
		last := got[len(got)-1]
		for _, want := range []string{"2,000,400 tokens in, 1,000,000 out, 2 model calls", "400 of those", "about $4.0000"} {
			if !strings.Contains(last, want) {
				t.Errorf("%q is not in %q", want, last)
			}
		}
	})
}

// withModel says in every answer who gave it, as providers do.
type withModel struct {
	named
	ref agentcore.ModelRef
}

func (m withModel) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		for ev, err := range m.named.Stream(ctx, req) {
			if ev.Type == agentcore.StreamDone {
				ev.Model = m.ref
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func TestASummaryIsMadeWhenAPersonAsksForIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{otherwise: summing("They said hello.", echoAfter(2*time.Second))}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct(sess, "0", "/compact"))
		settled(t, b)
		for i := range 8 {
			c.send(t, direct(sess, fmt.Sprint("m", i), fmt.Sprint("message ", i)))
			settled(t, b)
		}
		// In the middle of a run it waits for its end, and ends nothing.
		c.send(t, direct(sess, "last", "and this"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "c", "/compact"))
		settled(t, b)
		got := c.texts()
		if !strings.HasPrefix(got[0], "There is too little") || got[len(got)-2] != "re: and this" || !strings.HasPrefix(got[len(got)-1], "Summed up: of 18 messages the latest ") {
			t.Errorf("posts: %q", got)
		}
		c.send(t, direct(sess, "after", "still there?"))
		settled(t, b)
		reqs := m.asked()
		if seen := users(reqs[len(reqs)-1]); !strings.Contains(seen[0], "They said hello.") || len(seen) > 5 {
			t.Errorf("the model saw %q", seen)
		}
		valid(t, s, sess)
	})
}

func TestASummaryThatAPersonAskedForIsStopped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{otherwise: func(req *agentcore.Request) step {
			if asksForSummary(req) {
				return echoAfter(time.Hour)(req)
			}
			return echo(req)
		}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		for i := range 6 {
			c.send(t, direct(sess, fmt.Sprint(i), "hello"))
			settled(t, b)
		}
		c.send(t, direct(sess, "c", "/compact"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "s", "/stop"))
		began := time.Now()
		settled(t, b)
		if took := time.Since(began); took > time.Second {
			t.Errorf("stopping the summary took %v", took)
		}
		if got := c.texts(); !slices.ContainsFunc(got, func(text string) bool { return strings.HasPrefix(text, "I could not sum it up") }) {
			t.Errorf("posts: %q", got)
		}
	})
}

func TestInARoomCommandsAreForThoseWhoMay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{otherwise: echoAfter(time.Minute)}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Access: Access{Owners: []string{"chat:1"}}})
		moderator := func(id, text string) channels.Inbound {
			in := inRoom(id, "5", text, true)
			in.Sender.Roles = []string{"admin"}
			return in
		}
		c.send(t, inRoom("1", "7", "work", true))
		time.Sleep(time.Second)
		c.send(t, inRoom("2", "8", "/stop", true))
		c.send(t, inRoom("3", "8", "/new", true))
		c.send(t, inRoom("4", "8", "/queue collect", true))
		c.send(t, inRoom("5", "8", "/queue", true))
		c.send(t, inRoom("6", "1", "/pair ABC", true))
		time.Sleep(time.Second)
		got := c.texts()
		for i, want := range []string{"working for others", "working for others", "Only my owner and", "**steer**", "no such code"} {
			if i >= len(got) || !strings.Contains(got[i], want) {
				t.Fatalf("posts: %q, want %q at %d", got, want, i)
			}
		}
		c.send(t, moderator("7", "/queue collect"))
		c.send(t, moderator("8", "/stop"))
		settled(t, b)
		got = c.texts()
		if !strings.Contains(got[len(got)-2], "**collect**") || got[len(got)-1] != stoppedText {
			t.Errorf("posts: %q", got)
		}
		c.send(t, inRoom("9", "7", "work", true))
		time.Sleep(time.Second)
		c.send(t, inRoom("10", "7", "/stop", true))
		settled(t, b)
		if got := c.texts(); got[len(got)-1] != stoppedText {
			t.Errorf("a participant may not stop: %q", got)
		}
	})
}

func TestToolsAreListedForWhoeverAsks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		read := tool("read", func(context.Context) string { return "" })
		read.Description = "Reads a file. Whole."
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{}, Toolbox: ownersOnly{read}, Access: Access{DMPolicy: dmOpen, Owners: []string{"chat:1"}}})
		c.send(t, stranger("1", "1", "/tools"))
		c.send(t, stranger("2", "2", "/tools"))
		settled(t, b)
		if got := c.texts(); !strings.Contains(got[0], "`read`: Reads a file") || strings.Contains(got[0], "Whole") || !strings.HasPrefix(got[1], "I may use no tools") {
			t.Errorf("posts: %q", got)
		}
	})
}

func TestEveryCommandIsInTheMenuOnceAndRead(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Commands() {
		elsewhere := slices.Contains([]string{"approve", "deny", "skill"}, c.Name)
		if v, args := parseCommand("/" + c.Name + "@bot  x y"); (v == verbNone) != elsewhere || args != "x y" || seen[c.Name] || c.Description == "" {
			t.Errorf("/%s is read as %d with %q", c.Name, v, args)
		}
		seen[c.Name] = true
	}
}
