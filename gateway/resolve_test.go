package gateway

import (
	"context"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/channels"
)

// drawer is a toolbox that declares nothing and has one tool for owners.
type drawer struct{ hidden *agentcore.Tool }

func (drawer) For(context.Context, ToolRequest) []*agentcore.Tool { return nil }

func (d drawer) Resolve(_ context.Context, req ToolRequest, name string) *agentcore.Tool {
	if req.Role != RoleOwner || name != d.hidden.Name {
		return nil
	}
	return d.hidden
}

func TestAToolThatIsNotDeclaredIsFoundForWhoMayUseIt(t *testing.T) {
	for sender, want := range map[string]string{"7": "found it", "5": "Tool hidden not found"} {
		bubble(t, func(t *testing.T) {
			c, s := newChat("chat"), newStore(t)
			m := &script{steps: []step{call("c1", "hidden", `{}`), say("done")}}
			box := drawer{tool("hidden", func(context.Context) string { return "found it" })}
			b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
			c.send(t, from(direct(sess, "1", "work"), sender))
			settled(t, b)
			messages := m.asked()[1].Messages
			if got := messages[len(messages)-1].Text(); !strings.Contains(got, want) {
				t.Errorf("sender %s: %q", sender, got)
			}
			valid(t, s, sess)
		})
	}
}
