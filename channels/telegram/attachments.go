package telegram

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"clawbot/channels"
)

// maxDownload is what bots may fetch, in bytes.
const maxDownload = 20 << 20

// attachments lists the files of m.
func (m *message) attachments() []channels.Attachment {
	var out []channels.Attachment
	add := func(f *file, kind, mime, name string) {
		if f == nil || f.ID == "" {
			return
		}
		a := channels.Attachment{ID: f.ID, Name: f.Name, MIMEType: f.MIME, Size: f.Size, Kind: kind}
		if a.MIMEType == "" {
			a.MIMEType = mime
		}
		if a.Name == "" {
			a.Name = name
		}
		if kind == "file" {
			a.Kind = kindOf(a.MIMEType)
		}
		out = append(out, a)
	}
	add(largest(m.Photo), "image", "image/jpeg", "photo.jpg")
	switch {
	case m.Animation != nil: // comes with a document that is the same file
		add(m.Animation, "video", "video/mp4", "animation.mp4")
	default:
		add(m.Document, "file", "", "document")
	}
	add(m.Audio, "audio", "audio/mpeg", "audio.mp3")
	add(m.Voice, "voice", "audio/ogg", "voice.ogg")
	add(m.Video, "video", "video/mp4", "video.mp4")
	add(m.VideoNote, "video", "video/mp4", "video.mp4")
	if s := m.Sticker; s != nil && !s.Animated && !s.Video {
		add(&s.file, "image", "image/webp", "sticker.webp")
	}
	return out
}

// largest returns the biggest size of a photo.
func largest(sizes []file) *file {
	var best *file
	for i := range sizes {
		if f := &sizes[i]; best == nil || f.Width*f.Height > best.Width*best.Height {
			best = f
		}
	}
	return best
}

func kindOf(mime string) string {
	family, _, _ := strings.Cut(mime, "/")
	switch family {
	case "image", "audio", "video":
		return family
	}
	return "file"
}

// Fetch opens an attachment. Bots can't download more than 20 MB; the reader
// ends with an error beyond that.
func (c *Channel) Fetch(ctx context.Context, a channels.Attachment) (io.ReadCloser, error) {
	if a.Size > maxDownload {
		return nil, tooBig(a)
	}
	var f *models.File
	err := c.call(ctx, finalTimeout, &attempt{}, "getFile", func(ctx context.Context) (err error) {
		f, err = c.api.GetFile(ctx, &bot.GetFileParams{FileID: a.ID})
		return err
	})
	if refusal(err, "file is too big") {
		return nil, tooBig(a)
	}
	if err != nil {
		return nil, err
	}
	if f.FilePath == "" || path.IsAbs(f.FilePath) {
		return nil, fmt.Errorf("telegram: no download address for %q; a local Bot API server must run without --local", a.Name)
	}
	return c.download(ctx, a, f.FilePath)
}

func (c *Channel) download(ctx context.Context, a channels.Attachment, filePath string) (io.ReadCloser, error) {
	address := c.cfg.APIURL + "/file/bot" + strings.TrimSpace(c.cfg.Token.Reveal()) + "/" + filePath
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("telegram: download %q: %s", a.Name, c.secret.String(err.Error()))
	}
	resp, err := doer{c.http, c.secret}.Do(req)
	if err != nil {
		return nil, fmt.Errorf("telegram: download %q: %w", a.Name, err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("telegram: download %q: HTTP %d", a.Name, resp.StatusCode)
	}
	return &download{ReadCloser: resp.Body, left: maxDownload, file: a}, nil
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
	return fmt.Errorf("telegram: %q is too big: bots can download files up to 20 MB; send a link or a smaller file", a.Name)
}
