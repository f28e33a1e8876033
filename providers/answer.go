package providers

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"clawbot/agentcore"
)

const (
	maxErrorBody = 256 << 10 // of an error, bytes
	maxWholeBody = 32 << 20  // of an answer that is no stream, bytes
	maxStream    = 1 << 30   // of a stream, bytes
	// drainTime is how long the end of a stream is awaited once its last event
	// has come, so that the connection can be used again.
	drainTime = 20 * time.Millisecond
)

// Answer is a vendor's answer being read.
type Answer struct {
	client *Client
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	body   io.ReadCloser
	events *SSE
	whole  []byte // an answer that is one JSON document
	seen   bool
	done   bool
}

// Next returns the next event that carries data. At the end of the body it
// returns io.EOF; every other error is an *[agentcore.Error].
func (a *Answer) Next() (Event, error) {
	if a.events == nil {
		if whole := a.whole; whole != nil {
			a.whole = nil
			return Event{Data: whole}, nil
		}
		return Event{}, io.EOF
	}
	ev, err := a.events.Next()
	switch {
	case err == nil:
		a.seen = true
		return ev, nil
	case errors.Is(err, io.EOF) && !a.seen && len(a.events.Stray()) > 0:
		return Event{}, a.client.notAStream(a.events.Stray())
	case errors.Is(err, io.EOF):
		return Event{}, io.EOF
	}
	return Event{}, a.client.transport(a.ctx, err)
}

// Finish says that the last event of the stream was read: Close then reads on
// to the end, if that is near, so that the connection can be used again.
func (a *Answer) Finish() { a.done = true }

// Close ends the answer and closes the connection unless it can be reused. It
// may be called more than once.
func (a *Answer) Close() {
	if a.body != nil {
		if a.done && a.ctx.Err() == nil && !a.client.holds.Load() {
			a.timer.Reset(drainTime)
			if n, err := io.CopyN(io.Discard, a.body, 4<<10); !errors.Is(err, io.EOF) || n == 4<<10 {
				a.client.holds.Store(true)
			}
		}
		_ = a.body.Close()
		a.body = nil
	}
	a.timer.Stop()
	a.cancel(nil)
}

// open looks at the answer's head and decides how to read it.
func (a *Answer) open(resp *http.Response) *agentcore.Error {
	var body io.Reader = &timed{r: resp.Body, a: a}
	switch enc := strings.ToLower(resp.Header.Get("Content-Encoding")); enc {
	case "", "identity":
	case "gzip", "x-gzip":
		body = &lazyGzip{r: body}
	default:
		return a.client.badResponse(resp.StatusCode, fmt.Sprintf("the answer is encoded as %q, which was not asked for", enc),
			"A proxy in between may do that: check "+a.client.cfg.setting("base_url")+" and "+a.client.cfg.setting("proxy")+".")
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody))
		if a.ctx.Err() != nil {
			return a.client.transport(a.ctx, a.ctx.Err())
		}
		return a.client.status(resp, text)
	}
	body = io.LimitReader(body, maxStream)
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case kind == "text/event-stream":
		a.events = NewSSE(body, MaxEvent)
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return a.readWhole(body)
	default:
		return a.sniff(body, kind)
	}
	return nil
}

// sniff reads answers whose content type is missing or wrong: a stream is a
// stream whatever it is called, and a page of a proxy is not.
func (a *Answer) sniff(body io.Reader, kind string) *agentcore.Error {
	r := bufio.NewReader(body)
	head, err := r.Peek(1)
	for err == nil && len(bytes.TrimSpace(head)) == 0 && len(head) < 512 {
		head, err = r.Peek(len(head) + 1)
	}
	trimmed := bytes.TrimSpace(head)
	if err != nil && len(trimmed) == 0 {
		if errors.Is(err, io.EOF) {
			return a.client.badResponse(http.StatusOK, "the answer is empty", "")
		}
		return a.client.transport(a.ctx, err)
	}
	switch {
	case trimmed[0] == '<':
		page, _ := io.ReadAll(io.LimitReader(r, maxErrorBody))
		return a.client.notAStream(page)
	case strings.Contains(kind, "ndjson"):
		text, _ := r.ReadBytes('\n')
		return a.client.notAStream(text)
	case trimmed[0] == '{' || trimmed[0] == '[':
		return a.readWhole(r)
	}
	a.events = NewSSE(r, MaxEvent)
	return nil
}

// readWhole reads an answer that is one JSON document: an error under a 200, or
// the answer of a server that cannot stream.
func (a *Answer) readWhole(body io.Reader) *agentcore.Error {
	text, err := io.ReadAll(io.LimitReader(body, maxWholeBody+1))
	switch {
	case a.ctx.Err() != nil:
		return a.client.transport(a.ctx, a.ctx.Err())
	case err != nil:
		return a.client.transport(a.ctx, err)
	case len(text) > maxWholeBody:
		return a.client.badResponse(http.StatusOK, "the answer is longer than 32 MB", "")
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return a.client.badResponse(http.StatusOK, "the answer is empty", "")
	}
	if bytes.HasPrefix(text, []byte("data:")) || bytes.HasPrefix(text, []byte("event:")) {
		a.events = NewSSE(bytes.NewReader(text), MaxEvent)
		return nil
	}
	if text[0] != '{' && (text[0] != '[' || a.client.format != FormatGoogle) { // its list is a stream by another name
		return a.client.notAStream(text)
	}
	a.whole = text
	return nil
}

// timed restarts the idle timer with each read.
type timed struct {
	r io.Reader
	a *Answer
}

func (t *timed) Read(p []byte) (int, error) {
	t.a.timer.Reset(t.a.client.idle)
	n, err := t.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && t.a.ctx.Err() != nil {
		err = context.Cause(t.a.ctx)
	}
	return n, err
}

// lazyGzip reads the gzip header only when the first byte is wanted.
type lazyGzip struct {
	r io.Reader
	z *gzip.Reader
}

func (l *lazyGzip) Read(p []byte) (int, error) {
	if l.z == nil {
		z, err := gzip.NewReader(l.r)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return 0, io.EOF
			}
			return 0, fmt.Errorf("decompress the answer: %w", err)
		}
		l.z = z
	}
	n, err := l.z.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("decompress the answer: %w", err)
	}
	return n, err
}
