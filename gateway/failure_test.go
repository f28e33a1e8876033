package gateway

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
)

func authError() error {
	return &agentcore.Error{Class: agentcore.ErrAuth, Status: 401, Message: "401 from https://example.invalid: check api_key", User: "The key for the model is not valid."}
}

func TestAFailureIsToldInTheChatAndTheNextMessageWorks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		broken := say("Half an ans")
		broken.err = &agentcore.Error{Class: agentcore.ErrNetwork, Message: "connection reset"}
		m := &script{steps: []step{{err: authError()}, broken, {wait: func(context.Context) error { panic("model") }}}, otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		for i, text := range []string{"one", "two", "three", "four"} {
			c.send(t, direct(sess, string(rune('a'+i)), text))
			settled(t, b)
		}
		got := c.texts()
		if len(got) != 4 || got[0] != "⚠️ The key for the model is not valid." || got[1] != "Half an ans\n\n⚠️ connection reset" ||
			!strings.HasPrefix(got[2], "⚠️ ") || got[3] != "re: four" {
			t.Errorf("posts: %q", got)
		}
		valid(t, s, sess)
	})
}

func TestALimitIsToldAfterTheClosingAccount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{otherwise: func(req *agentcore.Request) step {
			if len(req.Tools) == 0 {
				return say("I looked three times.")
			}
			return call("c", "look", `{}`)
		}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Loop: Loop{MaxIterations: 3},
			Toolbox: toolset{tool("look", func(context.Context) string { return "nothing" })}})
		c.send(t, direct(sess, "1", "look"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"I looked three times.\n\n⚠️ Reached the limit of 3 model calls (loop.max_iterations)"})
		valid(t, s, sess)
	})
}

func TestAConversationThatIsTooLongNamesTheRemedy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{{err: &agentcore.Error{Class: agentcore.ErrContextOverflow, Message: "too long"}}}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct(sess, "1", "hi"))
		settled(t, b)
		if got := c.texts(); len(got) != 1 || !strings.Contains(got[0], "/new") {
			t.Errorf("posts: %q", got)
		}
	})
}

func TestTheModelSummarisesAConversationThatIsTooLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		long := strings.Repeat("a long story ", 200)
		overflowed := false
		m := &script{otherwise: func(req *agentcore.Request) step {
			switch {
			case strings.Contains(lastUser(req), "<conversation>"):
				return say("They told a long story.")
			case len(req.Messages) > 4 && !overflowed:
				overflowed = true
				return step{err: &agentcore.Error{Class: agentcore.ErrContextOverflow, Message: "too long"}}
			}
			return say("ok")
		}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		for _, id := range []string{"1", "2", "3"} {
			c.send(t, direct(sess, id, id+" "+long))
			settled(t, b)
		}
		want(t, "posts", c.texts(), []string{"ok", "ok", "ok"})
		reqs := m.asked()
		last := users(reqs[len(reqs)-1])
		if !strings.Contains(last[0], "They told a long story.") || !strings.HasPrefix(last[len(last)-1], "3 ") || len(last) > 3 {
			t.Errorf("the model saw %d messages: %.80q", len(last), last)
		}
		valid(t, s, sess)
	})
}

// shortener keeps the last n messages.
type shortener struct{ kept, calls int }

func (s *shortener) Compact(context.Context, Past) (Shortened, error) {
	s.calls++
	return Shortened{Summary: "they said hello", Kept: s.kept}, nil
}

func TestAConversationThatIsTooLongIsCompactedOnceAndGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		overflow := step{err: &agentcore.Error{Class: agentcore.ErrContextOverflow, Message: "too long"}}
		m := &script{steps: []step{say("hello"), overflow, say("fine"), overflow, overflow}}
		short := &shortener{kept: 1}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Compactor: short})
		c.send(t, direct(sess, "1", "hello"))
		settled(t, b)
		c.send(t, direct(sess, "2", "how are you?"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"hello", "fine"})
		reqs := m.asked()
		want(t, "the model's view", users(reqs[2]), []string{"⟦summary of the conversation so far:\nthey said hello⟧", "how are you?"})
		c.send(t, direct(sess, "3", "more"))
		settled(t, b)
		if got := c.texts(); len(got) != 3 || !strings.Contains(got[2], "/new") || short.calls != 2 {
			t.Errorf("posts: %q, %d compactions", got, short.calls)
		}
		valid(t, s, sess)
	})
}

func TestAReplyThatIsRefusedDoesNotHoldTheSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		c.refuse = &channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonForbidden, Err: errors.New("blocked")}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{otherwise: echo}})
		c.send(t, direct(sess, "1", "hi"))
		settled(t, b)
		c.mu.Lock()
		c.refuse = nil
		c.mu.Unlock()
		c.send(t, direct(sess, "2", "again"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"re: again"})
	})
}

func TestAnEntryOfANewerVersionIsLeftToANewerProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{otherwise: echo}})
		<-c.ready
		if _, err := s.Accept(t.Context(), eventOf(`{"v":99,"id":"x","channel":"chat"}`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		settled(t, b)
		if got := entries(t, s, sess); len(got) > 1 {
			t.Errorf("%d entries were written", len(got))
		}
		want(t, "posts", c.texts(), nil)
	})
}
