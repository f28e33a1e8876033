package slack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

const (
	// maxUpload bounds a file that is sent, in bytes: it is held in memory,
	// because Slack wants to know its size first.
	maxUpload     = 50 << 20
	uploadTimeout = 5 * time.Minute
)

var errUploadSize = fmt.Errorf("files up to %d MB are sent; share it some other way or make it smaller", maxUpload>>20)

// Upload sends a file and returns its id. Slack is asked for an address, gets
// the bytes there, and then shows the file: nothing is seen before the last of
// these calls.
func (c *Channel) Upload(ctx context.Context, to channels.Target, name, _ string, r io.Reader) (string, error) {
	if name == "" {
		name = "file"
	}
	data, err := io.ReadAll(io.LimitReader(r, maxUpload+1))
	switch {
	case err != nil:
		return "", unsent(name, channels.ReasonOther, err)
	case len(data) > maxUpload:
		return "", unsent(name, channels.ReasonTooLong, errUploadSize)
	case len(data) == 0:
		return "", unsent(name, channels.ReasonOther, errors.New("the file is empty, and Slack takes no empty files"))
	}
	var place *slack.GetUploadURLExternalResponse
	err = c.call(ctx, finalTimeout, "files.getUploadURLExternal", func(ctx context.Context) (err error) {
		place, err = c.api.GetUploadURLExternalContext(ctx, slack.GetUploadURLExternalParameters{FileName: name, FileSize: len(data)})
		return err
	})
	if err != nil {
		return "", before(err)
	}
	err = c.call(ctx, uploadTimeout, "upload", func(ctx context.Context) error {
		return c.api.UploadToURL(ctx, slack.UploadToURLParameters{UploadURL: place.UploadURL, Reader: bytes.NewReader(data), Filename: name})
	})
	if err != nil {
		return "", before(err)
	}
	err = c.call(ctx, finalTimeout, "files.completeUploadExternal", func(ctx context.Context) error {
		_, err := c.api.CompleteUploadExternalContext(ctx, slack.CompleteUploadExternalParameters{
			Files: []slack.FileSummary{{ID: place.FileID, Title: name}}, Channel: to.Chat, ThreadTimestamp: to.Thread,
		})
		return err
	})
	if err != nil {
		return "", err
	}
	return place.FileID, nil
}

func unsent(name string, reason channels.Reason, err error) error {
	return &channels.SendError{Outcome: channels.Rejected, Reason: reason, Err: fmt.Errorf("slack: send %q: %w", name, err)}
}

// before is the failure of a call after which nobody has seen anything yet.
func before(err error) error {
	if e, ok := errors.AsType[*channels.SendError](err); ok && e.Outcome == channels.Unknown {
		e.Outcome = channels.Rejected
	}
	return err
}
