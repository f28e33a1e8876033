package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
)

// MainAgent names the agent of the table [agent] among others.
const MainAgent = "main"

// Profile is another agent than the main one: a table [agents.NAME], with what
// it does not say taken from [agent].
type Profile struct {
	Agent
	// Model answers unless another was chosen with /model; nil is Config.Model.
	Model agentcore.Model
}

// Route says which agent answers where: a table of [[routes]]. An empty field
// fits everything.
type Route struct {
	Agent   string // a key of Config.Agents, or [MainAgent]
	Channel string // a channel's name or platform: "slack.work", "slack"
	Room    string // "channel:id" or "platform:id"
	User    string // "channel:id" or "platform:id"
	Role    string // of whom is answered: [RoleOwner], or a role on the platform
}

// fits reports whether the route speaks of a message.
func (r *Route) fits(m *speaker) bool {
	platform := platformOf(m.channel)
	either := func(want, id string) bool {
		return want == "" || id != "" && (want == m.channel+":"+id || want == platform+":"+id)
	}
	return (r.Channel == "" || r.Channel == m.channel || r.Channel == platform) &&
		either(r.Room, m.to.Chat) && either(r.User, m.sender.ID) &&
		(r.Role == "" || r.Role == m.role || slices.Contains(m.sender.Roles, r.Role))
}

// weight orders routes by how much they say: a user more than a room, that more
// than a role, that more than a channel.
func (r *Route) weight() (n int) {
	for _, field := range []string{r.User, r.Room, r.Role, r.Channel} {
		n *= 2
		if field != "" {
			n++
		}
	}
	return n
}

// speaker is who is answered, and where.
type speaker struct {
	channel string
	to      channels.Target
	sender  channels.Sender
	role    string
}

func (r *inbound) speaker() *speaker { return &speaker{r.Channel, r.Target, r.Sender, r.Role} }

// routed is the agent that the routes name for a message: of those that fit the
// one that says most, and of several the first.
func (c *Config) routed(m *speaker) string {
	agent, best := MainAgent, -1
	for i := range c.Routes {
		if r := &c.Routes[i]; r.fits(m) && r.weight() > best {
			agent, best = r.Agent, r.weight()
		}
	}
	return agent
}

// checkAgents refuses routes to agents that are not there.
func (c *Config) checkAgents() error {
	if _, ok := c.Agents[MainAgent]; ok {
		return fmt.Errorf("gateway: the agent %q is Config.Agent; name the other one otherwise", MainAgent)
	}
	for name, p := range c.Agents {
		if !slices.Contains(thinkingLevels, p.Thinking) {
			return fmt.Errorf("gateway: agents.%s.thinking = %q is none of %q", name, p.Thinking, thinkingLevels)
		}
	}
	for i, r := range c.Routes {
		if _, ok := c.Agents[r.Agent]; !ok && r.Agent != MainAgent {
			return fmt.Errorf("gateway: routes[%d].agent = %q is none of %q", i, r.Agent, c.agentNames())
		}
	}
	return nil
}

// agentNames are all agents, the main one first.
func (c *Config) agentNames() []string {
	return append([]string{MainAgent}, slices.Sorted(maps.Keys(c.Agents))...)
}

// profiles are the configurations that runs of the agents go by: equal but for
// the agent and its model.
func (c *Config) profiles() map[string]*Config {
	all := map[string]*Config{}
	for name, p := range c.Agents {
		own := *c
		own.Agent = p.Agent
		own.Agent.Zone = c.Agent.Zone
		if own.Agent.Name == "" {
			own.Agent.Name = c.Agent.Name
		}
		if own.Agent.MaxTokens == 0 {
			own.Agent.MaxTokens = c.Agent.MaxTokens
		}
		if p.Model != nil {
			own.Model = p.Model
		}
		all[name] = &own
	}
	return all
}

// as is the configuration that runs of the agent go by.
func (g *Gateway) as(agent string) *Config {
	now := g.holds.Load()
	if c, ok := now.profiles[agent]; ok {
		return c
	}
	return now.cfg
}

// agentFor is who answers in a session: whom people chose there, or whom the
// routes name.
func (g *Gateway) agentFor(session string, m *speaker) string {
	if chosen := g.rules.settings(session).Agent; chosen == MainAgent || g.holds.Load().profiles[chosen] != nil {
		return chosen
	}
	return g.config().routed(m)
}

// profile is the configuration of who answers next in the session.
func (t *tenure) profile() *Config {
	if t.tr.last == nil {
		return t.g.config()
	}
	return t.g.as(t.g.agentFor(t.session, t.tr.last.speaker()))
}

// chooseAgent shows or sets who answers in a conversation. With another agent
// comes its model: one that was chosen before is given up.
func (h *host) chooseAgent(ctx context.Context, m *speaker, name string) string {
	session := m.to.Conversation
	names := h.g.config().agentNames()
	if len(names) == 1 {
		return "There is only one agent here, me. Whoever runs me adds others as `[agents.NAME]`."
	}
	list := "\n\nThere are:\n- `" + strings.Join(names, "`\n- `") + "`\n\n`/agent NAME` takes another, `/agent default` the one that is meant for here."
	switch name = strings.ToLower(name); name {
	case "":
		return "**" + h.g.agentFor(session, m) + "** answers here, with " + h.g.modelName(session, m) + "." + list
	case "default":
		name = ""
	default:
		i := slices.IndexFunc(names, func(have string) bool { return strings.EqualFold(have, name) })
		if i < 0 {
			return fmt.Sprintf("There is no agent `%s`.", clip(displayName(name), 40)) + list
		}
		name = names[i]
	}
	if err := h.g.rules.setSession(ctx, session, func(s *settings) { s.Agent, s.Model = name, "" }); err != nil {
		return h.notKept(err)
	}
	return "From the next answer on, **" + h.g.agentFor(session, m) + "** answers here, with " + h.g.modelName(session, m) + "."
}

// AgentObserver is a [RunObserver] that is told, right after it was made, which
// agent runs: a key of Config.Agents or [MainAgent].
type AgentObserver interface {
	Agent(name string)
}

// LatestAgent reads which agent spoke last in a session of which info is known;
// empty if that isn't to be seen in its latest entries.
func LatestAgent(ctx context.Context, s store.Store, info store.SessionInfo) (string, error) {
	const looked = 8
	list, err := s.Archive().Read(ctx, info.Session, max(0, info.Tail-looked), looked)
	if err != nil {
		return "", err
	}
	for _, e := range slices.Backward(list) {
		if e.Kind != store.KindAssistant {
			continue
		}
		if p, err := readPayload(e); err == nil && p.Agent != "" {
			return p.Agent, nil
		}
	}
	return "", nil
}
