package discord

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

const (
	// How much is read of what was missed: conversations, pages of each, and
	// how old it may be. Older messages would be answered out of the blue.
	mostTalks   = 100
	mostRooms   = 50
	mostPages   = 5
	pageSize    = 100
	oldestToday = 12 * time.Hour
)

// catchUpTalks reads what was said in private and in the bot's threads while no
// session was there to tell of it.
func (c *connection) catchUpTalks(ctx context.Context) {
	ids := c.talks.missed(func(guild string) bool { return guild == "" && c.index == 0 }, mostTalks)
	for _, id := range ids {
		if k, ok := c.talks.get(id); ok {
			c.catchUp(ctx, id, k.Guild, k.Last)
		}
	}
}

// catchUpGuild does the same for a server: in the bot's threads, and in
// channels with news.
func (c *connection) catchUpGuild(ctx context.Context, g *guildInfo) {
	if c.since == "" || c.caught == nil || c.caught[g.ID] {
		return
	}
	c.caught[g.ID] = true
	done := map[string]bool{}
	for _, id := range c.talks.missed(func(guild string) bool { return guild == g.ID }, mostTalks) {
		if k, ok := c.talks.get(id); ok {
			done[id] = true
			c.catchUp(ctx, id, g.ID, k.Last)
		}
	}
	var news []channelInfo
	for _, ch := range slices.Concat(g.Channels, g.Threads) {
		if !done[ch.ID] && newer(ch.Last, c.since) && (ch.thread() || ch.Type == kindText || ch.Type == kindAnnouncement) {
			news = append(news, ch)
		}
	}
	slices.SortFunc(news, func(a, b channelInfo) int {
		if newer(a.Last, b.Last) {
			return -1
		}
		return 1
	})
	for _, ch := range news[:min(len(news), mostRooms)] {
		c.catchUp(ctx, ch.ID, g.ID, c.since)
	}
}

// catchUp reads a channel's history after a message and hands it on as if it
// came now, before anything newer does.
func (c *connection) catchUp(ctx context.Context, channel, guild, after string) {
	if oldest := snowflakeAt(time.Now().Add(-oldestToday)); newer(oldest, after) {
		after = oldest
	}
	for range mostPages {
		page, err := c.history(ctx, channel, after)
		if err != nil {
			if channels.OutcomeOf(err) == channels.Rejected {
				c.talks.forget(channel)
			}
			c.log.Debug("the history of a channel was not read", "discord_channel", channel, "error", err)
			return
		}
		for i := range page {
			m := &page[i]
			after = m.ID
			m.GuildID = guild
			if m.Author == nil {
				continue
			}
			if j := c.planMessage(m, false); j != nil {
				c.work.add(j.lane, func() { c.do(ctx, j) })
			}
		}
		if len(page) < pageSize {
			return
		}
	}
	c.log.Warn("more was said in a channel meanwhile than is read", "discord_channel", channel)
}

// history reads a page of messages after one, the oldest first.
func (c *Channel) history(ctx context.Context, channel, after string) ([]message, error) {
	var page []message
	err := c.call(ctx, request{
		op: "history", method: "GET", major: channel,
		address: fmt.Sprintf("%s?limit=%d&after=%s", discordgo.EndpointChannelMessages(channel), pageSize, after),
	}, &page)
	slices.SortFunc(page, func(a, b message) int {
		if newer(a.ID, b.ID) {
			return 1
		}
		return -1
	})
	return page, err
}
