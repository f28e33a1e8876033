package config

import (
	"slices"
	"strings"
)

// inherit gives channels what [access] says and they don't. The policies are
// not copied: whoever judges by them falls back itself.
func (c *Config) inherit() {
	if t := c.Channels.Telegram; t != nil {
		c.inheritAccess(&t.ChannelAccess, "telegram")
		for name, a := range t.Accounts {
			c.inheritAccess(&a.ChannelAccess, "telegram", "telegram."+name)
			t.Accounts[name] = a
		}
	}
	if s := c.Channels.Slack; s != nil {
		c.inheritAccess(&s.ChannelAccess, "slack")
		for name, a := range s.Accounts {
			c.inheritAccess(&a.ChannelAccess, "slack", "slack."+name)
			s.Accounts[name] = a
		}
	}
	if d := c.Channels.Discord; d != nil {
		c.inheritAccess(&d.ChannelAccess, "discord")
		for name, a := range d.Accounts {
			c.inheritAccess(&a.ChannelAccess, "discord", "discord."+name)
			d.Accounts[name] = a
		}
	}
}

// inheritAccess gives a channel that goes by these names what it lacks.
func (c *Config) inheritAccess(a *ChannelAccess, names ...string) {
	for room, r := range c.Access.Rooms {
		channel, id, _ := strings.Cut(room, ":")
		if r.ReplyIn != "" && slices.Contains(names, channel) {
			if a.ReplyInRooms == nil {
				a.ReplyInRooms = map[string]string{}
			}
			a.ReplyInRooms[id] = r.ReplyIn
		}
	}
	if a.ReplyIn == "" {
		a.ReplyIn = c.Access.ReplyIn
	}
}
