package discord

import (
	"context"
	"errors"
	"strings"
	"sync"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/markdown"
)

var _ channels.Threads = (*Channel)(nil)

// target is where an answer to a message goes. The conversation of a thread is
// the thread; of a message in a room it is the thread that is to be started
// from it, which will have the message's id. Until then Thread is empty, so that
// what is said in the room stays one conversation to overhear.
func (c *Channel) target(guild, channel, id string, ch *channelInfo) channels.Target {
	if guild == "" {
		return channels.Target{Conversation: c.cfg.Name + ":@me:" + channel, Chat: channel, Direct: true}
	}
	to := channels.Target{Conversation: c.cfg.Name + ":" + guild + ":", Chat: channel, ReplyTo: id}
	switch {
	case ch.thread():
		to.Conversation += channel
		to.Thread = channel
		if ch.ParentID != "" {
			to.Chat = ch.ParentID
		}
		if id == channel {
			to.ReplyTo = "" // a forum post's own message
		}
	case c.replyIn(to.Chat) != InChannel && (ch.Type == kindText || ch.Type == kindAnnouncement) && isSnowflake(id):
		to.Conversation += id
	default:
		to.Conversation += channel
	}
	return to
}

// replyIn says where a message in a channel is answered.
func (c *Channel) replyIn(channel string) string {
	if own := c.cfg.ReplyInRooms[channel]; own != "" {
		return own
	}
	return c.cfg.ReplyIn
}

// address is the channel that a target's messages are in. With fresh, it is a
// thread that may have to be started, from the message with its id in to.Chat.
func address(to channels.Target) (channel string, fresh bool) {
	if to.Thread != "" {
		return to.Thread, false
	}
	last := to.Conversation[strings.LastIndexByte(to.Conversation, ':')+1:]
	if to.Direct || last == to.Chat || !isSnowflake(last) {
		return to.Chat, false
	}
	return last, true
}

// guildIn is the server that a conversation is in, "" if it is private.
func guildIn(to channels.Target) string {
	parts := strings.Split(to.Conversation, ":")
	if to.Direct || len(parts) < 3 {
		return ""
	}
	return parts[len(parts)-2]
}

// threads knows what became of the threads that were to be started.
type threads struct {
	mu  sync.Mutex
	all ring[bool] // true: it is there; false: it can't be, and the room is answered in
}

func (t *threads) known(id string) (there, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	there, ok = t.all.values[id]
	return there, ok
}

func (t *threads) settle(id string, there bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.put(id, there)
}

// place finds the channel to write to, and starts the thread if there has to be
// one first.
func (c *Channel) place(ctx context.Context, to channels.Target) (string, error) {
	channel, fresh := address(to)
	if !fresh {
		return channel, nil
	}
	there, known := c.threads.known(channel)
	if !known {
		started, err := c.StartThread(ctx, to, "")
		if err != nil {
			return "", err
		}
		there = started.Thread != ""
	}
	if !there {
		return to.Chat, nil
	}
	return channel, nil
}

// shownIn is where a message of the target probably is, without starting
// anything.
func (c *Channel) shownIn(to channels.Target) string {
	channel, fresh := address(to)
	if there, known := c.threads.known(channel); fresh && known && !there {
		return to.Chat
	}
	return channel
}

// StartThread starts the thread of a conversation that a message in a room
// began. Where threads can't be started, the target stays as it is, and the room
// is answered in.
func (c *Channel) StartThread(ctx context.Context, to channels.Target, title string) (channels.Target, error) {
	id, fresh := address(to)
	if !fresh {
		return to, nil
	}
	if title = threadName(title); title == "" {
		var err error
		if title, err = c.titleFor(ctx, to.Chat, id); err != nil {
			return to, err
		}
	}
	err := c.call(ctx, request{
		op: "start thread", method: "POST", address: discordgo.EndpointChannelMessageThread(to.Chat, id), major: to.Chat,
		body: map[string]any{"name": title, "auto_archive_duration": 1440}, timeout: finalTimeout,
	}, nil)
	switch code := codeOf(err); {
	case err == nil, code == codeThreadThere:
		c.threads.settle(id, true)
		to.Thread, to.ReplyTo = id, ""
		return to, nil
	case code == 50013, code == codeWrongKind, code == codeThreadsMax:
		agentcore.LoggerOf(ctx, c.log).Warn("a thread can't be started; the answer goes into the channel itself", "discord_channel", to.Chat, "error", err,
			"remedy", "give the bot the permission \"Create Public Threads\" there, or set reply_in = \"channel\"")
		c.threads.settle(id, false)
		return to, nil
	}
	return to, again(err)
}

// again turns the unknown outcome of what can be repeated into "not now": the
// message itself was not sent.
func again(err error) error {
	if e, ok := errors.AsType[*channels.SendError](err); ok && e.Outcome == channels.Unknown {
		return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: connectAgain, Err: e.Err}
	}
	return err
}

// titleFor makes a thread's name of the message that it is started from.
func (c *Channel) titleFor(ctx context.Context, channel, id string) (string, error) {
	var m message
	err := c.call(ctx, request{op: "message", method: "GET", address: discordgo.EndpointChannelMessage(channel, id), major: channel}, &m)
	if err != nil && channels.OutcomeOf(err) != channels.Rejected {
		return "", again(err)
	}
	// Which roles are the bot's own does not matter: none belongs in a name.
	text, _ := c.understand(&m, m.MentionRoles)
	if text = threadName(text); text == "" {
		text = "Conversation"
	}
	return text, nil
}

const maxThreadName = 100 // UTF-16 units

// threadName makes one line of a text, short enough for a name.
func threadName(text string) string {
	text = strings.Join(strings.FieldsFunc(markdown.Clean(text), unicode.IsSpace), " ")
	text = strings.Trim(text, "#*_`>~ ")
	if markdown.UTF16Len(text) <= maxThreadName {
		return text
	}
	end := 0
	for i := range text {
		if markdown.UTF16Len(text[:i]) > maxThreadName-20 {
			break
		}
		end = i
	}
	if space := strings.LastIndexByte(text[:end], ' '); space > end/2 {
		end = space
	}
	return text[:end] + "…"
}

// unarchive opens a thread that nobody wrote in for long, which editing in it
// takes.
func (c *Channel) unarchive(ctx context.Context, channel string) error {
	return c.call(ctx, request{
		op: "open thread", method: "PATCH", address: discordgo.EndpointChannel(channel), major: channel, body: map[string]any{"archived": false},
	}, nil)
}
