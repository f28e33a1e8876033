package providers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
)

// body is an answer's body whose reads wait, and which notes how it ended.
type body struct {
	ctx    context.Context
	parts  []string
	pause  time.Duration
	ended  bool
	closed bool
}

func (b *body) Read(p []byte) (int, error) {
	select {
	case <-time.After(b.pause):
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	if len(b.parts) == 0 {
		b.ended = true
		return 0, io.EOF
	}
	n := copy(p, b.parts[0])
	if b.parts[0] = b.parts[0][n:]; b.parts[0] == "" {
		b.parts = b.parts[1:]
	}
	return n, nil
}

func (b *body) Close() error { b.closed = true; return nil }

type transport func(*http.Request) *http.Response

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r), nil }

// answering returns a client whose server answers with b.
func answering(t *testing.T, b *body) *Client {
	t.Helper()
	c, err := NewClient(Config{Name: "x", BaseURL: "http://x.example", IdleTimeout: 10 * time.Second,
		HTTPClient: &http.Client{Transport: transport(func(r *http.Request) *http.Response {
			b.ctx = r.Context()
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: b, Request: r}
		})}}, FormatOpenAI, "m")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestASlowStreamIsReadAsLongAsItSaysSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &body{pause: 9 * time.Second, parts: []string{"data: a\n\n", ": still here\n\n", ": still here\n\n", "data: b\n\n"}}
		a, err := answering(t, b).Post(t.Context(), Body{[]byte("{}")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for _, want := range []string{"a", "b"} {
			if ev, err := a.Next(); err != nil || string(ev.Data) != want {
				t.Fatalf("%q, %v; want %q", ev.Data, err, want)
			}
		}
	})
}

func TestASilentStreamIsGivenUpAfterTheIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &body{pause: 11 * time.Second, parts: []string{"data: a\n\n"}}
		began := time.Now()
		a, err := answering(t, b).Post(t.Context(), Body{[]byte("{}")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if _, err = a.Next(); agentcore.ClassOf(err) != agentcore.ErrNetwork || !strings.Contains(err.Error(), "providers.x.idle_timeout") || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestAFinishedStreamIsReadToItsEndIfThatIsNear(t *testing.T) {
	for _, c := range []struct {
		pause time.Duration
		ended bool
	}{{time.Millisecond, true}, {time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			b := &body{pause: c.pause, parts: []string{"data: a\n\n"}}
			client := answering(t, b)
			for range 2 {
				*b = body{pause: c.pause, parts: []string{"data: a\n\n"}}
				a, err := client.Post(t.Context(), Body{[]byte("{}")}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := a.Next(); err != nil {
					t.Fatal(err)
				}
				a.Finish()
				began := time.Now()
				a.Close()
				if b.ended != c.ended || !b.closed || time.Since(began) > drainTime {
					t.Errorf("pause %s: ended %v, closed %v, after %s", c.pause, b.ended, b.closed, time.Since(began))
				}
			}
			if client.holds.Load() == c.ended {
				t.Error("the client did not learn whether it pays to wait")
			}
		})
	}
}

func TestARedirectIsNotFollowedByAClientOfOnesOwn(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusPermanentRedirect))
	defer server.Close()
	c, err := NewClient(Config{BaseURL: server.URL, APIKeys: []string{"secret-key"}, HTTPClient: server.Client()}, FormatOpenAI, "m")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Post(t.Context(), Body{[]byte("{}")}, nil); agentcore.ClassOf(err) != agentcore.ErrBadResponse || reached {
		t.Errorf("%v, reached %v", err, reached)
	}
}

func TestAnUnreachableServerSaysWhichSettingToCheck(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	defer tls.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer proxy.Close()
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{BaseURL: strings.Replace(plain.URL, "http://", "https://", 1)}, "http:// instead of https://"},
		{Config{BaseURL: tls.URL}, "certificate"},
		{Config{BaseURL: "https://x.example", Proxy: proxy.URL}, "providers.x.proxy"},
		{Config{BaseURL: "https://x.example", Proxy: "http://127.0.0.1:1"}, "providers.x.proxy"},
		{Config{BaseURL: "http://127.0.0.1:1"}, "providers.x.base_url"},
		{Config{BaseURL: "http://no-such-host.invalid"}, "no-such-host.invalid"},
	} {
		c.cfg.Name = "x"
		client, err := NewClient(c.cfg, FormatOpenAI, "m")
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Post(t.Context(), Body{[]byte("{}")}, nil)
		if agentcore.ClassOf(err) != agentcore.ErrNetwork || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want it to say %q", c.cfg, err, c.want)
		}
	}
}

func TestABodyIsSentInItsSegments(t *testing.T) {
	b := Body{[]byte("{"), nil, []byte(`"a":`), []byte("1}")}
	var out bytes.Buffer
	if n, err := io.Copy(&out, b.reader()); err != nil || n != b.size() || out.String() != `{"a":1}` {
		t.Errorf("%d, %v, %s", n, err, out.String())
	}
	if got, err := io.ReadAll(struct{ io.Reader }{b.reader()}); err != nil || string(got) != string(b.Bytes()) {
		t.Errorf("%s, %v", got, err)
	}
}
