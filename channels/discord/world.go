package discord

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

// world is what is known of servers and channels. The gateway tells it when a
// session begins and keeps it up to date; after a resume in a fresh process
// Discord is asked where something is missing.
type world struct {
	mu       sync.Mutex
	channels map[string]channelInfo
	guilds   map[string]*guild
}

type guild struct {
	name, owner string
	roles       map[string]roleInfo
	own         []string // the bot's managed roles
}

type roleInfo struct {
	name        string
	permissions int64
}

func (w *world) learnGuild(g *guildInfo, bot string) {
	fresh := &guild{name: g.Name, owner: g.OwnerID, roles: map[string]roleInfo{}}
	for i := range g.Roles {
		fresh.put(&g.Roles[i], bot)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.init()
	w.guilds[g.ID] = fresh
	for _, list := range [][]channelInfo{g.Channels, g.Threads} {
		for _, ch := range list {
			ch.GuildID = g.ID
			w.channels[ch.ID] = ch
		}
	}
}

func (w *world) init() {
	if w.channels == nil {
		w.channels, w.guilds = map[string]channelInfo{}, map[string]*guild{}
	}
}

func (g *guild) put(r *role, bot string) {
	permissions, _ := strconv.ParseInt(r.Permissions, 10, 64)
	g.roles[r.ID] = roleInfo{r.Name, permissions}
	if r.Tags.BotID == bot && bot != "" {
		if slices.Contains(g.own, r.ID) {
			return
		}
		g.own = append(g.own, r.ID)
	}
}

func (w *world) learnRole(guildID string, r *role, bot string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.guilds[guildID]; g != nil {
		g.put(r, bot)
	}
}

func (w *world) forgetRole(guildID, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.guilds[guildID]; g != nil {
		delete(g.roles, id)
	}
}

func (w *world) forgetGuild(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.guilds, id)
	for k, ch := range w.channels {
		if ch.GuildID == id {
			delete(w.channels, k)
		}
	}
}

func (w *world) learnChannel(ch channelInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.init()
	w.channels[ch.ID] = ch
}

func (w *world) forgetChannel(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.channels, id)
}

// channelName is a channel's name as far as it is known.
func (w *world) channelName(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.channels[id].Name
}

// channelOf tells what a channel is, asking Discord if need be. A channel that
// Discord does not show counts as an ordinary one.
func (c *Channel) channelOf(ctx context.Context, id string) (channelInfo, error) {
	c.world.mu.Lock()
	ch, ok := c.world.channels[id]
	c.world.mu.Unlock()
	if ok {
		return ch, nil
	}
	err := c.call(ctx, request{op: "channel", method: "GET", address: discordgo.EndpointChannel(id), major: id}, &ch)
	if err != nil && channels.OutcomeOf(err) != channels.Rejected {
		return ch, err
	}
	ch.ID = id
	c.world.learnChannel(ch)
	return ch, nil
}

// guildOf tells what a server is, asking Discord if need be. The second result
// is a copy of the bot's own roles there.
func (c *Channel) guildOf(ctx context.Context, id string) (*guild, error) {
	c.world.mu.Lock()
	g := c.world.guilds[id]
	c.world.mu.Unlock()
	if g != nil {
		return g, nil
	}
	var info guildInfo
	err := c.call(ctx, request{op: "guild", method: "GET", address: discordgo.EndpointGuild(id), major: id}, &info)
	if err != nil && channels.OutcomeOf(err) != channels.Rejected {
		return nil, err
	}
	info.ID = id
	c.world.learnGuild(&info, c.botID)
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	return c.world.guilds[id], nil
}

// read calls fn with the world locked: what it is given changes otherwise.
func (w *world) read(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
}
