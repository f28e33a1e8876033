package providertest

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
)

// connection checks when connections are used again, and when they are closed.
func connection(t *testing.T, f Format) {
	good := Answer{Text: []string{"fine"}, Stop: agentcore.StopEnd}
	t.Run("turns share a connection", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { stream(w, f.Stream(good)) })
		m := f.build(t, f.config(s.URL))
		for range 5 {
			if got := ask(t.Context(), t, m, question()); got.err != nil {
				t.Fatal(got.err)
			}
		}
		if n := s.connections(); n != 1 {
			t.Errorf("%d connections for 5 turns", n)
		}
	})
	t.Run("a cancelled call closes its connection at once", func(t *testing.T) { cancelled(t, f) })
	t.Run("a consumer that stops closes the connection", func(t *testing.T) {
		gone := make(chan struct{})
		s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			stream(w, f.Stream(Answer{Text: []string{"a", "b"}, Cut: true}))
			<-r.Context().Done()
			close(gone)
		})
		for _, err := range f.build(t, f.config(s.URL)).Stream(t.Context(), question()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		<-gone
	})
	t.Run("a call that was cancelled before makes no request", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { stream(w, f.Stream(good)) })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := ask(ctx, t, f.build(t, f.config(s.URL)), question()); got.err == nil || got.err.Class != agentcore.ErrAborted {
			t.Errorf("%+v", got.err)
		}
		if s.body(0) != "" {
			t.Error("a request was made")
		}
	})
	t.Run("a silent server is given up", func(t *testing.T) {
		for _, before := range []Answer{{Cut: true}, {Text: []string{"a"}, Cut: true}} {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
				if len(before.Text) > 0 {
					stream(w, f.Stream(before))
				}
				<-r.Context().Done()
			})
			cfg := f.config(s.URL)
			cfg.IdleTimeout = 30 * time.Millisecond
			got := ask(t.Context(), t, f.build(t, cfg), question())
			if got.err == nil || got.err.Class != agentcore.ErrNetwork || !got.err.Retryable || !strings.Contains(got.err.Error(), "idle_timeout") {
				t.Errorf("%+v", got.err)
			}
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + l.Addr().String()
		_ = l.Close()
		got := ask(t.Context(), t, f.build(t, f.config(url)), question())
		if got.err == nil || got.err.Class != agentcore.ErrNetwork || !got.err.Retryable || !strings.Contains(got.err.Error(), "providers.acme.base_url") {
			t.Errorf("%+v", got.err)
		}
	})
	t.Run("the next key is tried when one is refused", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
			for _, values := range r.Header {
				if strings.Contains(values[0], testKey) {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
			}
			stream(w, f.Stream(good))
		})
		cfg := f.config(s.URL)
		cfg.APIKeys = []string{testKey, " second-key\n"}
		m := f.build(t, cfg)
		for range 2 {
			if got := ask(t.Context(), t, m, question()); got.err != nil {
				t.Fatal(got.err)
			}
		}
		if s.body(2) == "" || s.body(3) != "" {
			t.Error("want three requests: the refused key rests after the first")
		}
	})
	t.Run("a key that cannot be one is refused before it is sent", func(t *testing.T) {
		cfg := f.config("http://127.0.0.1:1")
		cfg.APIKeys = []string{"sk-a b"}
		if _, err := f.New(cfg, f.model()); err == nil || !strings.Contains(err.Error(), "providers.acme.api_key") || strings.Contains(err.Error(), "sk-a b") {
			t.Errorf("%v", err)
		}
	})
}

func cancelled(t *testing.T, f Format) {
	gone := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		stream(w, f.Stream(Answer{Text: []string{"a", "b", "c"}, Cut: true}))
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	var last error
	for ev, err := range f.build(t, f.config(s.URL)).Stream(ctx, question()) {
		if last = err; err == nil && ev.Type == agentcore.StreamText {
			cancel()
		}
	}
	cancel()
	if agentcore.ClassOf(last) != agentcore.ErrAborted {
		t.Errorf("the stream ended with %v", last)
	}
	<-gone
}
