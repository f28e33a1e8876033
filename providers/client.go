package providers

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"clawbot/agentcore"
	"clawbot/internal/redact"
)

// Client speaks HTTP to one endpoint for one model: it authenticates, bounds
// and times what it reads, and turns everything that can go wrong into an
// *[agentcore.Error] that names the setting to change. It is safe for
// concurrent use.
type Client struct {
	// Traits is what the server takes.
	Traits Traits

	cfg     Config
	format  string
	model   string
	url     *url.URL
	shown   string // url without what may be secret
	http    *http.Client
	proxied bool
	keys    *keyring
	redact  *redact.Redactor
	log     *slog.Logger
	idle    time.Duration
	info    agentcore.ModelInfo
	holds   atomic.Bool // the server keeps streams open after their end
}

// NewClient checks cfg and returns a client. It makes no request. A vendor that
// is known to need a key and has none is an error.
func NewClient(cfg Config, format, model string) (*Client, error) {
	if model == "" {
		return nil, &agentcore.Error{Class: agentcore.ErrNotFound, Message: "no model is named: write agent.model as \"" + cfg.label() + "/MODEL\""}
	}
	base, err := cfg.base(format)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, format: format, model: model, log: cfg.logger(), idle: cfg.IdleTimeout}
	c.Traits = cfg.Traits(format, base.Host, model)
	endpoint, err := cfg.Endpoint(format, model, c.Traits)
	if err != nil {
		return nil, err
	}
	if c.url, err = url.Parse(endpoint); err != nil {
		return nil, &agentcore.Error{Class: agentcore.ErrNotFound, Message: cfg.setting("base_url") + " is no URL", Err: err}
	}
	c.shown = (&url.URL{Scheme: c.url.Scheme, Host: c.url.Host, Path: c.url.Path}).String()
	keys, err := cfg.keys()
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 && c.Traits.NeedsKey && !c.hasAuthHeader() {
		return nil, c.keyMissing()
	}
	c.keys = newKeyring(keys)
	c.redact = redact.New(append(cfg.headerSecrets(), keys...)...)
	if c.idle <= 0 {
		c.idle = DefaultIdleTimeout
	}
	if err := c.newHTTP(); err != nil {
		return nil, err
	}
	if cfg.Transport != nil {
		c.http.Transport = cfg.Transport(cmp.Or(c.http.Transport, http.DefaultTransport))
	}
	c.info = cfg.info(format, base.Host, model)
	return c, nil
}

// Info describes the model.
func (c *Client) Info() agentcore.ModelInfo { return c.info }

// Logger returns where to log.
func (c *Client) Logger() *slog.Logger { return c.log }

func (c *Client) hasAuthHeader() bool {
	for name := range c.cfg.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key":
			return true
		}
	}
	return false
}

// newHTTP makes the HTTP client. Redirects are never followed: they would carry
// the key and the conversation to another place.
func (c *Client) newHTTP() error {
	proxy, err := c.cfg.proxyFunc()
	if err != nil {
		return err
	}
	stop := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.cfg.HTTPClient != nil {
		own := *c.cfg.HTTPClient
		own.CheckRedirect = stop
		own.Timeout = 0 // a stream takes as long as it takes
		c.http = &own
		return nil
	}
	c.proxied = proxy != nil
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 20 * time.Second}
	c.http = &http.Client{CheckRedirect: stop, Transport: &http.Transport{
		Proxy:                 proxy,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // a compressed stream is a stream held back
	}}
	return nil
}

// Post sends body and returns the answer, whose Close must be called. The error
// is an *[agentcore.Error]. When a key is refused or limited, the next one is
// tried.
func (c *Client) Post(ctx context.Context, body Body, headers http.Header) (*Answer, error) {
	var last *agentcore.Error
	for range max(1, c.keys.len()) {
		key, index := c.keys.pick(time.Now())
		answer, err := c.post(ctx, body, headers, key)
		if err == nil {
			return answer, nil
		}
		last = err
		if index < 0 || !c.keys.rest(index, err, time.Now()) {
			break
		}
		if c.keys.len() > 1 {
			agentcore.LoggerOf(ctx, c.log).Warn("a key of the provider was refused and rests", "provider", c.cfg.Name, "key", index+1, "err", err)
		}
	}
	return nil, last
}

func (c *Client) post(ctx context.Context, body Body, headers http.Header, key string) (*Answer, *agentcore.Error) {
	if ctx.Err() != nil {
		return nil, Aborted(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Answer{client: c, ctx: ctx, cancel: cancel}
	a.timer = time.AfterFunc(c.idle, func() { cancel(errIdle) })
	resp, err := c.http.Do(c.request(ctx, body, headers, key)) //nolint:bodyclose // Answer.Close closes it
	if err != nil {
		failed := c.transport(ctx, err) // before Close, which cancels ctx
		a.Close()
		return nil, failed
	}
	a.body = resp.Body
	if err := a.open(resp); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

func (c *Client) request(ctx context.Context, body Body, headers http.Header, key string) *http.Request {
	header := make(http.Header, 8+len(headers))
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	header.Set("Accept-Encoding", "identity")
	header.Set("User-Agent", "clawbot")
	maps.Copy(header, headers)
	if key != "" {
		switch c.Traits.AuthHeader {
		case "authorization":
			header.Set("Authorization", "Bearer "+key)
		default:
			header.Set(c.Traits.AuthHeader, key)
		}
	}
	for name, value := range c.cfg.Headers {
		header.Set(name, value)
	}
	req := &http.Request{
		Method: http.MethodPost, URL: c.url, Host: c.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: body.reader(), ContentLength: body.size(),
		GetBody: func() (io.ReadCloser, error) { return body.reader(), nil },
	}
	return req.WithContext(ctx)
}

var errIdle = errors.New("idle timeout")
