package slack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

// maxDownload bounds what is fetched of one file, in bytes.
const maxDownload = 50 << 20

// attachments lists the files of a message. What is not a file any more, or only
// a link to elsewhere, is told by its name and fails when it is fetched.
func attachments(files []file) []channels.Attachment {
	var out []channels.Attachment
	for _, f := range files {
		if f.ID == "" || f.Mode == "tombstone" || f.Mode == "hidden_by_limit" {
			continue
		}
		a := channels.Attachment{ID: f.ID, Name: first(f.Name, f.Title, "file"), MIMEType: f.MIME, Size: f.Size, Kind: kindOf(f.MIME)}
		if f.Subtype == "slack_audio" {
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

// quoted is the text of a message that was shared with this one.
func quoted(list []attachment) string {
	for _, a := range list {
		if a.IsShare || a.IsMessage {
			return first(a.Text, a.Fallback)
		}
	}
	return ""
}

// Fetch opens an attachment; the reader ends with an error beyond 50 MB. The
// token goes to Slack's own hosts alone: a file may be a link that a person has
// chosen.
func (c *Channel) Fetch(ctx context.Context, a channels.Attachment) (io.ReadCloser, error) {
	if a.Size > maxDownload {
		return nil, tooBig(a)
	}
	var f *slack.File
	err := c.call(ctx, finalTimeout, "files.info", func(ctx context.Context) (err error) {
		f, _, _, err = c.api.GetFileInfoContext(ctx, a.ID, 0, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("slack: look up %q: %w", a.Name, err)
	}
	address := first(f.URLPrivateDownload, f.URLPrivate)
	if f.IsExternal || !c.trusts(address) {
		return nil, fmt.Errorf("slack: %q is not kept by Slack but elsewhere; ask for the file itself", a.Name)
	}
	return c.download(ctx, a, address, f.Mimetype)
}

// trusts tells whether an address may get the token: https at Slack, or where
// the Web API is.
func (c *Channel) trusts(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	if u.Scheme == c.apiURL.Scheme && strings.EqualFold(u.Host, c.apiURL.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	for _, domain := range []string{"slack.com", "slack-gov.com"} {
		if u.Scheme == "https" && (host == domain || strings.HasSuffix(host, "."+domain)) {
			return true
		}
	}
	return false
}

func (c *Channel) download(ctx context.Context, a channels.Attachment, address, mimeType string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("slack: download %q: %w", a.Name, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.cfg.bot())
	resp, err := doer{c.http, c.secret}.Do(req)
	if err != nil {
		return nil, fmt.Errorf("slack: download %q: %w", a.Name, err)
	}
	page := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && !strings.HasPrefix(mimeType, "text/html")
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400, resp.StatusCode == http.StatusOK && page:
		err = fmt.Errorf("slack: %q can't be read: Slack asks to sign in; the app needs the scope files:read, and to be in the channel", a.Name)
	case resp.StatusCode != http.StatusOK:
		err = fmt.Errorf("slack: download %q: HTTP %d", a.Name, resp.StatusCode)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
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
	return fmt.Errorf("slack: %q is too big: files up to %d MB are read; send a link or a smaller file", a.Name, maxDownload>>20)
}
