package channeltest

import (
	"strings"
)

// startThread starts a thread from a message; it gets the message's id.
func (d *Discord) startThread(req *discordRequest) (any, *discordError) {
	var body struct {
		Name    string `json:"name"`
		Archive int    `json:"auto_archive_duration"`
	}
	if err := req.decode(&body); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], DiscordCreateThreads)
	if err != nil {
		return nil, err
	}
	if n := len([]rune(strings.TrimSpace(body.Name))); n < 1 || n > 100 {
		return nil, dcInvalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
	}
	switch body.Archive {
	case 0, 60, 1440, 4320, 10080:
	default:
		return nil, dcInvalid("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).")
	}
	if c.kind != DiscordText {
		return nil, dcRefuse(400, 50024, "Cannot execute action on this channel type")
	}
	m := c.all[req.ids[1]]
	if m == nil || m.Deleted {
		return nil, errUnknownMessage
	}
	if d.channels[m.ID] != nil {
		return nil, dcRefuse(400, 160004, "A thread has already been created for this message")
	}
	return d.wireChannel(d.addThread(m.ID, c, d.cfg.BotID, body.Name)), nil
}

// addThread makes a thread. d.mu is held.
func (d *Discord) addThread(id string, parent *discordChannel, owner, name string) *discordChannel {
	c := d.addChannel(&discordChannel{id: id, guild: parent.guild, parent: parent.id, owner: owner, name: name, kind: DiscordThread})
	d.dispatch("THREAD_CREATE", d.wireChannel(c), c.guild, intentGuilds)
	return c
}

// StartThread has a person start a thread, from a message or, with none, on
// its own. It tells the thread's id.
func (d *Discord) StartThread(channel, message, user, name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := message
	if id == "" {
		id = d.newID()
	}
	parent := d.channel(channel)
	c := d.addThread(id, parent, user, name)
	if message != "" {
		d.add(c, &DiscordMessage{Author: user, Type: 21, ReplyTo: message, reference: parent.id})
	}
	return id
}

// ForumPost has a person open a post in a forum; its first message has the id
// of the post.
func (d *Discord) ForumPost(forum, user, title, text string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.addThread(d.newID(), d.channel(forum), user, title)
	d.add(c, &DiscordMessage{ID: c.id, Author: user, Text: text})
	return c.id
}

func (d *Discord) getChannel(req *discordRequest) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], 0)
	if err != nil {
		return nil, err
	}
	return d.wireChannel(c), nil
}

func (d *Discord) modifyChannel(req *discordRequest) (any, *discordError) {
	var body struct {
		Archived *bool `json:"archived"`
	}
	if err := req.decode(&body); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], d.channels[req.ids[0]].sendRight())
	if err != nil {
		return nil, err
	}
	if c.locked {
		return nil, dcRefuse(403, 50013, "Missing Permissions")
	}
	if body.Archived != nil {
		c.archived = *body.Archived
	}
	return d.wireChannel(c), nil
}
