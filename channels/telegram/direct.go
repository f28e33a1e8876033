package telegram

import (
	"context"
	"fmt"
	"strconv"

	"clawbot/channels"
)

var _ channels.Opener = (*Channel)(nil)

// OpenDirect implements [channels.Opener]. A private chat has its person's id;
// whether the person has ever started the bot, and so may be written to, only a
// message can tell.
func (c *Channel) OpenDirect(_ context.Context, user string) (channels.Target, error) {
	if id, err := strconv.ParseInt(user, 10, 64); err != nil || id <= 0 {
		return channels.Target{}, fmt.Errorf("telegram: %q is no person's id", user)
	}
	return channels.Target{Chat: user, User: user, Direct: true, Conversation: "telegram:" + c.botID + ":" + user}, nil
}
