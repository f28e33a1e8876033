package gateway

import (
	"context"
	"time"

	"clawbot/channels"
)

// partFor is how long the bot takes part in a thread after the last thing that
// happened there.
const partFor = 24 * time.Hour

// takesPart reports whether a message that names nobody is meant for the bot,
// because it continues a thread that the bot has answered in and the sender may
// speak. The session is asked, so that it holds on every replica and after a
// restart.
func (h *host) takesPart(ctx context.Context, in *channels.Inbound) (bool, error) {
	if !in.Continues || in.Addressed || in.Sender.Bot || in.Kind != channels.Message {
		return false, nil
	}
	named := *in
	named.Addressed = true
	who := h.g.rules.person(h.channel.Name(), in.Sender.ID)
	if v, _, _ := h.g.config().judge(h.channel.Name(), &named, who); v != admit {
		return false, nil
	}
	info, err := h.g.sessionInfo(ctx, in.Target.Conversation)
	if err != nil {
		return false, err
	}
	return (info.Tail > 0 || info.Waiting > 0) && time.Since(info.LastActive) < partFor, nil
}
