package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/gateway/budget"
)

func (g *Gateway) help(m *speaker) string {
	var b strings.Builder
	session := m.to.Conversation
	fmt.Fprintf(&b, "I am **%s**. Write to me as to a person. You may write again while I work: ", g.as(g.agentFor(session, m)).Agent.Name)
	switch g.queueMode(m.channel, session) {
	case ModeSteer:
		b.WriteString("I take it into account at my next step.\n")
	case ModeInterrupt:
		b.WriteString("I drop what I am doing and turn to it.\n")
	default:
		b.WriteString("I turn to it when I am done.\n")
	}
	for _, c := range Commands() {
		fmt.Fprintf(&b, "\n- `/%s`: %s", c.Name, c.Description)
	}
	return b.String()
}

func (g *Gateway) status(ctx context.Context, m *speaker) string {
	var b strings.Builder
	session := m.to.Conversation
	agent := g.agentFor(session, m)
	working := g.dispatch.working(session)
	info, err := g.sessionInfo(ctx, session)
	switch {
	case working > 0:
		fmt.Fprintf(&b, "Working for %s", working.Round(time.Second))
	case err == nil && info.Owner != "":
		b.WriteString("Working")
	default:
		b.WriteString("Idle")
	}
	if info.Waiting > 0 {
		fmt.Fprintf(&b, ", %d waiting", info.Waiting)
	}
	b.WriteString(".")
	if len(g.holds.Load().profiles) > 0 {
		fmt.Fprintf(&b, "\nAgent: %s", agent)
	}
	if d, ok := g.modelOf(session, g.as(agent)).(agentcore.Describer); ok {
		model := d.Info()
		fmt.Fprintf(&b, "\nModel: %s", model.Ref)
		if tokens := g.cache.tokens(session); tokens > 0 {
			fmt.Fprintf(&b, "\nContext: %s tokens", thousands(tokens))
			if model.Window > 0 {
				fmt.Fprintf(&b, " of %s", thousands(model.Window))
			}
		}
	}
	if err == nil {
		fmt.Fprintf(&b, "\nHistory: %d entries", info.Tail)
	}
	if cost := g.cache.cost(session); cost > 0 {
		fmt.Fprintf(&b, "\nCost so far: about %s", budget.Dollars(cost))
	}
	return b.String()
}

// chooseModel shows or sets the model of a conversation.
func (h *host) chooseModel(ctx context.Context, m *speaker, ref string) string {
	cfg, session := h.g.config(), m.to.Conversation
	if ref == "" {
		text := "I answer with **" + h.g.modelName(session, m) + "** here."
		if len(cfg.ModelRefs) > 1 {
			text += "\n\nThere are:\n- `" + strings.Join(cfg.ModelRefs, "`\n- `") + "`\n\n`/model NAME` takes another, `/model default` the first."
		}
		return text
	}
	if ref != "default" {
		known := slices.DeleteFunc(slices.Clone(cfg.ModelRefs), func(have string) bool {
			return !strings.EqualFold(have, ref) && !strings.HasSuffix(strings.ToLower(have), "/"+strings.ToLower(ref))
		})
		if len(known) != 1 || cfg.Models == nil {
			return fmt.Sprintf("I don't have the model `%s`. `/model` shows which there are; the owner adds others to `models` or `fallbacks` of `[agent]`.", clip(displayName(ref), 100))
		}
		ref = known[0]
		if _, err := cfg.Models(ref); err != nil {
			h.log.Error("a model that was chosen can't be used", "model", ref, "err", err)
			return fmt.Sprintf("The model `%s` can't be used: its provider is not set up. My log says why.", ref)
		}
	} else {
		ref = ""
	}
	if err := h.g.rules.setSession(ctx, session, func(s *settings) { s.Model = ref }); err != nil {
		return h.notKept(err)
	}
	return "From my next answer on I use **" + h.g.modelName(session, m) + "** here."
}

// chooseQueue shows or sets what a message does that comes during a run.
func (h *host) chooseQueue(ctx context.Context, session, mode string) string {
	means := "`steer`: I take it into account at my next step · `followup`: it gets an answer of its own afterwards · " +
		"`collect`: all that wait get one answer afterwards · `interrupt`: I drop what I am doing"
	switch mode = strings.ToLower(mode); {
	case mode == "":
		return fmt.Sprintf("A message that comes while I work: **%s**.\n\n%s\n\n`/queue MODE` changes it, `/queue default` goes back.", h.g.queueMode(h.channel.Name(), session), means)
	case mode == "default":
		mode = ""
	case !slices.Contains(queueModes, mode):
		return "That is none of the modes.\n\n" + means
	}
	if err := h.g.rules.setSession(ctx, session, func(s *settings) { s.Queue = mode }); err != nil {
		return h.notKept(err)
	}
	return fmt.Sprintf("A message that comes while I work: **%s**, from my next answer on.", h.g.queueMode(h.channel.Name(), session))
}

