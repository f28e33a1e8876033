package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"clawbot/agentcore"
	"clawbot/internal/version"
	"clawbot/tools"
)

//go:embed web_fetch.md
var webFetchProse string

// Bounds of one fetch.
const (
	maxFetchBytes = 4 << 20
	maxFetchChars = 30_000
	fetchTimeout  = 30 * time.Second
	maxShownURL   = 500
)

// fetcher runs web_fetch. also allows addresses that are not public; nil allows
// none.
type fetcher struct{ client *http.Client }

func webFetch(also func(netip.AddrPort) bool) tools.Tool {
	return webFetchWithin(fetchTimeout, also)
}

func webFetchWithin(timeout time.Duration, also func(netip.AddrPort) bool) tools.Tool {
	f := &fetcher{guardedClient(timeout, also)}
	return tools.Tool{
		Descriptor: describe("web_fetch", "Fetch web page", webFetchProse, `{
			"type": "object",
			"properties": {
				"url":    {"type": "string", "minLength": 1, "description": "http or https address"},
				"offset": {"type": "integer", "minimum": 0, "description": "First character to show"},
				"raw":    {"type": "boolean", "description": "The source, not the readable text"}
			},
			"required": ["url"]
		}`),
		Idempotent: true,
		Telling:    telling("url"),
		Execute:    f.run,
	}
}

func (f *fetcher) run(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
	args, err := arguments[struct {
		URL    string
		Offset int
		Raw    bool
	}](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	target, err := url.Parse(args.URL)
	if err == nil {
		err = checkURL(target)
	}
	if err != nil {
		return agentcore.Result{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return agentcore.Result{}, err
	}
	req.Header.Set("User-Agent", "clawbot/"+version.Get().Version)
	req.Header.Set("Accept", "text/html, text/plain, application/json, image/*;q=0.8, */*;q=0.5")
	resp, err := f.client.Do(req)
	if err != nil {
		return agentcore.Result{}, fetchError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFetchBytes+1))
	switch {
	case err != nil:
		return agentcore.Result{}, fetchError(err)
	case len(body) > maxFetchBytes:
		return agentcore.Result{}, fmt.Errorf("%s is larger than %d bytes", resp.Request.URL, maxFetchBytes)
	}
	return present(resp, body, args.Raw, args.Offset)
}

// checkURL refuses what web_fetch does not speak.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q: only http and https addresses can be fetched", u.String())
	case u.Host == "":
		return fmt.Errorf("%q has no host", u.String())
	case u.User != nil:
		return errors.New("an address with a user name or password is refused")
	}
	return nil
}

// fetchError leaves out what a client's error says of the machine's network.
func fetchError(err error) error {
	var urlErr *url.Error
	var slow interface{ Timeout() bool }
	switch {
	case errors.Is(err, errBlocked):
		return errBlocked
	case errors.As(err, &slow) && slow.Timeout():
		return errors.New("the server did not answer in time")
	case errors.As(err, &urlErr):
		return fmt.Errorf("fetching %s: %w", urlErr.URL, urlErr.Err)
	default:
		return fmt.Errorf("fetching: %w", err)
	}
}

func present(resp *http.Response, body []byte, raw bool, offset int) (agentcore.Result, error) {
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	// The server chose all of this, so it says no more than it must.
	address := clipped(resp.Request.URL.String(), maxShownURL)
	head := tools.Defuse(fmt.Sprintf("%s (%d %s, %s)", address, resp.StatusCode, http.StatusText(resp.StatusCode), clipped(mediaType, 100)))
	if isImage(mediaType) {
		return agentcore.Result{Content: []agentcore.Block{
			agentcore.Text{Text: head}, agentcore.Image{MIMEType: mediaType, Data: body},
		}}, nil
	}
	if strings.HasPrefix(mediaType, "audio/") || strings.HasPrefix(mediaType, "video/") || isBinary(body[:min(len(body), sniffBytes)]) && !isText(mediaType) {
		return agentcore.Result{}, fmt.Errorf("%s is a binary file of %d bytes: it can't be shown as text", head, len(body))
	}
	text := string(body)
	if decoded, err := charset.NewReader(bytes.NewReader(body), resp.Header.Get("Content-Type")); err == nil {
		if all, err := io.ReadAll(decoded); err == nil {
			text = string(all)
		}
	}
	if !raw && (mediaType == "text/html" || mediaType == "application/xhtml+xml") {
		var title string
		if title, text = readable(text, resp.Request.URL); title != "" {
			text = title + "\n\n" + text
		}
	}
	shown, rest := window(strings.ToValidUTF8(text, "\uFFFD"), offset)
	out := head + "\n\n" + tools.Untrusted(resp.Request.URL.Host, shown)
	if rest > 0 {
		out += fmt.Sprintf("\n[%d more characters; go on with offset %d]", rest, offset+maxFetchChars)
	}
	return agentcore.Result{Content: []agentcore.Block{agentcore.Text{Text: out}}, IsError: resp.StatusCode >= 400}, nil
}

// clipped is at most n bytes of a text of one-byte characters.
func clipped(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

func isText(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "json") || strings.HasSuffix(mediaType, "xml")
}

// window returns maxFetchChars characters of text from offset on, and how many
// follow them.
func window(text string, offset int) (string, int) {
	for offset > 0 && text != "" {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		offset--
	}
	end, n := 0, 0
	for end < len(text) && n < maxFetchChars {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
		n++
	}
	return text[:end], utf8.RuneCountInString(text[end:])
}
