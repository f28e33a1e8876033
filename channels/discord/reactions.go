package discord

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

var _ channels.Reactor = (*Channel)(nil)

// React puts a reaction on a message, or with an empty emoji removes the bot's.
// What can't be reacted with, or to, is left out.
func (c *Channel) React(ctx context.Context, to channels.Target, id, emoji string) error {
	place, _ := address(to)
	if place == id && to.Chat != "" {
		place = to.Chat // the thread was started from it, so it is not in it
	}
	err := c.reactIn(ctx, place, id, emoji)
	if codeOf(err) == discordgo.ErrCodeUnknownMessage && place == to.Chat {
		if thread, _ := address(to); thread != place {
			err = c.reactIn(ctx, thread, id, emoji) // a forum post's first message
		}
	}
	switch codeOf(err) {
	case codeUnknownEmoji, discordgo.ErrCodeUnknownMessage, discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeTooManyReactions, 50013, 90001, 50083:
		return nil
	}
	return err
}

func (c *Channel) reactIn(ctx context.Context, channel, id, emoji string) error {
	if !isSnowflake(id) {
		return nil
	}
	if emoji != "" {
		return c.reaction(ctx, "PUT", channel, id, emoji)
	}
	var m message
	if err := c.call(ctx, request{op: "message", method: "GET", address: discordgo.EndpointChannelMessage(channel, id), major: channel}, &m); err != nil {
		return err
	}
	var failed []error
	for _, r := range m.Reactions {
		if !r.Me {
			continue
		}
		name := r.Emoji.Name
		if r.Emoji.ID != "" {
			name += ":" + r.Emoji.ID
		}
		failed = append(failed, c.reaction(ctx, "DELETE", channel, id, name))
	}
	return errors.Join(failed...)
}

func (c *Channel) reaction(ctx context.Context, method, channel, id, emoji string) error {
	return c.call(ctx, request{
		op: "reaction", method: method, major: channel, timeout: draftTimeout,
		address: discordgo.EndpointChannelMessage(channel, id) + "/reactions/" + escapeEmoji(emoji) + "/@me",
	}, nil)
}

func escapeEmoji(emoji string) string { return strings.ReplaceAll(url.PathEscape(emoji), ":", "%3A") }
