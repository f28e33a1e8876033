package gateway

import (
	"context"
	"slices"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
)

// roleBox gives the tools of whoever has all the roles that it wants.
type roleBox struct{ tools []*agentcore.Tool }

func (b roleBox) For(_ context.Context, req ToolRequest) []*agentcore.Tool {
	for _, roles := range req.Roles {
		if !slices.Contains(roles, "moderator") {
			return nil
		}
	}
	return b.tools
}

func TestSomebodyOfALesserRoleTakesToolsAwayBeforeTheNextCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		ran := 0
		box := roleBox{[]*agentcore.Tool{tool("act", func(ctx context.Context) string { ran++; sleep(ctx, time.Second); return "done" })}}
		m := &script{steps: []step{call("c1", "act", `{}`), call("c2", "act", `{}`)}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box, Queue: Queue{SteerBy: steerAnyone}})
		from := func(id, sender string, roles ...string) channels.Inbound {
			in := inRoom(id, sender, "do it", true)
			in.Sender.Roles = roles
			return in
		}
		c.send(t, from("1", "9", "member", "moderator"))
		time.Sleep(500 * time.Millisecond)
		c.send(t, from("2", "8", "moderator"))
		c.send(t, from("3", "7", "member"))
		settled(t, b)
		if ran != 1 {
			t.Errorf("the tool ran %d times, want once: before the member joined", ran)
		}
		valid(t, s, "chat:room")
	})
}

func TestACompanyCountsEachSetOfRolesOnce(t *testing.T) {
	var c company
	say := func(id, role string, roles ...string) {
		c.add(&inbound{Sender: channels.Sender{ID: id, Roles: roles}, Role: role})
	}
	say("1", RoleOwner, "admin")
	say("2", RoleGuest, "b", "a", "b")
	say("3", RoleGuest, "a", "b")
	say("4", RoleGuest)
	say("5", RoleOwner)
	say("5", RoleGuest, "a") // no longer an owner
	if got := c.roles(); !slices.EqualFunc(got, [][]string{nil, {"a"}, {"a", "b"}}, slices.Equal) {
		t.Errorf("roles %q", got)
	}
}
