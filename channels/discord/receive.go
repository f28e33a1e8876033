package discord

import (
	"context"
	"fmt"
	"strings"
	"time"

	"clawbot/channels"
)

// Term names the bot, so that one process reads its gateway.
func (c *Channel) Term(context.Context) (string, error) { return "dc:" + c.botID, nil }

// Receive delivers events to host until ctx ends.
func (c *Channel) Receive(ctx context.Context, host channels.Host) error {
	defer c.beside.Wait()
	defer c.http.CloseIdleConnections()
	err := c.receive(ctx, host)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *Channel) receive(ctx context.Context, host channels.Host) error {
	if err := c.identify(ctx); err != nil {
		return err
	}
	var data []byte
	err := c.insist(ctx, "read where the bot talks", func() (err error) {
		data, err = host.Get(ctx, talksKey)
		return err
	})
	if err != nil {
		return err
	}
	if err := c.talks.load(data); err != nil {
		c.log.Warn("the list of talks is damaged and is begun anew", "error", err)
	}
	return c.runShards(ctx, host)
}

// eventID is equal for redeliveries of an event and unique among bots.
func (c *Channel) eventID(kind, id string) string { return "dc:" + c.botID + ":" + kind + ":" + id }

// readMessage normalises a message. It returns nil for what is of no use, and
// an error if Discord has to be asked for something and can't be.
func (c *Channel) readMessage(ctx context.Context, m *message, kind channels.Kind) (*channels.Inbound, error) {
	if !isSnowflake(m.ID) || !isSnowflake(m.ChannelID) || m.Author == nil || m.Author.ID == c.botID {
		return nil, nil
	}
	var ch channelInfo
	if m.GuildID != "" {
		var err error
		if ch, err = c.channelOf(ctx, m.ChannelID); err != nil {
			return nil, err
		}
	}
	switch m.Type {
	case typeDefault, typeReply:
	case typeStarter:
		return c.readStarter(ctx, m, &ch)
	default:
		return nil, nil
	}
	return c.readText(ctx, m, &ch, kind)
}

func (c *Channel) readText(ctx context.Context, m *message, ch *channelInfo, kind channels.Kind) (*channels.Inbound, error) {
	in := &channels.Inbound{
		Kind: kind, EventID: c.eventID("m", m.ID), MessageID: m.ID, Target: c.target(m.GuildID, m.ChannelID, m.ID, ch),
		Attachments: m.attachments(), Guild: m.GuildID, RoomName: ch.Name, At: m.at(m.Timestamp),
	}
	if kind == channels.Edit {
		in.EventID, in.At = c.eventID("e", m.ID+"."+m.Edited), m.at(m.Edited)
	}
	own, err := c.ownRoles(ctx, m)
	if err != nil {
		return nil, err
	}
	text, meant := c.understand(m, own)
	in.Addressed = in.Target.Direct || meant || m.repliesTo(c.botID) || ch.OwnerID == c.botID && m.toNobodyElse(c.botID)
	in.Continues = ch.thread() && m.toNobodyElse(c.botID)
	if in.Text = text; text == "" && kind == channels.Message {
		in.Text = m.described()
	}
	if in.Text == "" && len(in.Attachments) == 0 && !meant {
		return nil, nil
	}
	if r := m.Referenced; r != nil && m.Type == typeReply {
		in.Quote, _ = c.understand(r, nil)
		if in.Quote == "" {
			in.Quote = r.described()
		}
	}
	if in.Sender, err = c.senderOf(ctx, m, in.Addressed || in.Continues); err != nil {
		return nil, err
	}
	in.Target.User = in.Sender.ID
	return in, nil
}

// readStarter reads what stands at the head of a thread for the message that
// it was started from: context for whoever is asked something there. A thread
// that the bot started is about a message that it knows.
func (c *Channel) readStarter(ctx context.Context, m *message, ch *channelInfo) (*channels.Inbound, error) {
	r := m.Referenced
	if r == nil || r.Author == nil || ch.OwnerID == c.botID || r.Author.ID == c.botID {
		return nil, nil
	}
	r.GuildID = m.GuildID
	text, _ := c.understand(r, nil)
	if text == "" {
		text = r.described()
	}
	sender, err := c.senderOf(ctx, r, false)
	if err != nil || text == "" {
		return nil, err
	}
	to := c.target(m.GuildID, m.ChannelID, m.ID, ch)
	to.User = sender.ID
	return &channels.Inbound{
		Kind: channels.Context, EventID: c.eventID("s", m.ID), MessageID: r.ID, Target: to,
		Sender: sender, Text: text, Guild: m.GuildID, RoomName: ch.Name, At: r.at(r.Timestamp),
	}, nil
}

// toNobodyElse reports whether a message is not plainly said to others than the
// bot: then it is meant for the bot in a thread that it started, and continues
// the talk in one that it takes part in.
func (m *message) toNobodyElse(bot string) bool {
	if m.Everyone || len(m.Mentions) > 0 || len(m.MentionRoles) > 0 {
		return false
	}
	return m.Type != typeReply || m.Referenced == nil || m.Referenced.Author == nil || m.Referenced.Author.ID == bot
}

func (m *message) repliesTo(bot string) bool {
	return m.Type == typeReply && m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == bot
}

func (m *message) at(stamp string) time.Time {
	if t, err := time.Parse(time.RFC3339, stamp); err == nil {
		return t
	}
	return snowflakeTime(m.ID)
}

// described puts in words what has neither text nor a file.
func (m *message) described() string {
	switch {
	case len(m.Snapshots) > 0:
		s := m.Snapshots[0].Message
		if text := strings.TrimSpace(s.Content); text != "" {
			return "[forwarded] " + text
		}
		return "[forwarded]"
	case len(m.Stickers) > 0:
		return "[sticker " + m.Stickers[0].Name + "]"
	case m.Poll != nil:
		answers := make([]string, len(m.Poll.Answers))
		for i, a := range m.Poll.Answers {
			answers[i] = a.Media.Text
		}
		return fmt.Sprintf("[poll: %s (%s)]", m.Poll.Question.Text, strings.Join(answers, " / "))
	}
	return ""
}

// readUpdate turns an update of a message into an edit, if it is one: Discord
// updates messages for link previews, pins and the like, too.
func (c *Channel) readUpdate(ctx context.Context, m *message) (*channels.Inbound, error) {
	was, known, changed := c.recent.changed(m)
	if !changed || m.Content == nil {
		return nil, nil
	}
	in, err := c.readMessage(ctx, m, channels.Edit)
	if in != nil && known {
		in.Addressed = in.Addressed || was.addressed
	}
	return in, err
}

// readDelete tells of a deleted message, if it was one that a person sent
// lately: of others nobody knows whose they were.
func (c *Channel) readDelete(ctx context.Context, guild, channel, id string) (*channels.Inbound, error) {
	was, ok := c.recent.find(id)
	if !ok || !isSnowflake(channel) {
		return nil, nil
	}
	var ch channelInfo
	if guild != "" {
		var err error
		if ch, err = c.channelOf(ctx, channel); err != nil {
			return nil, err
		}
	}
	in := &channels.Inbound{
		Kind: channels.Delete, EventID: c.eventID("d", id), MessageID: id, Target: c.target(guild, channel, id, &ch),
		Sender: was.sender, Addressed: was.addressed, Guild: guild, RoomName: ch.Name, At: time.Now(),
	}
	in.Target.User = was.sender.ID
	return in, nil
}
