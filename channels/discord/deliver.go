package discord

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"clawbot/channels"
)

// job reads one event and returns what the host is to accept, nil for nothing.
type job struct {
	lane string
	read func(ctx context.Context) (*channels.Inbound, error)
	// accepted is called when the event is durable or of no use.
	accepted func(ctx context.Context, in *channels.Inbound)
}

// dispatch takes an event of the gateway.
func (c *connection) dispatch(ctx context.Context, p *payload) error {
	switch p.Type {
	case "READY":
		c.begun(p)
	case "RESUMED":
		c.ready = true
		c.health.clear()
		c.log.Info("discord goes on where it was", "shard", c.index)
	}
	state := c.progress()
	state.begin(p.Seq)
	j := c.plan(ctx, p)
	if j == nil {
		c.done(state, p.Seq)
	} else {
		c.work.add(j.lane, func() {
			if c.do(ctx, j) {
				c.done(state, p.Seq)
			}
		})
	}
	if p.Type == "READY" {
		c.keep(ctx, state) // at once: a process that is killed now has a session to go on with
		c.catchUpTalks(ctx)
	}
	return nil
}

// begun takes over a new session.
func (c *connection) begun(p *payload) {
	ready, _ := decodeEvent[struct {
		Session     string `json:"session_id"`
		URL         string `json:"resume_gateway_url"`
		User        user   `json:"user"`
		Application struct {
			ID string `json:"id"`
		} `json:"application"`
		Guilds []struct{} `json:"guilds"`
	}](p.Data)
	if id := ready.Application.ID; id != "" {
		c.app.Store(&id)
	}
	c.ready = true
	c.caught, c.since = map[string]bool{}, c.talks.latest()
	if c.since != "" {
		c.since = before(c.since, overlap)
	}
	c.state.Store(newProgress(ready.Session, ready.URL))
	c.health.clear()
	c.log.Info("discord is connected", "bot", ready.User.Username, "servers", len(ready.Guilds), "shard", c.index, "of", c.count)
}

// do runs a job. It reports false if ctx ended first: the event then has to
// come again.
func (s *shard) do(ctx context.Context, j *job) bool {
	var in *channels.Inbound
	err := s.insist(ctx, "accept an event", func() (err error) {
		if in, err = s.readSafely(ctx, j); err == nil && in != nil {
			err = s.host.Accept(ctx, *in)
		}
		return err
	})
	if err != nil {
		return false
	}
	if in != nil {
		s.noted(in)
	}
	if j.accepted != nil {
		j.accepted(ctx, in)
	}
	return true
}

// readSafely skips an event that breaks its reader.
func (s *shard) readSafely(ctx context.Context, j *job) (in *channels.Inbound, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("skipped an event that broke its reader", "panic", p, "stack", string(debug.Stack()))
			in, err = nil, nil
		}
	}()
	return j.read(ctx)
}

// noted remembers how far a conversation was accepted, and where the bot
// talks: in private, and in threads that it was meant in or is about to start.
func (c *Channel) noted(in *channels.Inbound) {
	if in.Kind != channels.Message {
		return
	}
	id, guild := in.Target.Chat, guildIn(in.Target)
	switch place, _ := address(in.Target); {
	case place != in.Target.Chat:
		id = place
	case !in.Target.Direct:
		c.talks.saw(in.MessageID)
		return
	}
	c.talks.heard(id, guild, in.MessageID, in.Addressed)
}

