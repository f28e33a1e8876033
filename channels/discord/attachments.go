package discord

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

// maxDownload is how much of an attachment is fetched, in bytes. Discord takes
// far larger files from people.
const maxDownload = 25 << 20

// attachments lists the files of m. Their addresses expire, so a file is named
// by where it is: channel, message, attachment.
func (m *message) attachments() []channels.Attachment {
	files := m.Attachments
	for i := range m.Snapshots {
		files = append(files, m.Snapshots[i].Message.Attachments...)
	}
	var out []channels.Attachment
	for i := range files {
		f := &files[i]
		if !isSnowflake(f.ID) {
			continue
		}
		mime, _, _ := strings.Cut(f.Type, ";")
		a := channels.Attachment{ID: m.ChannelID + "/" + m.ID + "/" + f.ID, Name: f.Filename, MIMEType: mime, Size: f.Size, Kind: kindOf(mime)}
		if f.Waveform != "" {
			a.Kind = "voice"
		}
		out = append(out, a)
	}
	return out
}

func kindOf(mime string) string {
	family, _, _ := strings.Cut(mime, "/")
	switch family {
	case "image", "audio", "video":
		return family
	}
	return "file"
}

// Fetch opens an attachment. The reader ends with an error beyond 25 MB.
func (c *Channel) Fetch(ctx context.Context, a channels.Attachment) (io.ReadCloser, error) {
	if a.Size > maxDownload {
		return nil, tooBig(a)
	}
	parts := strings.Split(a.ID, "/")
	if len(parts) != 3 || !isSnowflake(parts[0]) || !isSnowflake(parts[1]) {
		return nil, fmt.Errorf("discord: %q is no attachment", a.ID)
	}
	var m message
	err := c.call(ctx, request{
		op: "message", method: "GET", address: discordgo.EndpointChannelMessage(parts[0], parts[1]), major: parts[0], timeout: finalTimeout,
	}, &m)
	if err != nil {
		return nil, err
	}
	files := m.Attachments
	for i := range m.Snapshots {
		files = append(files, m.Snapshots[i].Message.Attachments...)
	}
	for i := range files {
		if files[i].ID == parts[2] {
			return c.download(ctx, a, files[i].URL)
		}
	}
	return nil, fmt.Errorf("discord: %q was removed from its message", a.Name)
}

// download reads from Discord's CDN and nowhere else. The token is not sent.
func (c *Channel) download(ctx context.Context, a channels.Attachment, address string) (io.ReadCloser, error) {
	u, err := url.Parse(address)
	if err != nil || !c.servesFiles(u) {
		return nil, fmt.Errorf("discord: download %q: its address is not one of Discord's", a.Name)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("discord: download %q: %w", a.Name, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.presentable(fmt.Sprintf("discord: download %q", a.Name), err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("discord: download %q: HTTP %d", a.Name, resp.StatusCode)
	}
	return &download{ReadCloser: resp.Body, left: maxDownload, file: a}, nil
}

func (c *Channel) servesFiles(u *url.URL) bool {
	if u.Scheme == c.base.Scheme && u.Host == c.base.Host {
		return true
	}
	switch u.Host {
	case "cdn.discordapp.com", "media.discordapp.net":
		return u.Scheme == "https"
	}
	return false
}

// download bounds a body whose size the server decides.
type download struct {
	io.ReadCloser
	left int64
	file channels.Attachment
}

// Read reads, and fails beyond the limit.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if d.left -= int64(n); d.left < 0 {
		return 0, tooBig(d.file)
	}
	return n, err
}

func tooBig(a channels.Attachment) error {
	return fmt.Errorf("discord: %q is too big: files up to 25 MB can be read; send a link or a smaller file", a.Name)
}
