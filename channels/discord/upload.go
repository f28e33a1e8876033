package discord

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

var _ channels.Uploader = (*Channel)(nil)

const (
	// maxUpload is what bots may send, in bytes; servers with boosts take more.
	maxUpload     = 10 << 20
	uploadTimeout = 5 * time.Minute
)

// Upload sends a file of at most 10 MB.
func (c *Channel) Upload(ctx context.Context, to channels.Target, name, mimeType string, r io.Reader) (string, error) {
	if name == "" {
		name = "file"
	}
	data, err := io.ReadAll(io.LimitReader(r, maxUpload+1))
	if err != nil {
		return "", &channels.SendError{Outcome: channels.Rejected, Err: fmt.Errorf("discord: read %q: %w", name, err)}
	}
	if len(data) > maxUpload {
		return "", &channels.SendError{
			Outcome: channels.Rejected, Reason: channels.ReasonTooLong,
			Err: fmt.Errorf("discord: %q is too big: bots can send files up to 10 MB", name),
		}
	}
	channel, err := c.place(ctx, to)
	if err != nil {
		return "", err
	}
	form, kind, err := fileForm(name, mimeType, data)
	if err != nil {
		return "", &channels.SendError{Outcome: channels.Rejected, Err: fmt.Errorf("discord: send %q: %w", name, err)}
	}
	var sent message
	err = c.call(ctx, request{
		op: "send", method: "POST", address: discordgo.EndpointChannelMessages(channel), major: channel,
		raw: form, mime: kind, timeout: uploadTimeout,
	}, &sent)
	return sent.ID, err
}

var quoteEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", " ", "\n", " ")

func fileForm(name, mimeType string, data []byte) (form []byte, kind string, err error) {
	message, err := json.Marshal(map[string]any{"allowed_mentions": nobody(), "nonce": rand.Text()[:24], "enforce_nonce": true})
	if err != nil {
		return nil, "", err
	}
	if mimeType == "" {
		mimeType = "application/octet-stream"
	}
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, part := range []struct {
		disposition, kind string
		data              []byte
	}{
		{`form-data; name="payload_json"`, "application/json", message},
		{`form-data; name="files[0]"; filename="` + quoteEscaper.Replace(name) + `"`, mimeType, data},
	} {
		p, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {part.disposition}, "Content-Type": {part.kind}})
		if err != nil {
			return nil, "", err
		}
		if _, err := p.Write(part.data); err != nil {
			return nil, "", err
		}
	}
	err = w.Close()
	return out.Bytes(), w.FormDataContentType(), err
}
