package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"clawbot/channels"
)

var (
	_ channels.Channel     = (*Channel)(nil)
	_ channels.Attachments = (*Channel)(nil)
	_ channels.Checker     = (*Channel)(nil)
)

// allowedUpdates is what the bot asks Telegram for.
var allowedUpdates = []string{"message", "edited_message", "callback_query", "my_chat_member"}

// Receive delivers updates to host until ctx ends.
func (c *Channel) Receive(ctx context.Context, host channels.Host) error {
	defer c.answering.Wait()
	defer c.polls.CloseIdleConnections()
	if err := c.identify(ctx); err != nil {
		return ended(ctx, err)
	}
	stop, err := c.watchMoved(ctx, host)
	if err != nil {
		return ended(ctx, err)
	}
	defer stop()
	if c.cfg.Mode == ModeWebhook {
		err = c.receiveWebhook(ctx, host)
	} else {
		err = c.poll(ctx, host)
	}
	return ended(ctx, err)
}

// ended is Receive's result: nil if ctx ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// arrival is an update on its way to the host.
type arrival struct {
	update   int64
	chat     int64 // the order of what is in one chat is kept
	in       *channels.Inbound
	callback string // a button press to be answered
	moved    bool   // a migration to be stored
}

// read turns an update into an arrival. It never fails: an update that is of no
// use gives an arrival with nothing to do.
func (c *Channel) read(raw json.RawMessage) (a arrival) {
	var u update
	err := json.Unmarshal(raw, &u)
	a.update = u.ID
	if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !wrongType {
		c.log.Warn("skipped an update that can't be read", "update", u.ID, "error", err)
		return a
	}
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("skipped an update that broke its reader", "update", u.ID, "panic", p)
			a = arrival{update: u.ID}
		}
	}()
	switch {
	case u.Message != nil:
		c.readMessage(&a, u.Message, channels.Message)
	case u.Edited != nil:
		c.readMessage(&a, u.Edited, channels.Edit)
	case u.Callback != nil:
		c.readCallback(&a, u.Callback)
	case u.MyMember != nil:
		c.log.Info("the bot's membership changed", "chat", u.MyMember.Chat.ID, "status", u.MyMember.New.Status, "by", u.MyMember.From.ID)
	default:
		c.log.Debug("skipped an update of a kind that is not handled", "update", u.ID)
	}
	return a
}

// eventID is equal for redeliveries of an update and unique among bots.
func (c *Channel) eventID(update int64) string {
	return "tg:" + c.botID + ":" + strconv.FormatInt(update, 10)
}

func (c *Channel) readMessage(a *arrival, m *message, kind channels.Kind) {
	a.chat = m.Chat.ID
	if m.MigrateTo != 0 || m.MigrateFrom != 0 {
		if m.MigrateTo != 0 {
			a.moved = c.moved.add(m.Chat.ID, m.MigrateTo)
		} else {
			a.moved = c.moved.add(m.MigrateFrom, m.Chat.ID)
		}
		return
	}
	me := c.me.Load()
	if m.Chat.ID == 0 || m.ID == 0 || m.From != nil && m.From.ID == me.ID {
		return
	}
	in := &channels.Inbound{
		Kind: kind, EventID: c.eventID(a.update), MessageID: strconv.Itoa(m.ID),
		Target: c.target(m), Sender: m.sender(), Attachments: m.attachments(),
		Quote: m.quoted(), RoomName: m.Chat.Title, At: time.Unix(m.Date, 0),
		Group: m.MediaGroup, Unfinished: kind == channels.Message && cut(m.Text),
	}
	if kind == channels.Edit && m.EditDate != 0 {
		in.At = time.Unix(m.EditDate, 0)
	}
	var named bool
	m.flatten()
	in.Text, named = me.understand(m)
	if m.Text == "" && m.Caption == "" && kind == channels.Message {
		in.Text = m.described()
	}
	in.Addressed = in.Target.Direct || named || m.repliesTo(me.ID)
	if in.Text == "" && len(in.Attachments) == 0 && !named {
		return // a service message, or an edit of something else
	}
	if m.AutoForward {
		in.Kind, in.Addressed = channels.Context, false
	}
	in.Target.User = in.Sender.ID
	a.in = in
}