// insist repeats what the host or Discord could not do until it can or ctx
// ends.
func (c *Channel) insist(ctx context.Context, what string, do func() error) error {
	var wait backoff
	for {
		err := do()
		if err == nil {
			if wait.last > 0 {
				c.health.clear()
			}
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		pause := wait.next(c.pace.accept, c.pace.acceptMax)
		c.health.set(fmt.Errorf("can't %s: %w; messages wait until that is mended", what, err))
		c.log.Error("can't "+what+"; trying again", "error", err, "wait", pause)
		pauseFor(ctx, pause)
	}
}

// plan says what to do with an event; nil is nothing more.
func (c *connection) plan(ctx context.Context, p *payload) *job {
	switch p.Type {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		m, ok := decodeEvent[message](p.Data)
		if !ok || m.Author == nil {
			return nil
		}
		return c.planMessage(&m, p.Type == "MESSAGE_UPDATE")
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		return c.planDelete(p)
	case "INTERACTION_CREATE":
		i, ok := decodeEvent[interactionEvent](p.Data)
		if !ok {
			return nil
		}
		return c.planInteraction(ctx, &i)
	case "GUILD_CREATE":
		g, ok := decodeEvent[guildInfo](p.Data)
		if !ok || g.Unavailable || g.ID == "" {
			return nil
		}
		c.world.learnGuild(&g, c.botID)
		c.catchUpGuild(ctx, &g)
	default:
		c.learn(p)
	}
	return nil
}

func (c *connection) planMessage(m *message, update bool) *job {
	if m.Author.ID == c.botID {
		if nonce, ok := m.Nonce.(string); ok && !update {
			c.nonces.put(nonce, m.ID)
		}
		return nil
	}
	return &job{
		lane: m.ChannelID,
		read: func(ctx context.Context) (*channels.Inbound, error) {
			if update {
				return c.readUpdate(ctx, m)
			}
			return c.readMessage(ctx, m, channels.Message)
		},
		accepted: func(_ context.Context, in *channels.Inbound) {
			if in != nil && in.Kind != channels.Context {
				c.recent.remember(m, in)
			}
		},
	}
}

func (c *connection) planDelete(p *payload) *job {
	d, ok := decodeEvent[struct {
		ID        string   `json:"id"`
		IDs       []string `json:"ids"`
		ChannelID string   `json:"channel_id"`
		GuildID   string   `json:"guild_id"`
	}](p.Data)
	if !ok {
		return nil
	}
	if d.ID != "" {
		d.IDs = append(d.IDs, d.ID)
	}
	return &job{lane: d.ChannelID, read: func(ctx context.Context) (*channels.Inbound, error) {
		for _, id := range d.IDs {
			in, err := c.readDelete(ctx, d.GuildID, d.ChannelID, id)
			if err == nil && in != nil {
				err = c.host.Accept(ctx, *in)
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}}
}

// learn keeps what is known of servers and channels up to date.
func (c *connection) learn(p *payload) {
	switch p.Type {
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		if ch, ok := decodeEvent[channelInfo](p.Data); ok && ch.ID != "" {
			c.world.learnChannel(ch)
		}
	case "CHANNEL_DELETE", "THREAD_DELETE":
		if ch, ok := decodeEvent[channelInfo](p.Data); ok {
			c.world.forgetChannel(ch.ID)
			c.talks.forget(ch.ID)
		}
	case "THREAD_LIST_SYNC":
		if list, ok := decodeEvent[guildInfo](p.Data); ok {
			for _, ch := range list.Threads {
				c.world.learnChannel(ch)
			}
		}
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE":
		if e, ok := decodeEvent[struct {
			GuildID string `json:"guild_id"`
			Role    role   `json:"role"`
		}](p.Data); ok {
			c.world.learnRole(e.GuildID, &e.Role, c.botID)
		}
	case "GUILD_ROLE_DELETE":
		if e, ok := decodeEvent[struct {
			GuildID string `json:"guild_id"`
			RoleID  string `json:"role_id"`
		}](p.Data); ok {
			c.world.forgetRole(e.GuildID, e.RoleID)
		}
	case "GUILD_DELETE":
		if g, ok := decodeEvent[guildInfo](p.Data); ok && !g.Unavailable {
			c.world.forgetGuild(g.ID)
			c.log.Info("the bot was removed from a server", "server", g.ID)
		}
	}
}

// overlap is how far back before the last known message histories are read:
// what came a moment before may have been at work still. What was accepted
// already is told by its id.
const overlap = time.Minute
