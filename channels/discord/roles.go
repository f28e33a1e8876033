package discord

import (
	"context"
	"strconv"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

// The roles that this channel tells beside the ids of a server's own.
const (
	roleAdmin     = "admin"
	roleModerator = "moderator"
	roleMember    = "member"
)

// Permissions that make somebody one who keeps order.
const (
	adminRights     = discordgo.PermissionAdministrator | discordgo.PermissionManageGuild
	moderatorRights = discordgo.PermissionManageMessages | discordgo.PermissionModerateMembers |
		discordgo.PermissionKickMembers | discordgo.PermissionBanMembers
)

// senderOf is who wrote m, with what they are in its server. Roles matter for
// what is meant for the bot; only then Discord is asked for what is missing.
func (c *Channel) senderOf(ctx context.Context, m *message, meant bool) (channels.Sender, error) {
	if m.WebhookID != "" {
		return channels.Sender{ID: m.WebhookID, Name: m.Author.Username, Bot: true}, nil
	}
	who := m.Member
	if m.GuildID != "" && who == nil && meant {
		who = &member{}
		err := c.call(ctx, request{
			op: "member", method: "GET", address: discordgo.EndpointGuildMember(m.GuildID, m.Author.ID), major: m.GuildID,
		}, who)
		if err != nil && channels.OutcomeOf(err) != channels.Rejected {
			return channels.Sender{}, err
		}
	}
	s := sender(m.Author, who)
	if m.GuildID == "" || !meant {
		return s, nil
	}
	g, err := c.guildOf(ctx, m.GuildID)
	if err != nil {
		return s, err
	}
	var permissions int64
	c.world.read(func() {
		permissions = g.roles[m.GuildID].permissions // @everyone has the server's id
		if who != nil {
			for _, id := range who.Roles {
				permissions |= g.roles[id].permissions
			}
		}
		if g.owner == m.Author.ID {
			permissions |= adminRights
		}
	})
	s.Roles = rolesOf(permissions, who)
	return s, nil
}

func rolesOf(permissions int64, who *member) []string {
	var roles []string
	switch {
	case permissions&adminRights != 0:
		roles = append(roles, roleAdmin, roleModerator)
	case permissions&moderatorRights != 0:
		roles = append(roles, roleModerator)
	}
	roles = append(roles, roleMember)
	if who != nil {
		roles = append(roles, who.Roles...)
	}
	return roles
}

func sender(u *user, who *member) channels.Sender {
	s := channels.Sender{ID: u.ID, Name: u.GlobalName, Bot: u.Bot, Since: snowflakeTime(u.ID)}
	if s.Name == "" {
		s.Name = u.Username
	}
	if who != nil && who.Nick != "" {
		s.Name = who.Nick
	}
	return s
}

// interactionSender is who clicked or used a command. Discord tells what they
// may do in the channel.
func interactionSender(i *interactionEvent) (channels.Sender, bool) {
	if i.Member != nil && i.Member.User != nil {
		s := sender(i.Member.User, i.Member)
		permissions, _ := strconv.ParseInt(i.Member.Permissions, 10, 64)
		s.Roles = rolesOf(permissions, i.Member)
		return s, true
	}
	if i.User != nil {
		return sender(i.User, nil), true
	}
	return channels.Sender{}, false
}

// ownRoles are the bot's managed roles in the server of m, if any role is
// mentioned in it: Discord offers the bot's role beside the bot itself.
func (c *Channel) ownRoles(ctx context.Context, m *message) ([]string, error) {
	if len(m.MentionRoles) == 0 || m.GuildID == "" {
		return nil, nil
	}
	g, err := c.guildOf(ctx, m.GuildID)
	if err != nil {
		return nil, err
	}
	var own []string
	c.world.read(func() { own = append(own, g.own...) })
	return own, nil
}
