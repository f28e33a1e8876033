package channeltest

import (
	"slices"
	"strings"
	"time"
)

// Discord's channel types that the fake knows.
const (
	DiscordText          = 0
	DiscordDM            = 1
	DiscordVoice         = 2
	DiscordThread        = 11
	DiscordForum         = 15
	discordPrivateThread = 12
)

// Discord's permissions that the fake checks.
const (
	DiscordAddReactions   int64 = 1 << 6
	DiscordViewChannel    int64 = 1 << 10
	DiscordSend           int64 = 1 << 11
	DiscordManageMessages int64 = 1 << 13
	DiscordAttachFiles    int64 = 1 << 15
	DiscordReadHistory    int64 = 1 << 16
	DiscordCreateThreads  int64 = 1 << 35
	DiscordSendInThreads  int64 = 1 << 38
	discordAdministrator  int64 = 1 << 3
	discordAllPermissions       = DiscordAddReactions | DiscordViewChannel | DiscordSend | DiscordManageMessages |
		DiscordAttachFiles | DiscordReadHistory | DiscordCreateThreads | DiscordSendInThreads | 1<<14
)

type discordGuild struct {
	id, name, owner string
	roles           map[string]DiscordRole
	denied          int64 // permissions that the bot lacks in the whole server
}

// DiscordRole is a role of a server.
type DiscordRole struct {
	Name        string
	Permissions int64
	// BotID is set for the managed role of a bot.
	BotID string
}

// DiscordPerson is who writes.
type DiscordPerson struct {
	Name string
	// Nick in the server; none by default.
	Nick  string
	Bot   bool
	Roles []string
}

type discordChannel struct {
	id, guild, parent, name, owner string
	kind                           int
	archived, locked               bool
	denied                         int64 // permissions that the bot lacks here
	last                           string
	all                            map[string]*DiscordMessage
	order                          []*DiscordMessage
	typing                         []time.Time
	changed                        signal
}

// DiscordMessage is a message as it is in a channel.
type DiscordMessage struct {
	ID, Channel, Author string
	Type                int
	Text                string
	ReplyTo             string
	Buttons             [][]DiscordButton
	Files               []DiscordFile
	Flags               int
	At                  time.Time
	Edited              time.Time
	Deleted             bool
	// Pings are the mentions in it that notified somebody.
	Pings []string
	// History holds every text of the message, the first one included.
	History []string
	// Reactions of the bot.
	Reactions []string

	nonce     string
	enforced  bool
	webhook   string
	dressed   map[string]any // fields put on the wire as given
	reference string         // the channel of ReplyTo
}

// DiscordButton is a button of a message.
type DiscordButton struct {
	Label    string `json:"label"`
	CustomID string `json:"custom_id"`
	Style    int    `json:"style"`
	Type     int    `json:"type"`
	URL      string `json:"url"`
	Disabled bool   `json:"disabled"`
}

// DiscordFile is an attachment.
type DiscordFile struct {
	File
	ID string
	// Size is what is declared, if larger than the data.
	Size int64
}

// DiscordChannelOptions describes a channel that should exist.
type DiscordChannelOptions struct {
	Kind   int // DiscordText and the like
	Guild  string
	Name   string
	Parent string
	// Denied are the permissions that the bot lacks there.
	Denied int64
}

func (d *Discord) addGuild(id, name string) *discordGuild {
	g := &discordGuild{id: id, name: name, owner: "700000000000000000", roles: map[string]DiscordRole{
		id:                                       {Name: "@everyone", Permissions: DiscordViewChannel | DiscordSend},
		d.botRole(id):                            {Name: d.cfg.Username, BotID: d.cfg.BotID},
		"9500000000000" + id[max(len(id)-5, 0):]: {Name: "crew"},
	}}
	d.guilds[id] = g
	return g
}

// botRole is the bot's managed role in a server.
func (d *Discord) botRole(guild string) string {
	if guild == DiscordGuild {
		return DiscordBotRole
	}
	return guild[:len(guild)-1] + "9"
}

// AddGuild makes a server that the bot is in.
func (d *Discord) AddGuild(id, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.addGuild(id, name)
	d.dispatch("GUILD_CREATE", d.wireGuild(g), id, intentGuilds)
}

// Deny takes permissions from the bot in a whole server.
func (d *Discord) Deny(guild string, permissions int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guilds[guild].denied = permissions
}

// SetRole makes or changes a role of a server.
func (d *Discord) SetRole(guild, id string, r DiscordRole) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guilds[guild].roles[id] = r
	d.dispatch("GUILD_ROLE_UPDATE", map[string]any{"guild_id": guild, "role": wireRole(id, r)}, guild, intentGuilds)
}

