package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"clawbot/channels"
)

const (
	// maxUpload is what bots may send, in bytes.
	maxUpload = 50 << 20
	// maxPhoto is the largest picture that is sent as a photo.
	maxPhoto      = 10 << 20
	uploadTimeout = 5 * time.Minute
)

func messageText(id int) string { return strconv.Itoa(id) }

// Upload sends a file: pictures as photos if Telegram takes them, everything
// else as a document.
func (c *Channel) Upload(ctx context.Context, to channels.Target, name, mimeType string, r io.Reader) (string, error) {
	if name == "" {
		name = "file"
	}
	if mimeType == "image/jpeg" || mimeType == "image/png" {
		head, err := io.ReadAll(io.LimitReader(r, maxPhoto+1))
		if err != nil {
			return "", unread(name, err)
		}
		if len(head) <= maxPhoto {
			id, err := c.sendPhoto(ctx, to, name, head)
			if !refusal(err, "photo", "image", "dimensions") {
				return id, err
			}
		}
		r = io.MultiReader(bytes.NewReader(head), r)
	}
	return c.sendDocument(ctx, to, name, r)
}

func (c *Channel) sendPhoto(ctx context.Context, to channels.Target, name string, data []byte) (string, error) {
	var sent *models.Message
	err := c.call(ctx, uploadTimeout, &attempt{stream: true}, "sendPhoto", func(ctx context.Context) (err error) {
		sent, err = c.api.SendPhoto(ctx, &bot.SendPhotoParams{
			ChatID: c.chat(to), MessageThreadID: sendThread(to), ReplyParameters: replyTo(to),
			Photo: &models.InputFileUpload{Filename: name, Data: bytes.NewReader(data)},
		})
		return err
	})
	if err != nil {
		return "", err
	}
	return messageText(sent.ID), nil
}

func (c *Channel) sendDocument(ctx context.Context, to channels.Target, name string, r io.Reader) (string, error) {
	source := &upload{r: r}
	var sent *models.Message
	err := c.call(ctx, uploadTimeout, &attempt{stream: true}, "sendDocument", func(ctx context.Context) (err error) {
		sent, err = c.api.SendDocument(ctx, &bot.SendDocumentParams{
			ChatID: c.chat(to), MessageThreadID: sendThread(to), ReplyParameters: replyTo(to),
			Document: &models.InputFileUpload{Filename: name, Data: source},
		})
		return err
	})
	switch {
	case err == nil:
		return messageText(sent.ID), nil
	case source.err != nil:
		// The request was never completed, so it was not executed.
		return "", unread(name, source.err)
	}
	return "", err
}

func unread(name string, err error) error {
	reason := channels.ReasonOther
	if errors.Is(err, errUploadSize) {
		reason = channels.ReasonTooLong
	}
	return &channels.SendError{Outcome: channels.Rejected, Reason: reason, Err: fmt.Errorf("telegram: send %q: %w", name, err)}
}

var errUploadSize = errors.New("bots can send files up to 50 MB; share it some other way or make it smaller")

// upload bounds what is sent and remembers why reading it failed.
type upload struct {
	r    io.Reader
	size int64
	err  error
}

// Read reads, and fails beyond the limit.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if u.size += int64(n); u.size > maxUpload {
		err = errUploadSize
	}
	if err != nil && err != io.EOF {
		u.err = err
	}
	return n, err
}
