package discord

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
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
func newClient(proxy func(*http.Request) (*url.URL, error), base *url.URL, secret *redact.Redactor) *http.Client {
	return &http.Client{
		Transport: &transport{base: base, secret: secret, next: &http.Transport{
			Proxy: proxy, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 15 * time.Second,
			MaxIdleConns: 64, MaxIdleConnsPerHost: 64, MaxConnsPerHost: 128,
			// Shorter than the server's: a connection that the server closes
			// under a call leaves it unknown whether the call was executed.
			IdleConnTimeout: 30 * time.Second,
			HTTP2:           &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// attempt is what is known of one REST call below the typed client.
type attempt struct {
	sent   atomic.Bool // a connection was there and the request may have left
	status int         // of the answer; 0 if there was none
	header http.Header
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	ctx = context.WithValue(ctx, attemptKey{}, a)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { a.sent.Store(true) },
	})
}

// transport sends the typed client's calls, whose addresses are constants of
// its package, to the configured address, and notes what became of each.
type transport struct {
	base   *url.URL
	secret *redact.Redactor
	next   *http.Transport
}

const libraryHost = "discord.com"

// RoundTrip sends one request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a, _ := req.Context().Value(attemptKey{}).(*attempt)
	if req.URL.Host == libraryHost && a != nil {
		req = req.Clone(req.Context())
		req.URL.Scheme, req.URL.Host, req.Host = t.base.Scheme, t.base.Host, ""
		if prefix := strings.TrimRight(t.base.Path, "/"); prefix != "" {
			req.URL.Path, req.URL.RawPath = prefix+req.URL.Path, prefix+req.URL.EscapedPath()
		}
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, t.clean(err)
	}
	if a != nil {
		a.status, a.header = resp.StatusCode, resp.Header.Clone()
		// The typed client would keep limits of its own by these, and fails a
		// call that was executed if it can't read one.
		for name := range resp.Header {
			if strings.HasPrefix(name, "X-Ratelimit-") {
				resp.Header.Del(name)
			}
		}
	}
	return resp, nil
}

// CloseIdleConnections lets go of connections that nothing uses.
func (t *transport) CloseIdleConnections() { t.next.CloseIdleConnections() }

// clean takes the token out of an error, wherever net/http put it.
func (t *transport) clean(err error) error {
	if text := err.Error(); t.secret.String(text) != text {
		return errors.New(t.secret.String(text))
	}
	return err
}