func (h *host) notKept(err error) string {
	h.log.Error("a setting was not kept", "err", err)
	return "That did not work: the store can't be written to. Please try again."
}

// modelOf answers in the session, for an agent as which cfg is.
func (g *Gateway) modelOf(session string, cfg *Config) agentcore.Model {
	ref := g.rules.settings(session).Model
	if ref == "" || g.config().Models == nil || !slices.Contains(g.config().ModelRefs, ref) {
		return cfg.Model
	}
	model, err := g.config().Models(ref)
	if err != nil {
		g.log.Warn("the model that was chosen can't be used, the default answers", "session", session, "model", ref, "err", err)
		return cfg.Model
	}
	return model
}

func (g *Gateway) modelName(session string, m *speaker) string {
	if d, ok := g.modelOf(session, g.as(g.agentFor(session, m))).(agentcore.Describer); ok {
		return d.Info().Ref.String()
	}
	return "the only model I have"
}

// queueMode returns how messages of a session queue.
func (g *Gateway) queueMode(channel, session string) string {
	if mode := g.rules.settings(session).Queue; slices.Contains(queueModes, mode) {
		return mode
	}
	return g.config().queueMode(channel)
}

// listTools tells which tools the sender's messages may use here.
func (h *host) listTools(ctx context.Context, in *channels.Inbound, role string) string {
	var list []*agentcore.Tool
	if box := h.g.cfg.Toolbox; box != nil {
		req := ToolRequest{Session: in.Target.Conversation, Channel: h.channel.Name(), Target: in.Target, Sender: in.Sender.ID, Role: role}
		if role != RoleOwner {
			req.Roles = [][]string{in.Sender.Roles}
		}
		list = box.For(ctx, req)
	}
	if len(list) == 0 {
		return "I may use no tools for you here."
	}
	var b strings.Builder
	b.WriteString("For you I may use here:\n")
	for _, t := range list {
		about, _, _ := strings.Cut(t.Description, "\n")
		if i := strings.Index(about, ". "); i > 0 {
			about = about[:i]
		}
		fmt.Fprintf(&b, "\n- `%s`: %s", t.Name, clip(strings.TrimSuffix(about, "."), 120))
	}
	return b.String()
}

// block stops or begins listening to somebody: everywhere if an owner says so,
// in the room if a moderator does.
func (h *host) block(ctx context.Context, in *channels.Inbound, role, who string, block bool) string {
	channel, id, ok := strings.Cut(who, ":")
	if !ok || h.g.hosts[channel] == nil {
		channel, id = h.channel.Name(), who
	}
	id = strings.Trim(id, "<>@!`")
	everywhere := role == RoleOwner
	switch {
	case id == "" || strings.ContainsAny(id, " \n"):
		return "Whom? Send `/block ID` with the person's id, which `/status` of a refused message, `clawbot pairing list` or my log shows."
	case block && h.g.config().roleOf(channel, id, h.g.rules.person(channel, id)) == RoleOwner:
		return "That is an owner of mine. Whoever runs me can change that with `clawbot pairing deny`, or in `owners` of `[access]`."
	case !everywhere && channel != h.channel.Name():
		return "You can do that for this room only."
	}
	err := h.g.rules.setPerson(ctx, channel, id, func(p *person) {
		p.By, p.At = h.channel.Name()+":"+in.Sender.ID, time.Now()
		if everywhere {
			p.Blocked = block
			p.Paired = p.Paired && !block
		}
		if !everywhere && block {
			p.Rooms = append(p.Rooms, in.Target.Chat)
		}
		if !block {
			p.Rooms = slices.DeleteFunc(p.Rooms, func(room string) bool { return everywhere || room == in.Target.Chat })
		}
	})
	where := ""
	if !everywhere {
		where = " in this room"
	}
	switch {
	case err != nil:
		return h.notKept(err)
	case block:
		h.log.Info("somebody was blocked", "who", channel+":"+id, "everywhere", everywhere, "by", in.Sender.ID)
		return fmt.Sprintf("I no longer listen to `%s:%s`%s. `/unblock %s` takes that back.", channel, id, where, channel+":"+id)
	}
	return fmt.Sprintf("I listen to `%s:%s`%s again, as far as they may write to me at all.", channel, id, where)
}

// thousands writes a number with its thousands set apart.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