// SetPerson gives a user a name, a nick and roles.
func (d *Discord) SetPerson(id string, p DiscordPerson) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.people[id] = p
}

// AddChannel makes a channel, or changes what the bot may do in it. It tells
// its id.
func (d *Discord) AddChannel(id string, o DiscordChannelOptions) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.channels[id]; c != nil {
		c.denied = o.Denied
		return id
	}
	if o.Guild == "" {
		o.Guild = DiscordGuild
	}
	c := d.addChannel(&discordChannel{id: id, guild: o.Guild, parent: o.Parent, name: o.Name, kind: o.Kind, denied: o.Denied})
	d.dispatch("CHANNEL_CREATE", d.wireChannel(c), c.guild, intentGuilds)
	return id
}

func (d *Discord) addChannel(c *discordChannel) *discordChannel {
	c.all = map[string]*DiscordMessage{}
	if c.name == "" {
		c.name = "room-" + c.id[max(len(c.id)-4, 0):]
	}
	d.channels[c.id] = c
	d.changed.wake()
	return c
}

// channel finds a channel; unknown ones come into being as text channels of the
// server. d.mu is held.
func (d *Discord) channel(id string) *discordChannel {
	if c := d.channels[id]; c != nil {
		return c
	}
	c := d.addChannel(&discordChannel{id: id, guild: DiscordGuild})
	d.dispatch("CHANNEL_CREATE", d.wireChannel(c), c.guild, intentGuilds)
	return c
}

// DM tells the id of a person's private channel with the bot.
func (d *Discord) DM(user string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dm(user)
}

func (d *Discord) dm(user string) string {
	if id := d.dms[user]; id != "" {
		return id
	}
	c := d.addChannel(&discordChannel{id: d.newID(), kind: DiscordDM, owner: user})
	d.dms[user] = c.id
	return c.id
}

// Archive archives a thread, or takes that back; a locked one stays so.
func (d *Discord) Archive(thread string, archived, locked bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channel(thread)
	c.archived, c.locked = archived, locked
	d.dispatch("THREAD_UPDATE", d.wireChannel(c), c.guild, intentGuilds)
}

// Expel takes a channel from the bot's view, its threads included.
func (d *Discord) Expel(channel string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.channel(channel).denied = discordAllPermissions
}

// RemoveChannel deletes a channel or thread.
func (d *Discord) RemoveChannel(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channels[id]
	if c == nil {
		return
	}
	delete(d.channels, id)
	kind := "CHANNEL_DELETE"
	if c.isThread() {
		kind = "THREAD_DELETE"
	}
	d.dispatch(kind, d.wireChannel(c), c.guild, intentGuilds)
}

func (c *discordChannel) isThread() bool {
	return c.kind == DiscordThread || c.kind == discordPrivateThread
}

// permissions of the bot in a channel. d.mu is held.
func (d *Discord) permissions(c *discordChannel) int64 {
	if c.kind == DiscordDM {
		return discordAllPermissions &^ c.denied
	}
	p := discordAllPermissions &^ c.denied
	if g := d.guilds[c.guild]; g != nil {
		p &^= g.denied
	}
	if parent := d.channels[c.parent]; parent != nil && c.isThread() {
		p &^= parent.denied
	}
	return p
}

// person is who a user id belongs to. d.mu is held.
func (d *Discord) person(id string) DiscordPerson {
	p, ok := d.people[id]
	if !ok {
		p = DiscordPerson{Name: "Person"}
	}
	return p
}

// copy returns what m is now.
func (m *DiscordMessage) copy() DiscordMessage {
	out := *m
	out.History = slices.Clone(m.History)
	out.Pings = slices.Clone(m.Pings)
	out.Reactions = slices.Clone(m.Reactions)
	return out
}

// pings finds what a text would notify, given what the sender allows: nil is
// everything.
func pings(text string, allowed *discordAllowed) []string {
	var out []string
	for _, who := range mentionsIn(text) {
		if allowed == nil || allowed.permits(who) {
			out = append(out, who)
		}
	}
	return out
}

// mentionsIn lists the mentions in a text: "@everyone", "@here", "@id" and
// "@&id".
func mentionsIn(text string) []string {
	var out []string
	for i := range len(text) {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, "@everyone"):
			out = append(out, "@everyone")
		case strings.HasPrefix(rest, "@here"):
			out = append(out, "@here")
		case strings.HasPrefix(rest, "<@"):
			id, _, ok := strings.Cut(rest[1:], ">")
			id = strings.Replace(id, "@!", "@", 1)
			if digits := strings.TrimLeft(id, "@&"); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
				out = append(out, id)
			}
		}
	}
	return out
}
