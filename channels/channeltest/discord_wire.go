package channeltest

import (
	"maps"
	"strconv"
	"time"
)

// The gateway intents that the fake tells apart.
const (
	intentGuilds         = 1 << 0
	intentGuildMessages  = 1 << 9
	intentReactions      = 1 << 10
	intentDirectMessages = 1 << 12
	intentMessageContent = 1 << 15
)

func (c *discordChannel) intent() int {
	if c.kind == DiscordDM {
		return intentDirectMessages
	}
	return intentGuildMessages
}

func (c *discordChannel) guildOrNil() any {
	if c.guild == "" {
		return nil
	}
	return c.guild
}

func (d *Discord) wireUser(id string) map[string]any {
	p := d.person(id)
	return map[string]any{
		"id": id, "username": "user" + id[max(len(id)-4, 0):], "global_name": p.Name, "discriminator": "0", "bot": p.Bot, "avatar": nil,
	}
}

func (d *Discord) wireMember(id string) map[string]any {
	p := d.person(id)
	out := map[string]any{"roles": append([]string{}, p.Roles...), "joined_at": "2024-01-01T00:00:00.000000+00:00", "deaf": false, "mute": false}
	if p.Nick != "" {
		out["nick"] = p.Nick
	}
	return out
}

func wireRole(id string, r DiscordRole) map[string]any {
	out := map[string]any{"id": id, "name": r.Name, "permissions": strconv.FormatInt(r.Permissions, 10), "managed": r.BotID != ""}
	if r.BotID != "" {
		out["tags"] = map[string]any{"bot_id": r.BotID}
	}
	return out
}

func (d *Discord) wireChannel(c *discordChannel) map[string]any {
	out := map[string]any{"id": c.id, "type": c.kind, "name": c.name, "guild_id": c.guildOrNil(), "last_message_id": nil}
	if c.last != "" {
		out["last_message_id"] = c.last
	}
	if c.parent != "" {
		out["parent_id"] = c.parent
	}
	if c.isThread() {
		out["owner_id"] = c.owner
		out["thread_metadata"] = map[string]any{"archived": c.archived, "locked": c.locked, "auto_archive_duration": 1440}
	}
	if c.kind == DiscordDM {
		delete(out, "guild_id")
		out["recipients"] = []any{d.wireUser(c.owner)}
	}
	return out
}

func (d *Discord) wireGuild(g *discordGuild) map[string]any {
	channels, threads, roles := []any{}, []any{}, []any{}
	for _, c := range d.channels {
		switch {
		case c.guild != g.id || c.archived || d.permissions(c)&DiscordViewChannel == 0:
		case c.isThread():
			threads = append(threads, d.wireChannel(c))
		default:
			channels = append(channels, d.wireChannel(c))
		}
	}
	for id, r := range g.roles {
		roles = append(roles, wireRole(id, r))
	}
	return map[string]any{
		"id": g.id, "name": g.name, "owner_id": g.owner, "roles": roles, "channels": channels, "threads": threads, "members": []any{},
	}
}

// wireMessage is a message as in an event. d.mu is held.
func (d *Discord) wireMessage(m *DiscordMessage, nonce bool) map[string]any {
	out := d.wireHistory(m)
	c := d.channels[m.Channel]
	if c != nil && c.guild != "" {
		out["guild_id"] = c.guild
		if m.webhook == "" {
			out["member"] = d.wireMember(m.Author)
		}
	}
	if nonce && m.nonce != "" {
		out["nonce"] = m.nonce
	}
	return out
}

// wireHistory is a message as in a history: without server and member.
func (d *Discord) wireHistory(m *DiscordMessage) map[string]any {
	users, roles, everyone := []any{}, []string{}, false
	for _, who := range mentionsIn(m.Text) {
		switch {
		case who == "@everyone" || who == "@here":
			everyone = true
		case who[1] == '&':
			roles = append(roles, who[2:])
		default:
			users = append(users, d.wireUser(who[1:]))
		}
	}
	out := map[string]any{
		"id": m.ID, "channel_id": m.Channel, "type": m.Type, "content": m.Text, "author": d.wireUser(m.Author),
		"timestamp": stamp(m.At), "edited_timestamp": nil, "tts": false, "flags": m.Flags, "pinned": false,
		"mentions": users, "mention_roles": roles, "mention_everyone": everyone,
		"attachments": d.wireFiles(m), "embeds": []any{}, "components": wireButtons(m.Buttons),
	}
	if !m.Edited.IsZero() {
		out["edited_timestamp"] = stamp(m.Edited)
	}
	if m.webhook != "" {
		out["webhook_id"] = m.webhook
		out["author"] = map[string]any{"id": m.webhook, "username": "Hook", "bot": true}
	}
	if m.ReplyTo != "" {
		out["message_reference"] = map[string]any{"message_id": m.ReplyTo, "channel_id": m.reference}
		out["referenced_message"] = nil
		if c := d.channels[m.reference]; c != nil && c.all[m.ReplyTo] != nil && !c.all[m.ReplyTo].Deleted {
			before := *c.all[m.ReplyTo]
			before.ReplyTo = ""
			out["referenced_message"] = d.wireHistory(&before)
		}
	}
	if len(m.Reactions) > 0 {
		var list []any
		for _, e := range m.Reactions {
			list = append(list, map[string]any{"count": 1, "me": true, "emoji": map[string]any{"id": nil, "name": e}})
		}
		out["reactions"] = list
	}
	maps.Copy(out, m.dressed)
	return out
}

func wireButtons(rows [][]DiscordButton) []any {
	out := []any{}
	for _, row := range rows {
		out = append(out, map[string]any{"type": 1, "components": row})
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }
