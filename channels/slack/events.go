package slack

import (
	"context"
	"strconv"
	"strings"
	"time"

	"clawbot/channels"
)

// readMessage reads an event of type message. Which subtypes are messages of
// people is listed; all others are notices.
func (c *Channel) readMessage(ev *event) []*arrival {
	switch ev.Subtype {
	case "", "file_share", "thread_broadcast", "me_message", "bot_message":
		return c.arrive(ev, asMessage)
	case "message_changed":
		return c.readChange(ev)
	case "message_deleted":
		return c.readDeletion(ev)
	}
	return nil
}

func (ev *event) direct() bool { return ev.ChannelType == "im" || strings.HasPrefix(ev.Channel, "D") }

// fromBot tells whether a bot wrote, and whether it is this one.
func (c *Channel) fromBot(ev *event) (bot, self bool) {
	me := c.me.Load()
	self = ev.User != "" && ev.User == me.user || ev.BotID != "" && ev.BotID == me.bot
	return self || ev.BotID != "" || ev.Subtype == "bot_message" || ev.User == "USLACKBOT", self
}

// arrive reads a message of a person.
func (c *Channel) arrive(ev *event, as form) []*arrival {
	bot, self := c.fromBot(ev)
	if self || ev.Channel == "" || ev.TS == "" || ev.Text == "" && len(ev.Files) == 0 && len(ev.Attachments) == 0 {
		return nil
	}
	a := c.inbound(ev, ev.TS, ev.ThreadTS)
	a.form, a.in.Kind = as, channels.Message
	a.in.EventID = c.messageKey(ev.Channel, ev.TS)
	a.in.Attachments, a.in.Quote = attachments(ev.Files), quoted(ev.Attachments)
	if bot {
		a.in.Sender = channels.Sender{ID: first(ev.User, ev.BotID), Name: first(ev.Username, ev.BotProfile.Name, ev.BotID), Bot: true}
	}
	if as == asMention {
		a.in.Addressed = true
	}
	return c.admitted(a, ev)
}

// readChange reads message_changed, which tells of previews, counters and the
// bot's own updates as well as of what people changed.
func (c *Channel) readChange(ev *event) []*arrival {
	m := ev.Message
	if m == nil || m.TS == "" || ev.Channel == "" {
		return nil
	}
	m.Channel, m.ChannelType = ev.Channel, ev.ChannelType
	if m.Subtype == "tombstone" { // the root of a thread that goes on
		return c.deletion(ev, m.TS, ev.Previous)
	}
	if bot, _ := c.fromBot(m); bot || m.Edited == nil {
		return nil
	}
	if p := ev.Previous; p != nil && p.Text == m.Text && len(p.Files) == len(m.Files) {
		return nil
	}
	a := c.inbound(m, m.TS, m.ThreadTS)
	a.stamp = ev.EventTS
	a.in.Kind, a.in.At = channels.Edit, timeOf(m.Edited.TS)
	a.in.EventID = c.messageKey(ev.Channel, m.TS) + ":edit:" + m.Edited.TS
	a.in.Attachments = attachments(m.Files)
	return c.admitted(a, m)
}

func (c *Channel) readDeletion(ev *event) []*arrival {
	if ev.DeletedTS == "" || ev.Channel == "" {
		return nil
	}
	return c.deletion(ev, ev.DeletedTS, ev.Previous)
}

func (c *Channel) deletion(ev *event, ts string, was *event) []*arrival {
	if was == nil {
		was = &event{}
	}
	if bot, _ := c.fromBot(was); bot {
		return nil
	}
	was.Channel, was.ChannelType = ev.Channel, ev.ChannelType
	a := c.inbound(was, ts, was.ThreadTS)
	a.stamp, a.raw = ev.EventTS, ""
	a.in.Kind, a.in.At = channels.Delete, timeOf(ev.EventTS)
	a.in.EventID = c.messageKey(ev.Channel, ts) + ":delete"
	return c.admitted(a, was)
}

// readStopped reads that somebody pressed Slack's own stop button in an agent's
// thread.
func (c *Channel) readStopped(ev *event) []*arrival {
	if ev.Channel == "" || ev.User == "" {
		return nil
	}
	c.released(ev.Channel, ev.ThreadTS)
	a := c.inbound(ev, "", ev.ThreadTS)
	a.in.Kind, a.in.Addressed, a.raw = channels.Message, true, "/stop"
	a.in.EventID = c.messageKey(ev.Channel, ev.ThreadTS) + ":stopped:" + ev.EventTS
	return c.admitted(a, ev)
}

// released takes Slack's own sign of work away, beside receiving: Slack leaves
// that to the app. The streams of the thread Slack has ended itself.
func (c *Channel) released(chat, thread string) {
	if thread == "" {
		return
	}
	c.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), signTimeout)
		defer cancel()
		if err := c.status(ctx, channels.Target{Chat: chat, Thread: thread}, ""); err != nil {
			c.log.Debug("the sign of work stays for a while", "chat", chat, "error", err)
		}
	})
}

// inbound makes the part of an arrival that all events of a message share.
func (c *Channel) inbound(ev *event, ts, thread string) *arrival {
	me, direct := c.me.Load(), ev.direct()
	to := c.target(ev.Channel, ts, thread, direct)
	to.User = ev.User
	named, other := me.mentioned(ev.Text)
	in := &channels.Inbound{MessageID: ts, Target: to, Sender: channels.Sender{ID: ev.User}, At: timeOf(first(ts, ev.EventTS))}
	inThread := !direct && thread != "" && thread != ts
	in.Addressed = direct || named || inThread && !other && ev.ParentUser == me.user
	in.Continues = inThread && !other
	return &arrival{lane: ev.Channel, stamp: first(ev.EventTS, ts), raw: ev.Text, in: in}
}

// admitted leaves out what people of other organisations wrote.
func (c *Channel) admitted(a *arrival, ev *event) []*arrival {
	me := c.me.Load()
	team := first(ev.UserTeam, ev.SourceTeam, ev.Team)
	if team != "" && team != me.team && me.enterprise == "" && c.cfg.Connect == ConnectOff {
		c.log.Debug("dropped a message of somebody from another organisation", "user", ev.User, "team", team, "chat", ev.Channel)
		return nil
	}
	return []*arrival{a}
}

// messageKey names a message in all workspaces.
func (c *Channel) messageKey(channel, ts string) string {
	return "slack:" + c.me.Load().team + ":" + channel + ":" + ts
}

func first(of ...string) string {
	for _, s := range of {
		if s != "" {
			return s
		}
	}
	return ""
}

// timeOf reads a ts, which is seconds and microseconds.
func timeOf(ts string) time.Time {
	seconds, fraction, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Now()
	}
	micro, _ := strconv.ParseInt(fraction, 10, 64)
	return time.Unix(n, micro*1000)
}
