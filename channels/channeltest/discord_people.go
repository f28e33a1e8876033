package channeltest

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// DiscordIncoming is a message that a person sends.
type DiscordIncoming struct {
	Channel, User, Text string
	// ReplyTo is a message of the same channel.
	ReplyTo string
	Files   []DiscordFile
	// Type is 0 unless it is a system message.
	Type int
	// Webhook sends in the name of a webhook.
	Webhook string
	// Fields are put on the message as they are: components, snapshots, stickers.
	Fields map[string]any
}

// SendText is Send of a plain text.
func (d *Discord) SendText(channel, user, text string) string {
	return d.Send(DiscordIncoming{Channel: channel, User: user, Text: text})
}

// Send has a person send a message and tells its id. The channel comes into
// being if need be.
func (d *Discord) Send(in DiscordIncoming) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channel(in.Channel)
	m := &DiscordMessage{Author: in.User, Text: in.Text, Type: in.Type, Files: in.Files, webhook: in.Webhook, dressed: in.Fields}
	if in.ReplyTo != "" {
		m.ReplyTo, m.Type, m.reference = in.ReplyTo, 19, c.id
	}
	for i := range m.Files {
		m.Files[i].ID = d.newID()
	}
	d.add(c, m)
	return m.ID
}

// Edit has a person change the text of a message of theirs.
func (d *Discord) Edit(channel, id, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channel(channel)
	m := c.all[id]
	if m == nil {
		return
	}
	m.Text, m.Edited = text, time.Now()
	m.note(d.cfg.Lean)
	d.dispatch("MESSAGE_UPDATE", d.wireMessage(m, false), c.guild, c.intent())
}

// Unfurl updates a message as Discord does when it has looked at a link in it.
func (d *Discord) Unfurl(channel, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channel(channel)
	if m := c.all[id]; m != nil {
		out := d.wireMessage(m, false)
		out["embeds"] = []any{map[string]any{"type": "link", "url": "https://example.org"}}
		d.dispatch("MESSAGE_UPDATE", out, c.guild, c.intent())
	}
}

// Delete removes a message, of whomever.
func (d *Discord) Delete(channel, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channel(channel)
	if m := c.all[id]; m != nil && !m.Deleted {
		d.remove(c, m)
	}
}

// React has a person put a reaction on a message.
func (d *Discord) React(channel, user, id, emoji string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channel(channel)
	d.dispatch("MESSAGE_REACTION_ADD", map[string]any{
		"user_id": user, "channel_id": channel, "message_id": id, "guild_id": c.guildOrNil(), "emoji": map[string]any{"id": nil, "name": emoji},
	}, c.guild, intentReactions)
}

// Dispatch sends any event to the sessions that get what happens in a server,
// or, with an empty guild, in private; body is the event's JSON object.
func (d *Discord) Dispatch(kind, guild, body string) {
	var data map[string]any
	if err := json.Unmarshal([]byte(body), &data); err != nil {
		panic("channeltest: not a JSON object: " + body)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dispatch(kind, data, guild, 0)
}

// RedeliverAll dispatches all messages and interactions once more.
func (d *Discord) RedeliverAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		for _, e := range slices.Clone(s.log) {
			switch e.kind {
			case "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "INTERACTION_CREATE":
				s.push(e.kind, e.data)
			}
		}
	}
}

// Disconnect closes every gateway connection with a code, or, with 0, cuts it
// without a word. Sessions stay, so that they can be resumed.
func (d *Discord) Disconnect(code int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		switch {
		case s.conn == nil:
		case code == 0:
			s.conn.cut()
		default:
			s.conn.code = code
			s.conn.poke()
		}
	}
}

// AskToReconnect sends op 7 to every connection.
func (d *Discord) AskToReconnect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		if s.conn != nil {
			s.conn.control = append(s.conn.control, frame(7, nil))
			s.conn.poke()
		}
	}
}

// ForgetSessions makes every session unknown: whoever resumes is told op 9, and
// what happened meanwhile is in the history alone. Connections are cut.
func (d *Discord) ForgetSessions() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		s.drop()
	}
	clear(d.sessions)
	d.changed.wake()
}

// Gateway counts what clients did: connections, identifies, resumes.
func (d *Discord) Gateway() (opened, identified, resumed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened, d.identified, d.resumed
}

// CommandPuts counts how often the commands were overwritten.
func (d *Discord) CommandPuts() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.commandPuts
}

// fields copies a message's wire form with changes.
func fields(m map[string]any, more map[string]any) map[string]any {
	out := maps.Clone(m)
	maps.Copy(out, more)
	return out
}
