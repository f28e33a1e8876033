package slack

import (
	"context"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

var _ channels.Opener = (*Channel)(nil)

// OpenDirect implements [channels.Opener]. It takes the scope im:write.
func (c *Channel) OpenDirect(ctx context.Context, user string) (channels.Target, error) {
	var id string
	err := c.call(ctx, lookTimeout, "conversations.open", func(ctx context.Context) error {
		opened, _, _, err := c.api.OpenConversationContext(ctx, &slack.OpenConversationParameters{Users: []string{user}})
		if err == nil {
			id = opened.ID
		}
		return err
	})
	if err != nil {
		return channels.Target{}, err
	}
	to := c.target(id, "", "", true)
	to.User = user
	return to, nil
}
