package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
)

// small is a scripted model with a window of 10,000 tokens: a conversation is
// compacted from 5,000 on, and about 2,500 are kept.
type small struct{ *script }

func (small) Info() agentcore.ModelInfo {
	return agentcore.ModelInfo{Ref: agentcore.ModelRef{Provider: "test", ID: "small"}, Window: 10_000}
}

// summing answers requests for a summary, and everything else with answer.
func summing(summary string, answer func(*agentcore.Request) step) func(*agentcore.Request) step {
	return func(req *agentcore.Request) step {
		if asksForSummary(req) {
			return say(summary)
		}
		return answer(req)
	}
}

func asksForSummary(req *agentcore.Request) bool {
	return strings.Contains(lastUser(req), "<conversation>")
}

// sized answers with the tokens that the request really has, and text.
func sized(text string) func(*agentcore.Request) step {
	return func(req *agentcore.Request) step {
		s := say(text)
		s.usage = agentcore.Usage{Input: estimate(req.Messages), Output: 5}
		return s
	}
}

// story is about 1,000 tokens.
func story(id string) string { return id + " " + strings.Repeat("a long story ", 300) }

func summaries(m *script) (asked []*agentcore.Request) {
	for _, req := range m.asked() {
		if asksForSummary(req) {
			asked = append(asked, req)
		}
	}
	return asked
}

func TestAConversationIsSummedUpBeforeItFillsTheWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{otherwise: summing("They told stories.", sized("ok"))}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: small{m}})
		n := 0
		for id := range strings.SplitSeq("abcdefghijklmnopqrst", "") {
			c.send(t, direct(sess, id, story(id)))
			settled(t, b)
			n++
		}
		for i, text := range c.texts() {
			if text != "ok" {
				t.Errorf("post %d is %q", i, text)
			}
		}
		asked := summaries(m)
		if len(asked) < 3 || len(asked) > 8 {
			t.Fatalf("%d summaries for %d messages", len(asked), n)
		}
		if text := lastUser(asked[1]); !strings.Contains(text, "<summary-so-far>\nThey told stories.") {
			t.Errorf("the second summary does not build on the first: %.200q", text)
		}
		for _, req := range m.asked() {
			if size := estimate(req.Messages); size > 8000 {
				t.Errorf("a request of %d tokens", size)
			}
		}
		valid(t, s, sess)
		all, err := b.Transcript(t.Context(), sess, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for _, h := range all {
			if strings.Contains(h.Message.Text(), "a long story") {
				read++
			}
		}
		if read != n {
			t.Errorf("%d of %d messages can be read in the history", read, n)
		}
	})
}

func TestASummaryThatFailsIsNoErrorWhileTheRequestFits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{otherwise: func(req *agentcore.Request) step {
			if asksForSummary(req) {
				return step{err: &agentcore.Error{Class: agentcore.ErrOverloaded, Message: "busy"}}
			}
			return sized("ok")(req)
		}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: small{m}})
		for _, id := range []string{"1", "2", "3", "4", "5", "6", "7"} {
			c.send(t, direct(sess, id, story(id)))
			settled(t, b)
		}
		want(t, "posts", c.texts(), []string{"ok", "ok", "ok", "ok", "ok", "ok", "ok"})
		if len(summaries(m)) == 0 {
			t.Error("no summary was tried")
		}
		valid(t, s, sess)
	})
}

// reading makes calls of a tool that returns about 1,000 tokens, then answers.
func reading(calls int) func(*agentcore.Request) step {
	done := 0
	return func(req *agentcore.Request) step {
		if done++; done > calls {
			return sized("All read.")(req)
		}
		s := call("c", "read", `{}`)
		s.text = []string{"Next. "}
		s.usage = agentcore.Usage{Input: estimate(req.Messages), Output: 5}
		return s
	}
}

func TestALongRunMakesRoomBetweenItsTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		page := 0
		read := tool("read", func(context.Context) string { page++; return story(fmt.Sprint("page", page)) })
		m := &script{otherwise: summing("Pages were read.", reading(12))}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: small{m}, Toolbox: toolset{read}})
		c.send(t, direct(sess, "1", "read it all"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{strings.Repeat("Next. \n\n", 12) + "All read."})
		if len(summaries(m)) < 2 {
			t.Errorf("%d summaries", len(summaries(m)))
		}
		for _, req := range m.asked() {
			if size := estimate(req.Messages); size > 8000 {
				t.Errorf("a request of %d tokens", size)
			}
		}
		valid(t, s, sess)
	})
}

func TestARunThatWasSummedUpGoesOnElsewhereWithItsReplyAndItsRights(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		page := 0
		read := tool("read", func(ctx context.Context) string {
			page++
			sleep(ctx, time.Second)
			return story(fmt.Sprint("page", page))
		})
		hold := make(chan struct{})
		answer := reading(8)
		turn := 0
		m := &script{otherwise: summing("Pages were read.", func(req *agentcore.Request) step {
			next := answer(req)
			if turn++; turn == 8 {
				next.wait = func(ctx context.Context) error {
					select {
					case <-hold:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}
			return next
		})}
		cfg := Config{
			Store: s, Channels: []channels.Channel{c}, Model: small{m}, Toolbox: toolset{read}, Drain: -1,
			Access: Access{Owners: []string{"chat:7"}}, Queue: Queue{SteerBy: steerAnyone},
		}
		first := start(t, cfg)
		c.send(t, inRoom("1", "8", "read it all", true))
		time.Sleep(500 * time.Millisecond) // the first page is being read
		c.send(t, inRoom("2", "7", "please", true))
		time.Sleep(time.Minute)
		if len(summaries(m)) == 0 {
			t.Fatal("nothing was summed up before the hand-off")
		}
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		close(hold)
		c2 := newChat("chat")
		c2.posts, c2.next = c.posts, c.next
		roles := &recordingBox{toolset: toolset{read}}
		cfg.Channels, cfg.Toolbox = []channels.Channel{c2}, roles
		second := start(t, cfg)
		<-c2.ready
		time.Sleep(30 * time.Second)
		settled(t, second)
		if got := c2.texts(); len(got) != 2 || strings.Count(strings.Join(got, ""), "Next.") != 7 || !strings.HasSuffix(got[len(got)-1], "All read.") {
			t.Errorf("posts: %q", got)
		}
		for _, req := range roles.requests {
			if req.Role != RoleGuest || req.Sender != "8" {
				t.Errorf("the run went on with the rights of %q (%q)", req.Sender, req.Role)
			}
		}
		valid(t, s, "chat:room")
	})
}

// recordingBox remembers for whom tools were wanted.
type recordingBox struct {
	toolset
	requests []ToolRequest
}

func (b *recordingBox) For(ctx context.Context, req ToolRequest) []*agentcore.Tool {
	b.requests = append(b.requests, req)
	return b.toolset.For(ctx, req)
}

func TestToolOutputIsCutWhereNothingElseMakesRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		read := tool("read", func(context.Context) string { return strings.Repeat("x", 100_000) })
		m := &script{steps: []step{call("c", "read", `{}`)}, otherwise: func(req *agentcore.Request) step {
			if estimate(req.Messages) > 10_000 {
				return step{err: &agentcore.Error{Class: agentcore.ErrContextOverflow, Message: "too long"}}
			}
			return say("It is all x.")
		}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: small{m}, Toolbox: toolset{read}})
		c.send(t, direct(sess, "1", "read it"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"It is all x."})
		valid(t, s, sess)
	})
}
