package discord

import (
	"context"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

var _ channels.Opener = (*Channel)(nil)

// OpenDirect implements [channels.Opener]. Discord gives the same channel every
// time. Somebody who shares no server with the bot, or takes no messages from
// its members, is refused when they are written to.
func (c *Channel) OpenDirect(ctx context.Context, user string) (channels.Target, error) {
	var opened struct {
		ID string `json:"id"`
	}
	err := c.call(ctx, request{
		op: "open a private channel", method: "POST", address: discordgo.EndpointUserChannels("@me"), major: "@me",
		body: map[string]string{"recipient_id": user},
	}, &opened)
	if err != nil {
		return channels.Target{}, err
	}
	to := c.target("", opened.ID, "", nil)
	to.User = user
	return to, nil
}
