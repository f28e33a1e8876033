package telegram

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"clawbot/internal/redact"
)

// proxyFunc reads the proxy setting. The setting may hold a password, so it is
// in no error.
func proxyFunc(setting string) (func(*http.Request) (*url.URL, error), error) {
	switch setting {
	case "":
		return nil, nil
	case "env":
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(setting)
	if err != nil || u.Host == "" {
		return nil, errors.New("proxy must be empty, \"env\" or a URL like http://host:3128 or socks5://host:1080")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return http.ProxyURL(u), nil
	}
	return nil, errors.New("proxy must be an http, https or socks5 URL")
}

// newClient makes a client without a deadline of its own: calls bring theirs.
func newClient(proxy func(*http.Request) (*url.URL, error), perHost int) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: proxy, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 15 * time.Second,
			MaxIdleConns: perHost, MaxIdleConnsPerHost: perHost, MaxConnsPerHost: 2 * perHost,
			// Shorter than the server's: a connection that the server closes
			// under a call leaves it unknown whether the call was executed.
			IdleConnTimeout: 30 * time.Second,
			HTTP2:           &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		},
		// The token is in the path: it must not follow a redirect elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// attempt is what is known of one API call below the typed client.
type attempt struct {
	chat   any         // that is written to; nil for what has none
	stream bool        // the body is large: pass it on as it comes
	sent   atomic.Bool // a connection was there and the request may have left
	status atomic.Int64
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	ctx = context.WithValue(ctx, attemptKey{}, a)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { a.sent.Store(true) },
	})
}

// doer is the transport of the typed client. It turns the client's piped
// bodies into plain ones: a body that can be sent again lets net/http replace a
// connection that died while idle, which would otherwise look like a message
// that may have been sent.
type doer struct {
	client *http.Client
	secret *redact.Redactor
}

// Do sends a request and notes what became of it.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	a, _ := req.Context().Value(attemptKey{}).(*attempt)
	if a == nil || !a.stream {
		if err := plainBody(req); err != nil {
			return nil, err
		}
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, d.clean(err)
	}
	if a != nil {
		a.status.Store(int64(resp.StatusCode))
	}
	return resp, nil
}

func plainBody(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	data, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return err
	}
	req.ContentLength = int64(len(data))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	req.Body, _ = req.GetBody()
	if len(data) == 0 {
		req.Body = http.NoBody
	}
	return nil
}

// clean takes the token out of an error, wherever net/http put it.
func (d doer) clean(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		u.URL = d.secret.String(u.URL)
	}
	if text := err.Error(); d.secret.String(text) != text {
		return errors.New(d.secret.String(text))
	}
	return err
}
