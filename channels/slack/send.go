package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/markdown"
)

// Writes are given up after this long; their outcome is then unknown.
const (
	draftTimeout = 10 * time.Second
	finalTimeout = 30 * time.Second
)

func writeTimeout(out channels.Outgoing) time.Duration {
	if out.Draft {
		return draftTimeout
	}
	return finalTimeout
}

// private marks the id of a message that one person saw: Slack lets nobody edit
// it.
const private = "private:"

// nonceEvent is the type of the metadata that carries a nonce.
const nonceEvent = "clawbot_reply"

var (
	errEmpty   = errors.New("slack: there is no text to show")
	errTooLong = fmt.Errorf("slack: the text has more than %d characters", maxText)
	errPrivate = errors.New("slack: a message that only one person sees can't be changed")
)

// compose renders a message and refuses what Slack would.
func compose(out channels.Outgoing) (content, error) {
	m := render(out)
	switch {
	case m.text == "":
		return m, &channels.SendError{Outcome: channels.Rejected, Err: errEmpty}
	case m.length > maxText:
		return m, &channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonTooLong, Err: errTooLong}
	}
	return m, nil
}

// options are the arguments of a message. Mentions in it are inert, and links
// get no previews, which would come and go with the drafts.
func (m *content) options(more ...slack.MsgOption) []slack.MsgOption {
	return append(more, slack.MsgOptionText(m.text, false), slack.MsgOptionBlocks(m.blocks...),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
}

// sectionText is the longest part of a text in a section block, which takes
// 3,000 characters.
const sectionText = 2_900

// withoutMarkdown is the message for a workspace that has no markdown blocks:
// sections of mrkdwn. It reports false if there is no such block.
func (m *content) withoutMarkdown() bool {
	if len(m.blocks) == 0 || m.blocks[0].BlockType() != slack.MBTMarkdown {
		return false
	}
	var sections []slack.Block
	measure := func(src string) int { return markdown.UTF16Len(markdown.SlackMrkdwn(src)) }
	for _, part := range markdown.Split(m.source, sectionText, measure) {
		text := slack.NewTextBlockObject(slack.MarkdownType, markdown.SlackMrkdwn(part.Text), false, false)
		sections = append(sections, slack.NewSectionBlock(text, nil, nil))
	}
	m.blocks = append(sections, m.blocks[1:]...)
	return true
}

// Post sends a message and returns its ts.
func (c *Channel) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	m, err := compose(out)
	if err != nil {
		return "", err
	}
	if out.Private && to.User != "" && !to.Direct && len(out.Buttons) == 0 {
		id, err := c.postPrivate(ctx, to, &m)
		if !is(err, "user_not_in_channel", "user_not_found") {
			return id, err
		}
	}
	if ts, done, err := c.begin(ctx, to, out, &m); done {
		return ts, err
	}
	extra := []slack.MsgOption{marked(out.Nonce)}
	if to.Thread != "" {
		extra = append(extra, slack.MsgOptionTS(to.Thread))
	}
	var ts string
	send := func() error {
		return c.call(ctx, writeTimeout(out), "chat.postMessage", func(ctx context.Context) (err error) {
			_, ts, err = c.api.PostMessageContext(ctx, to.Chat, m.options(extra...)...)
			return err
		})
	}
	if err = c.plainly(ctx, to, &m, send); err != nil {
		return "", err
	}
	c.signs.hidden(to)
	if !out.Draft {
		c.clearSign(ctx, to)
	}
	return ts, nil
}

// marked makes a message known as one that is complete in itself, with its nonce
// if it has one. What is not marked is a stream that was begun; see Probe.
func marked(nonce string) slack.MsgOption {
	return slack.MsgOptionMetadata(slack.SlackMetadata{EventType: nonceEvent, EventPayload: map[string]any{"nonce": nonce}})
}

