package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
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

// growing is a toolbox whose tools change.
type growing struct {
	mu         sync.Mutex
	generation int64
	tools      toolset
}

func (g *growing) For(context.Context, ToolRequest) []*agentcore.Tool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.tools)
}

func (g *growing) Generation() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.generation
}

func (g *growing) set(tools ...*agentcore.Tool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tools = tools
	g.generation++
}

func TestToolsThatComeAndGoDuringARunDoSoForTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		box := &growing{}
		late := tool("late", func(context.Context) string { return "late ran" })
		swap := tool("swap", func(context.Context) string { return "swapped" })
		swap.Execute = func(context.Context, agentcore.Call, func(agentcore.Update)) (agentcore.Result, error) {
			box.set(late)
			return agentcore.TextResult("swapped"), nil
		}
		box.set(swap)
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{call("c1", "swap", `{}`), call("c2", "late", `{}`), call("c3", "swap", `{}`), say("done")}}
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
		c.send(t, direct(sess, "1", "go"))
		settled(t, b)
		want(t, "transcript", outline(t, s, sess), []string{"u go", "a →swap", "t swapped", "a →late", "t late ran", "a →swap",
			"t swap may not be used any more: what it belongs to is gone or no longer offers it", "a done"})
		for i, names := range [][]string{{"swap"}, {"late"}, {"late"}, {"late"}} {
			var got []string
			for _, tool := range m.asked()[i].Tools {
				got = append(got, tool.Name)
			}
			want(t, "tools", got, names)
		}
		valid(t, s, sess)
	})
}
