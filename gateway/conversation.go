package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"clawbot/channels"
	"clawbot/tools"
)

// conversation is what tools may do to the chat that they run in.
type conversation struct {
	host *host
	to   channels.Target
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

// Schedule implements [tools.Conversation].
func (c *conversation) Schedule(context.Context, json.RawMessage) (json.RawMessage, error) {
	return nil, fmt.Errorf("this bot has no schedules: %w", errors.ErrUnsupported)
}
