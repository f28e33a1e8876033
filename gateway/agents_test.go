package gateway

import (
	"fmt"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/channels"
)

func TestTheRouteThatSaysMostWins(t *testing.T) {
	cfg := Config{Routes: []Route{
		{Agent: "platform", Channel: "chat"},
		{Agent: "room", Room: "chat:r1"},
		{Agent: "later", Room: "chat:r1"},
		{Agent: "user in room", Room: "chat:r1", User: "chat.work:7"},
		{Agent: "user", User: "chat:8"},
		{Agent: "owners", Role: RoleOwner},
		{Agent: "moderators", Role: "moderator", Channel: "chat.work"},
		{Agent: MainAgent, Channel: "other"},
	}}
	for _, c := range []struct {
		want, channel, room, user, role, platformRole string
	}{
		{"platform", "chat", "r2", "1", "", ""},
		{"platform", "chat.work", "r2", "1", "", ""},
		{"room", "chat", "r1", "1", "", ""},
		{"room", "chat.work", "r1", "8.", "", ""},
		{"user in room", "chat.work", "r1", "7", "", ""},
		{"room", "chat", "r1", "7", "", ""}, // of another account
		{"user", "chat", "r1", "8", RoleOwner, ""},
		{"owners", "chat", "r2", "1", RoleOwner, ""},
		{"room", "chat", "r1", "1", RoleOwner, ""},
		{"moderators", "chat.work", "r2", "1", "", "moderator"},
		{"moderators", "chat.work", "r2", "1", RoleOwner, "moderator"},
		{"platform", "chat", "r2", "1", "", "moderator"},
		{MainAgent, "other", "r1", "7", "", ""},
		{MainAgent, "third", "r1", "7", "", ""},
	} {
		m := &speaker{c.channel, channels.Target{Chat: c.room}, channels.Sender{ID: c.user, Roles: []string{c.platformRole}}, c.role}
		if got := cfg.routed(m); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestAnUnknownAgentIsRefused(t *testing.T) {
	for _, cfg := range []Config{
		{Routes: []Route{{Agent: "codr"}}, Agents: map[string]Profile{"coder": {}}},
		{Agents: map[string]Profile{MainAgent: {}}},
		{Agents: map[string]Profile{"x": {Agent: Agent{Thinking: "hard"}}}},
	} {
		cfg.Store, cfg.Channels, cfg.Model = newStore(t), []channels.Channel{newChat("chat")}, &script{}
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg.Routes)
		}
	}
}

// agentBot has an agent that codes, which room r1 has, with a model of its own.
func agentBot(t *testing.T) (b *bot, c *chat, main, coder *script) {
	c = newChat("chat")
	main, coder = &script{otherwise: func(*agentcore.Request) step { return say("main") }}, &script{otherwise: func(*agentcore.Request) step { return say("coder") }}
	ref := func(id string) agentcore.ModelRef { return agentcore.ModelRef{Provider: "p", ID: id} }
	b = start(t, Config{
		Store: newStore(t), Channels: []channels.Channel{c}, Model: named1{main, ref("big")}, Access: Access{GroupPolicy: groupOpen},
		Agents: map[string]Profile{"coder": {Agent: Agent{Name: "Cody", SystemPrompt: "You write code.", MaxTokens: 77}, Model: named1{coder, ref("small")}}},
		Routes: []Route{{Agent: "coder", Room: "chat:chat:room"}},
	})
	return b, c, main, coder
}

// named1 is a model with a name.
type named1 struct {
	*script
	ref agentcore.ModelRef
}

func (m named1) Info() agentcore.ModelInfo { return agentcore.ModelInfo{Ref: m.ref} }

func TestAnAgentAnswersWhereItsRouteSays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b, c, main, coder := agentBot(t)
		c.send(t, direct(sess, "1", "hi"))
		c.send(t, inRoom("2", "7", "hi", true))
		settled(t, b)
		if len(main.asked()) != 1 || len(coder.asked()) != 1 {
			t.Fatalf("asked %d and %d times", len(main.asked()), len(coder.asked()))
		}
		if req := coder.asked()[0]; !strings.HasPrefix(req.System, "You write code.") || req.MaxTokens != 77 {
			t.Errorf("the coder is told %q, %d tokens", req.System, req.MaxTokens)
		}
		if req := main.asked()[0]; strings.Contains(req.System, "code") || req.MaxTokens != 8192 {
			t.Errorf("the main agent is told %q, %d tokens", req.System, req.MaxTokens)
		}
		info, err := b.sessionInfo(t.Context(), "chat:room")
		if err != nil {
			t.Fatal(err)
		}
		if name, err := LatestAgent(t.Context(), b.cfg.Store, info); name != "coder" || err != nil {
			t.Errorf("who spoke last: %q, %v", name, err)
		}
	})
}

func TestAnAgentIsChosenForOneConversationAndKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b, c, _, _ := agentBot(t)
		for i, text := range []string{"/agent", "hi", "/agent CODER", "hi", "/status", "/agent nobody", "/agent main", "hi", "/agent coder", "/agent default", "hi"} {
			c.send(t, direct(sess, fmt.Sprint(i), text))
			settled(t, b)
		}
		want := []string{"**main** answers here", "main", "**coder** answers here, with p/small", "coder", "Agent: coder\nModel: p/small", "There is no agent `nobody`",
			"**main** answers here, with p/big", "main", "**coder**", "**main**", "main"}
		for i, got := range c.texts() {
			if i >= len(want) || !strings.Contains(got, want[i]) {
				t.Fatalf("post %d is %q, want %q", i, got, want[min(i, len(want)-1)])
			}
		}
		// In a room, only who keeps order there; everybody may ask.
		c.send(t, inRoom("r1", "8", "/agent main", true))
		c.send(t, inRoom("r2", "8", "/agent", true))
		settled(t, b)
		posts := c.to("chat:room")
		if len(posts) != 2 || !strings.Contains(posts[0], "Only my owner") || !strings.Contains(posts[1], "**coder** answers here") {
			t.Errorf("the room reads %q", posts)
		}
	})
}
