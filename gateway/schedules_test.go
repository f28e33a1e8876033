package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
	"clawbot/tools"
)

// scheduleTool is the tool as the gateway sees it, without the prose.
func scheduleTool() *agentcore.Tool {
	return &agentcore.Tool{
		Name: "schedule", Description: "schedule", Schema: []byte(`{"type":"object"}`),
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			raw, err := tools.ScopeOf(ctx).Conversation.Schedule(ctx, call.Arguments)
			if err != nil {
				return agentcore.Result{}, err
			}
			var answer tools.ScheduleAnswer
			if err := json.Unmarshal(raw, &answer); err != nil {
				return agentcore.Result{}, err
			}
			return agentcore.TextResult(answer.Text), nil
		},
	}
}

// planner is a model that does what it is told: "call X" calls schedule with
// X, a result is repeated, and anything else is echoed.
func planner(req *agentcore.Request) step {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == agentcore.RoleToolResult {
		return say("done: " + last.Text())
	}
	text := lastUser(req)
	if _, args, ok := strings.Cut(text, "call "); ok && last.Role == agentcore.RoleUser && !strings.Contains(text, "scheduled task") {
		return call("c1", "schedule", args)
	}
	return say("re: " + text)
}

func scheduling(t *testing.T, s store.Store, c *chat) *bot {
	t.Helper()
	return start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{otherwise: planner}, Toolbox: toolset{scheduleTool()},
		Agent: Agent{Zone: time.UTC}})
}

// told counts the posts that contain text.
func posted(c *chat, text string) int {
	n := 0
	for _, p := range c.texts() {
		n += strings.Count(p, text)
	}
	return n
}

func TestAReminderComesWhenItIsDueAndOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b := scheduling(t, s, c)
		c.send(t, direct(sess, "1", `call {"action":"set","text":"call the dentist","in":"20m"}`))
		settled(t, b)
		if posted(c, "Set, with the id") != 1 {
			t.Fatalf("posts: %q", c.texts())
		}
		time.Sleep(20*time.Minute - 5*time.Second)
		if n := posted(c, "dentist"); n != 0 {
			t.Errorf("it came early: %q", c.texts())
		}
		time.Sleep(6 * time.Second)
		settled(t, b)
		if n := posted(c, "call the dentist"); n != 1 {
			t.Errorf("it came %d times: %q", n, c.texts())
		}
		time.Sleep(48 * time.Hour)
		if n := posted(c, "call the dentist"); n != 1 {
			t.Errorf("it came again: %q", c.texts())
		}
		c.send(t, direct(sess, "2", "/schedules"))
		settled(t, b)
		if posted(c, "Nothing is scheduled here") != 1 {
			t.Errorf("it is still there: %q", c.texts())
		}
		valid(t, s, sess)
	})
}

func TestARecurringTaskComesEveryTimeUntilItIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b := scheduling(t, s, c)
		c.send(t, direct(sess, "1", `call {"action":"set","text":"stand-up","cron":"0 9 * * *"}`))
		settled(t, b)
		for day := range 5 {
			time.Sleep(24 * time.Hour)
			settled(t, b)
			if n := posted(c, "stand-up"); n != day+1 {
				t.Fatalf("after %d days it came %d times: %q", day+1, n, c.texts())
			}
		}
		list, _, err := b.Schedules(t.Context(), "", 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("schedules: %+v, %v", list, err)
		}
		c.send(t, direct(sess, "2", "/schedules cancel "+list[0].ID))
		settled(t, b)
		time.Sleep(48 * time.Hour)
		if n := posted(c, "stand-up"); n != 6 { // the last one is the answer to the command
			t.Errorf("it came after it was cancelled: %q", c.texts())
		}
		valid(t, s, sess)
	})
}
