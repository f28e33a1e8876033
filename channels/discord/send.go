package discord

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

var (
	_ channels.Typer   = (*Channel)(nil)
	_ channels.Deleter = (*Channel)(nil)
	_ channels.Prober  = (*Channel)(nil)
	_ channels.Buttons = (*Channel)(nil)
)

var (
	errEmpty   = errors.New("discord: there is no text to show")
	errTooLong = errors.New("discord: the text is longer than 2000 characters")
)

func writeTimeout(out channels.Outgoing) time.Duration {
	if out.Draft {
		return draftTimeout
	}
	return finalTimeout
}

const maxNonce = 25

// Post sends a message and returns its id. It starts the thread that the
// message belongs in, if there is to be one. Attempts with the same nonce within
// some minutes are one message.
func (c *Channel) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	b, err := newBody(out)
	if err != nil {
		return "", err
	}
	if id, done := c.answerPrivately(ctx, to, out, &b); done {
		return id, nil
	}
	if b.Nonce = out.Nonce; b.Nonce == "" || len(b.Nonce) > maxNonce {
		b.Nonce = rand.Text()[:24]
	}
	b.Enforce = true
	if out.Silent {
		b.Flags |= flagSilent
	}
	channel, err := c.postTo(ctx, to, out)
	if err != nil {
		return "", err
	}
	// A message can refer to one of its own channel only.
	if isSnowflake(to.ReplyTo) && (to.Thread != "" || channel == to.Chat) {
		failIfNot := false
		b.Reference = &discordgo.MessageReference{MessageID: to.ReplyTo, FailIfNotExists: &failIfNot}
	}
	var sent message
	err = c.call(ctx, request{
		op: "send", method: "POST", address: discordgo.EndpointChannelMessages(channel), major: channel,
		body: &b, draft: out.Draft, timeout: writeTimeout(out),
	}, &sent)
	if err != nil {
		return "", err
	}
	if sent.ID == "" {
		return "", &channels.SendError{Outcome: channels.Unknown, Err: errors.New("discord send: the answer names no message")}
	}
	c.nonces.put(b.Nonce, sent.ID)
	return sent.ID, nil
}

// postTo is the channel to send to. For a notice to one person no thread is
// started.
func (c *Channel) postTo(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	if channel, fresh := address(to); out.Private && fresh {
		if there, _ := c.threads.known(channel); !there {
			return to.Chat, nil
		}
	}
	return c.place(ctx, to)
}

// Edit replaces a message's text and buttons.
func (c *Channel) Edit(ctx context.Context, to channels.Target, id string, out channels.Outgoing) error {
	b, err := newBody(out)
	if err != nil {
		return err
	}
	if i := c.interactions.ofMessage(id); i != nil {
		return c.editAnswer(ctx, i, &b)
	}
	return c.inChannel(to, id, func(channel string) error {
		return c.call(ctx, request{
			op: "edit", method: "PATCH", address: discordgo.EndpointChannelMessage(channel, id), major: channel,
			body: &b, draft: out.Draft, timeout: writeTimeout(out),
		}, nil)
	}, func(channel string) error { return c.unarchive(ctx, channel) })
}

// Delete removes a message of the bot; one that is gone already is a success.
func (c *Channel) Delete(ctx context.Context, to channels.Target, id string) error {
	err := c.inChannel(to, id, func(channel string) error {
		return c.call(ctx, request{
			op: "delete", method: "DELETE", address: discordgo.EndpointChannelMessage(channel, id), major: channel, timeout: finalTimeout,
		}, nil)
	}, func(channel string) error { return c.unarchive(ctx, channel) })
	if e, ok := errors.AsType[*channels.SendError](err); ok && e.Reason == channels.ReasonGone {
		return nil
	}
	return err
}

// inChannel does something with a message where it probably is; if the thread
// that it should be in was never started, in the room; and once more in a thread
// that had to be opened.
func (c *Channel) inChannel(to channels.Target, id string, do, open func(channel string) error) error {
	if !isSnowflake(id) {
		return &channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonGone, Err: errors.New("discord: " + id + " is no message id")}
	}
	channel := c.shownIn(to)
	err := do(channel)
	switch codeOf(err) {
	case discordgo.ErrCodeUnknownChannel:
		if _, fresh := address(to); fresh && channel != to.Chat {
			return do(to.Chat)
		}
	case codeArchived:
		if open(channel) == nil {
			return do(channel)
		}
	}
	return err
}

// probeDepth is how many of a channel's last messages are looked at.
const probeDepth = 50

// Probe finds the message that was sent with a nonce: the gateway told of it,
// or the history does. Sending it once more would not make a second one for some
// minutes, so not to find one that is there does no harm.
func (c *Channel) Probe(ctx context.Context, to channels.Target, nonce string) (string, error) {
	if nonce == "" {
		return "", nil
	}
	if id := c.nonces.find(nonce); id != "" {
		return id, nil
	}
	channel := c.shownIn(to)
	var page []message
	err := c.call(ctx, request{
		op: "history", method: "GET", address: discordgo.EndpointChannelMessages(channel) + "?limit=" + strconv.Itoa(probeDepth), major: channel,
	}, &page)
	if codeOf(err) == discordgo.ErrCodeUnknownChannel {
		return "", nil // the thread was not even started
	}
	if err != nil {
		return "", err
	}
	for i := range page {
		if page[i].Nonce == nonce && page[i].Author != nil && page[i].Author.ID == c.botID {
			return page[i].ID, nil
		}
	}
	return "", nil
}

// typingAgain is when the sign must be renewed, in seconds; it fades after ten.
const typingAgain = 8

// typingEvery is the time between two of the bot's signs, wherever they are, but
// for a second's worth at once. What is left out costs nobody anything; what is sent counts against the
// bot's limit of calls, which answers need.
const typingEvery = 100 * time.Millisecond

// Typing shows "… is typing" where the answer will be, or in the room as long
// as the thread was not started. Of many at once some are left out.
func (c *Channel) Typing(ctx context.Context, to channels.Target) (int, error) {
	if !c.limits.mayType(time.Now()) {
		return typingAgain, nil
	}
	channel, fresh := address(to)
	if there, _ := c.threads.known(channel); fresh && !there {
		channel = to.Chat
	}
	return typingAgain, c.call(ctx, request{
		op: "typing", method: "POST", address: discordgo.EndpointChannelTyping(channel), major: channel, draft: true, timeout: 5 * time.Second,
	}, nil)
}
