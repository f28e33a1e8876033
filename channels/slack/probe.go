package slack

import (
	"context"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

const (
	// probeBack is how far back a message is looked for. What was sent earlier is
	// not sent again anyway.
	probeBack  = 2 * time.Hour
	probePage  = 200
	probePages = 5
)

// clockSkew is how far apart the clocks here and at Slack may be.
const clockSkew = time.Minute

// Probe looks for a message of the bot with this nonce in its metadata. A stream
// has no metadata before it is ended; it is known as the last message in the
// thread that has none and is not older than the nonce.
func (c *Channel) Probe(ctx context.Context, to channels.Target, nonce string) (string, error) {
	oldest := fmt.Sprintf("%d.000000", time.Now().Add(-probeBack).Unix())
	cursor, begun := "", ""
	for range probePages {
		messages, next, err := c.page(ctx, to, oldest, cursor)
		if err != nil {
			return "", err
		}
		for i := range messages {
			m := &messages[i].Msg
			if m.Metadata.EventType == nonceEvent && m.Metadata.EventPayload["nonce"] == nonce {
				return m.Timestamp, nil
			}
			if m.Timestamp > begun && c.maybeStream(to, m, nonce) {
				begun = m.Timestamp
			}
		}
		if next == "" {
			break
		}
		cursor = next
	}
	return begun, nil
}

// maybeStream tells whether a message may be the stream that was begun with this
// nonce.
func (c *Channel) maybeStream(to channels.Target, m *slack.Msg, nonce string) bool {
	made, ok := channels.NonceTime(nonce)
	me := c.me.Load()
	return ok && to.Thread != "" && me != nil && m.BotID == me.bot && m.Metadata.EventType == "" && len(m.Files) == 0 &&
		me.readsMetadata && c.streams.get(to, m.Timestamp) == nil && !timeOf(m.Timestamp).Before(made.Add(-clockSkew))
}

// page reads a page of a thread, or of a channel.
func (c *Channel) page(ctx context.Context, to channels.Target, oldest, cursor string) (messages []slack.Message, next string, err error) {
	if to.Thread != "" {
		err = c.call(ctx, callTimeout, "conversations.replies", func(ctx context.Context) (err error) {
			messages, _, next, err = c.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
				ChannelID: to.Chat, Timestamp: to.Thread, Oldest: oldest, Cursor: cursor, Limit: probePage, IncludeAllMetadata: true,
			})
			return err
		})
		return messages, next, err
	}
	err = c.call(ctx, callTimeout, "conversations.history", func(ctx context.Context) error {
		page, err := c.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
			ChannelID: to.Chat, Oldest: oldest, Cursor: cursor, Limit: probePage, IncludeAllMetadata: true,
		})
		if err == nil {
			messages, next = page.Messages, page.ResponseMetaData.NextCursor
		}
		return err
	})
	return messages, next, err
}