// cutAt is from which length on a text is probably the first part of a longer
// one: clients cut at 4,096 UTF-16 units or a little before, between words.
const cutAt = 4000

func cut(text string) bool { return units(text) >= cutAt }

// units is the length of a text in UTF-16 units.
func units(text string) (n int) {
	for _, r := range text {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// sender is who wrote m. Who writes in the name of a chat is that chat.
func (m *message) sender() channels.Sender {
	if s := m.SenderChat; s != nil {
		out := channels.Sender{ID: strconv.FormatInt(s.ID, 10), Name: s.Title}
		if s.ID == m.Chat.ID {
			out.Roles = []string{roleAdmin} // an anonymous administrator
		}
		return out
	}
	if m.From == nil {
		return channels.Sender{}
	}
	return m.From.sender()
}

func (u *user) sender() channels.Sender {
	name := strings.TrimSpace(u.FirstName + " " + u.LastName)
	if name == "" {
		name = u.Username
	}
	return channels.Sender{ID: strconv.FormatInt(u.ID, 10), Name: name, Bot: u.IsBot}
}

// repliesTo tells whether m answers a message of the bot. In a topic every
// message seems to answer the one that opened it.
func (m *message) repliesTo(bot int64) bool {
	r := m.ReplyTo
	return r != nil && r.From != nil && r.From.ID == bot && len(r.TopicCreated) == 0 && (!m.IsTopicMessage || r.ID != m.ThreadID)
}

func (m *message) quoted() string {
	if m.Quote != nil && m.Quote.Text != "" {
		return m.Quote.Text
	}
	r := m.ReplyTo
	if r == nil || len(r.TopicCreated) > 0 {
		return ""
	}
	if r.Text != "" {
		return r.Text
	}
	if r.Caption != "" {
		return r.Caption
	}
	return r.described()
}

// described puts in words what has neither text nor a file.
func (m *message) described() string {
	switch {
	case m.Sticker != nil:
		return "[sticker " + m.Sticker.Emoji + "]"
	case m.Venue != nil:
		v := m.Venue
		return fmt.Sprintf("[place: %s, %s (%.6f, %.6f)]", v.Title, v.Address, v.Location.Latitude, v.Location.Longitude)
	case m.Location != nil:
		return fmt.Sprintf("[location: %.6f, %.6f]", m.Location.Latitude, m.Location.Longitude)
	case m.Contact != nil:
		return fmt.Sprintf("[contact: %s, %s]", strings.TrimSpace(m.Contact.FirstName+" "+m.Contact.LastName), m.Contact.Phone)
	case m.Poll != nil:
		options := make([]string, len(m.Poll.Options))
		for i, o := range m.Poll.Options {
			options[i] = o.Text
		}
		return fmt.Sprintf("[poll: %s (%s)]", m.Poll.Question, strings.Join(options, " / "))
	case m.Dice != nil:
		return fmt.Sprintf("[dice %s: %d]", m.Dice.Emoji, m.Dice.Value)
	case m.Checklist != nil:
		tasks := make([]string, len(m.Checklist.Tasks))
		for i, t := range m.Checklist.Tasks {
			tasks[i] = t.Text
		}
		return fmt.Sprintf("[checklist: %s (%s)]", m.Checklist.Title, strings.Join(tasks, " / "))
	case m.Game != nil:
		return "[game: " + m.Game.Title + "]"
	case len(m.Story) > 0:
		return "[a story, which bots can't see]"
	case len(m.PaidMedia) > 0:
		return "[paid media, which bots can't see]"
	case len(m.Invoice) > 0:
		return "[an invoice]"
	case len(m.Giveaway) > 0:
		return "[a giveaway]"
	case len(m.Rich) > 0:
		return "[a message without text that can be read]"
	}
	return ""
}
