package slack

import (
	"context"
	"errors"
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
func newClient(proxy func(*http.Request) (*url.URL, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: proxy, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 15 * time.Second,
			MaxIdleConns: 64, MaxIdleConnsPerHost: 64, MaxConnsPerHost: 128,
			// Shorter than the server's: a connection that the server closes
			// under a call leaves it unknown whether the call was executed.
			IdleConnTimeout: 30 * time.Second,
			HTTP2:           &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		},
		// Tokens must not follow a redirect elsewhere, and a download that is
		// redirected ends at a sign-in page.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// attempt is what is known of one API call below the typed client.
type attempt struct {
	sent atomic.Bool // a connection was there and the request may have left
}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { a.sent.Store(true) }})
}

// doer is the transport of the typed client; it keeps tokens out of errors.
type doer struct {
	client *http.Client
	secret *redact.Redactor
}

// Do sends a request.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(req)
	if err == nil {
		return resp, nil
	}
	if text := err.Error(); d.secret.String(text) != text {
		return nil, errors.New(d.secret.String(text))
	}
	return nil, err
}
