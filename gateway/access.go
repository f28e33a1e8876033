package gateway

import (
	"fmt"
	"slices"
	"strings"

	"clawbot/channels"
)

// The policies for direct conversations and for rooms.
const (
	dmPairing   = "pairing"
	dmAllowlist = "allowlist"
	dmMembers   = "members"
	dmOpen      = "open"

	groupMention   = "mention"
	groupAllowlist = "allowlist"
	groupOpen      = "open"
	groupOff       = "off"
)

var (
	dmPolicies    = []string{dmPairing, dmAllowlist, dmMembers, dmOpen}
	groupPolicies = []string{groupMention, groupAllowlist, groupOpen, groupOff}
)

// Roles of senders. Every other word is a role granted in the configuration.
const (
	RoleOwner = "owner"
	RoleGuest = "" // anybody who may speak
)

// verdict is what access says of one event.
type verdict uint8

const (
	admit  verdict = iota
	hear           // not meant for the bot: background of the room
	refuse         // a closed door says so, once
	ignore         // said nothing to: bots
	knocks         // a stranger who may be let in
)

// blockedText is the refusal of somebody who was blocked.
const blockedText = "You were blocked here, so I don't listen. Whoever runs me, or moderates this room, can change that with `/unblock`."

// judge decides whether the sender, about whom who was decided, may speak here.
// The reason is for the sender and names the remedy.
func (c *Config) judge(channel string, in *channels.Inbound, who person) (v verdict, role, reason string) {
	rules := c.rulesFor(channel)
	c.inRoom(&rules, channel, in)
	if role = c.roleOf(channel, in.Sender.ID, who); in.Sender.Bot {
		role = RoleGuest
	}
	switch {
	case in.Sender.Bot && !c.minds(in):
		return ignore, role, ""
	case who.blockedIn(in.Target.Chat) && role != RoleOwner:
		if in.Kind == channels.Context || !in.Target.Direct && !in.Addressed {
			return ignore, role, ""
		}
		return refuse, role, blockedText
	case in.Kind == channels.Context, in.Sender.Bot && c.Access.Bots == botsMention && !in.Addressed:
		return hear, role, ""
	case c.tooYoung(in) && role != RoleOwner && !who.Paired && !slices.Contains(rules.AllowFrom, in.Sender.ID):
		if !in.Target.Direct && !in.Addressed {
			return ignore, role, ""
		}
		return refuse, role, c.youngText(in)
	case in.Target.Direct:
		v, reason = judgeDirect(channel, &rules, role, in, who.Paired)
	default:
		v, reason = judgeRoom(channel, &rules, role, in)
	}
	return v, role, reason
}

func (c *Config) rulesFor(channel string) ChannelAccess {
	rules, ok := c.Access.Channels[channel]
	if !ok {
		rules = c.Access.Channels[platformOf(channel)]
	}
	if rules.DMPolicy == "" {
		rules.DMPolicy = c.Access.DMPolicy
	}
	if rules.GroupPolicy == "" {
		rules.GroupPolicy = c.Access.GroupPolicy
	}
	return rules
}

// roleOf goes by ids alone: names can be taken by anybody.
func (c *Config) roleOf(channel, sender string, who person) string {
	switch {
	case who.Role == RoleOwner, c.localOwner(channel, sender), lists(c.Access.Owners, channel, sender):
		return RoleOwner
	}
	return RoleGuest
}

// lists reports whether a list of "platform:id" or "channel:id" has the sender.
// The page's ids are such names already.
func lists(list []string, channel, sender string) bool {
	if sender == "" {
		return false
	}
	platform := platformOf(channel)
	return slices.Contains(list, channel+":"+sender) || slices.Contains(list, platform+":"+sender) ||
		strings.HasPrefix(sender, platform+":") && slices.Contains(list, sender)
}

// localOwner reports whether the sender is an owner because of where they sit:
// at the terminal, or at the page on the bot's own machine.
func (c *Config) localOwner(channel, sender string) bool {
	own := c.rulesFor(channel).Owners
	return slices.Contains(own, "*") || sender != "" && slices.Contains(own, sender)
}

func judgeDirect(channel string, rules *ChannelAccess, role string, in *channels.Inbound, paired bool) (verdict, string) {
	if role == RoleOwner || paired || rules.DMPolicy == dmOpen || slices.Contains(rules.AllowFrom, in.Sender.ID) {
		return admit, ""
	}
	if rules.DMPolicy == dmMembers && slices.Contains(in.Sender.Roles, "member") {
		return admit, ""
	}
	if rules.DMPolicy == dmPairing {
		return knocks, ""
	}
	platform := platformOf(channel)
	reason := fmt.Sprintf("This bot answers only people it was told to. Its owner can let you in: add %q to `allow_from` of `[channels.%s]`, or %q to `owners` of `[access]`.",
		in.Sender.ID, channel, platform+":"+in.Sender.ID)
	return refuse, reason
}

func judgeRoom(channel string, rules *ChannelAccess, role string, in *channels.Inbound) (verdict, string) {
	switch rules.GroupPolicy {
	case groupOpen:
		return admit, ""
	case groupOff:
		if !in.Addressed {
			return ignore, ""
		}
		return refuse, fmt.Sprintf("I don't answer in rooms here: `group_policy` of `[channels.%s]` is %q.", channel, groupOff)
	}
	if !in.Addressed {
		return hear, ""
	}
	if rules.GroupPolicy == groupMention || role == RoleOwner ||
		slices.Contains(rules.AllowFrom, in.Sender.ID) || slices.Contains(rules.AllowFrom, in.Target.Chat) {
		return admit, ""
	}
	return refuse, fmt.Sprintf("I answer only some people and rooms here. My owner can let you in: add your id %q, or this room's id %q, to `allow_from` of `[channels.%s]`.",
		in.Sender.ID, in.Target.Chat, channel)
}

// moderates reports whether the platform lets the sender keep order in the
// room: they may stop any run there, whoever else may speak.
func moderates(in *channels.Inbound) bool {
	return !in.Target.Direct && (slices.Contains(in.Sender.Roles, "admin") || slices.Contains(in.Sender.Roles, "moderator"))
}
