package gateway

import (
	"context"
	"fmt"
	"io"

	"clawbot/channels"
	"clawbot/tools"
)

// conversation is what tools may do to the chat that they run in.
type conversation struct {
	host *host
	to   channels.Target
	env  *environment
}

var _ tools.Conversation = (*conversation)(nil)

// SendFile implements [tools.Conversation].
func (c *conversation) SendFile(ctx context.Context, name, mimeType string, r io.Reader) error {
	up, ok := c.host.channel.(channels.Uploader)
	if !ok {
		return fmt.Errorf("%s takes no files; say where the file is in the workspace", c.host.channel.Name())
	}
	_, err := up.Upload(ctx, c.to, name, mimeType, r)
	return err
}