// plainly sends a message, once more without its markdown block if that is what
// was refused.
func (c *Channel) plainly(ctx context.Context, to channels.Target, m *content, send func() error) error {
	err := send()
	if is(err, "invalid_blocks", "invalid_blocks_format") && m.withoutMarkdown() {
		agentcore.LoggerOf(ctx, c.log).Warn("slack refused the formatting; sending it another way", "conversation", to.Conversation, "error", err)
		err = send()
	}
	return err
}

// postPrivate shows a message to one person. In a thread that has no reply yet
// nobody would see it, so it is shown in the channel then.
func (c *Channel) postPrivate(ctx context.Context, to channels.Target, m *content) (string, error) {
	var extra []slack.MsgOption
	if to.Thread != "" && to.Thread != to.ReplyTo {
		extra = append(extra, slack.MsgOptionTS(to.Thread))
	}
	var ts string
	err := c.plainly(ctx, to, m, func() error {
		return c.call(ctx, finalTimeout, "chat.postEphemeral", func(ctx context.Context) (err error) {
			ts, err = c.api.PostEphemeralContext(ctx, to.Chat, to.User, m.options(extra...)...)
			return err
		})
	})
	if err != nil {
		return "", err
	}
	return private + ts, nil
}

// Edit replaces a message's text and buttons.
func (c *Channel) Edit(ctx context.Context, to channels.Target, id string, out channels.Outgoing) error {
	m, err := compose(out)
	if err != nil {
		return err
	}
	if strings.HasPrefix(id, private) {
		return &channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonGone, Err: errPrivate}
	}
	if grows := c.streams.get(to, id); grows != nil {
		if done, err := c.grow(ctx, to, grows, out, &m); done || err != nil {
			if err == nil && !out.Draft {
				c.clearSign(ctx, to)
			}
			return err
		}
	}
	err = c.update(ctx, to, id, out, &m)
	if is(err, "streaming_state_conflict") { // begun by another process, or its end is not known of
		if stopped := c.stop(ctx, to, id, out.Nonce, ""); stopped != nil && channels.OutcomeOf(stopped) != channels.Rejected {
			return stopped
		}
		err = c.update(ctx, to, id, out, &m)
	}
	if err == nil && !out.Draft {
		c.clearSign(ctx, to)
	}
	return err
}

// update replaces a message by chat.update.
func (c *Channel) update(ctx context.Context, to channels.Target, id string, out channels.Outgoing, m *content) error {
	var extra []slack.MsgOption
	if out.Nonce != "" {
		extra = append(extra, marked(out.Nonce))
	}
	return c.plainly(ctx, to, m, func() error {
		return c.call(ctx, writeTimeout(out), "chat.update", func(ctx context.Context) error {
			_, _, _, err := c.api.UpdateMessageContext(ctx, to.Chat, id, m.options(extra...)...)
			return err
		})
	})
}

// Delete removes a message of the bot; one that is gone already is a success.
func (c *Channel) Delete(ctx context.Context, to channels.Target, id string) error {
	if strings.HasPrefix(id, private) {
		return &channels.SendError{Outcome: channels.Rejected, Err: errPrivate}
	}
	remove := func() error {
		return c.call(ctx, finalTimeout, "chat.delete", func(ctx context.Context) error {
			_, _, err := c.api.DeleteMessageContext(ctx, to.Chat, id)
			return err
		})
	}
	if grows := c.streams.get(to, id); grows != nil {
		if err := grows.acquire(ctx); err != nil {
			return err
		}
		err := c.seal(ctx, to, grows)
		grows.release()
		if err != nil {
			return err
		}
	}
	err := remove()
	if is(err, "cant_delete_message") { // a stream that is not known of here
		stopped := c.stop(ctx, to, id, "", "")
		if stopped != nil && channels.OutcomeOf(stopped) != channels.Rejected {
			return stopped
		}
		if stopped == nil {
			err = remove()
		}
	}
	if is(err, "message_not_found") {
		return nil
	}
	return err
}
