package main

import (
	"maps"

	"clawbot/config"
)

// changeable is the configuration that a bot that runs by before can go by when
// it is given next: what is bound when it starts stays as it was. That is the
// store, addresses and tokens of the page and of channels, folders, programs
// that were started, the sandbox, the log's files and the time zone.
func changeable(before, next *config.Config) *config.Config {
	c := *next
	c.Agent.TimeZone = before.Agent.TimeZone
	c.Store, c.Server, c.Skills = before.Store, before.Server, before.Skills

	c.Log = before.Log
	c.Log.Level, c.Log.Wire = next.Log.Level, next.Log.Wire

	c.Tools = before.Tools
	c.Tools.Rules, c.Tools.Roles, c.Tools.Channels, c.Tools.Permissions = next.Tools.Rules, next.Tools.Roles, next.Tools.Channels, next.Tools.Permissions

	// Channels have taken these for themselves.
	c.Access.ReplyIn, c.Access.Acknowledge, c.Access.Failed = before.Access.ReplyIn, before.Access.Acknowledge, before.Access.Failed
	c.Access.Rooms = maps.Clone(next.Access.Rooms)
	for id, room := range c.Access.Rooms {
		room.ReplyIn = before.Access.Rooms[id].ReplyIn
		c.Access.Rooms[id] = room
	}

	c.Channels = before.Channels
	if was, now := before.Channels.Telegram, next.Channels.Telegram; was != nil && now != nil {
		own := *was
		own.ChannelAccess = doors(was.ChannelAccess, now.ChannelAccess)
		own.Accounts = maps.Clone(was.Accounts)
		for name, a := range own.Accounts {
			if n, ok := now.Accounts[name]; ok {
				a.ChannelAccess = doors(a.ChannelAccess, n.ChannelAccess)
				own.Accounts[name] = a
			}
		}
		c.Channels.Telegram = &own
	}
	if was, now := before.Channels.Slack, next.Channels.Slack; was != nil && now != nil {
		own := *was
		own.ChannelAccess = doors(was.ChannelAccess, now.ChannelAccess)
		own.Accounts = maps.Clone(was.Accounts)
		for name, a := range own.Accounts {
			if n, ok := now.Accounts[name]; ok {
				a.ChannelAccess = doors(a.ChannelAccess, n.ChannelAccess)
				own.Accounts[name] = a
			}
		}
		c.Channels.Slack = &own
	}
	if was, now := before.Channels.Discord, next.Channels.Discord; was != nil && now != nil {
		own := *was
		own.ChannelAccess = doors(was.ChannelAccess, now.ChannelAccess)
		own.Accounts = maps.Clone(was.Accounts)
		for name, a := range own.Accounts {
			if n, ok := now.Accounts[name]; ok {
				a.ChannelAccess = doors(a.ChannelAccess, n.ChannelAccess)
				own.Accounts[name] = a
			}
		}
		c.Channels.Discord = &own
	}
	return &c
}

// doors is who is let in by a channel, of what next says; the rest stays.
func doors(before, next config.ChannelAccess) config.ChannelAccess {
	before.DMPolicy, before.GroupPolicy, before.AllowFrom = next.DMPolicy, next.GroupPolicy, next.AllowFrom
	return before
}
