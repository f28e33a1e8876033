package providertest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"clawbot/agentcore"
)

// trouble checks that everything a server can get wrong is a typed error, which
// names the setting to change.
func trouble(t *testing.T, f Format) {
	good := Answer{Text: []string{"fine"}, Stop: agentcore.StopEnd}
	status := func(code int, header, value, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set(header, value)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		class  agentcore.ErrorClass // "": no error
		retry  bool
		says   []string
	}{
		{"a refused key", status(401, "", "", f.Error("invalid key "+testKey)), agentcore.ErrAuth, false, []string{"providers.acme.api_key", "401"}},
		{"an unknown URL", status(404, "", "", `{"detail":"Not Found"}`), agentcore.ErrNotFound, false, []string{"POST http://", "providers.acme.base_url", "providers.acme.format"}},
		{"an unknown model", status(404, "", "", f.Error("model m1 not found")), agentcore.ErrNotFound, false, []string{"agent.model", "m1"}},
		{"a rate limit", status(429, "Retry-After", "7", f.Error("slow down")), agentcore.ErrRateLimited, true, []string{"429"}},
		{"overload", status(529, "", "", f.Error("Overloaded")), agentcore.ErrOverloaded, true, []string{"529"}},
		{"a gateway's page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html><head><title>502 Bad Gateway</title></head><body>"+strings.Repeat("x", 1<<20)+"</body></html>")
		}, agentcore.ErrOverloaded, true, []string{"502 Bad Gateway"}},
		{"too long a request", status(400, "", "", f.Error("prompt is too long: 209353 tokens > 199999 maximum")), agentcore.ErrContextOverflow, false, nil},
		{"spent credit", status(402, "", "", f.Error("Insufficient Balance")), agentcore.ErrQuota, false, []string{"agent.fallbacks"}},
		{"a proxy that wants a password", status(407, "", "", ""), agentcore.ErrNetwork, false, []string{"providers.acme.proxy"}},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/v1?key="+testKey, http.StatusTemporaryRedirect)
		}, agentcore.ErrBadResponse, false, []string{"https://elsewhere.example/v1", "providers.acme.base_url"}},
		{"a login page under 200", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "\n<!DOCTYPE html><title>Sign in</title>")
		}, agentcore.ErrBadResponse, false, []string{"Sign in", "providers.acme.base_url"}},
		{"an error under 200", status(200, "", "", f.Error("Overloaded")), agentcore.ErrOverloaded, true, nil},
		{"an error under 200 called a stream", func(w http.ResponseWriter, _ *http.Request) {
			stream(w, []string{f.Error("Overloaded")})
		}, agentcore.ErrOverloaded, true, nil},
		{"nothing at all", func(w http.ResponseWriter, _ *http.Request) {}, agentcore.ErrBadResponse, true, nil},
		{"an error in the stream", func(w http.ResponseWriter, _ *http.Request) {
			stream(w, f.Stream(Answer{Text: []string{"Well, "}, Fail: "Overloaded"}))
		}, agentcore.ErrOverloaded, true, nil},
		{"a stream that ends early", func(w http.ResponseWriter, _ *http.Request) {
			stream(w, f.Stream(Answer{Text: []string{"Well, "}, Cut: true}))
		}, agentcore.ErrBadResponse, true, []string{"ended early"}},
		{"a connection that breaks", func(w http.ResponseWriter, _ *http.Request) {
			stream(w, f.Stream(Answer{Text: []string{"Well, "}, Cut: true}))
			panic(http.ErrAbortHandler)
		}, agentcore.ErrNetwork, true, nil},
		{"an event that is no JSON", func(w http.ResponseWriter, _ *http.Request) {
			stream(w, []string{"data: {\"a\": \n\n"})
		}, agentcore.ErrBadResponse, true, nil},
		{"another format", func(w http.ResponseWriter, _ *http.Request) {
			ev := `data: {"type":"message_start","message":{"id":"x"}}` + "\n\n"
			if f.Name == "anthropic" {
				ev = `data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"a"}}]}` + "\n\n"
			}
			stream(w, []string{ev})
		}, agentcore.ErrBadResponse, false, []string{"providers.acme.format = "}},
		{"an endless line", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			junk := bytes.Repeat([]byte("x"), 1<<20)
			for range 100 {
				if _, err := w.Write(junk); err != nil {
					return
				}
			}
		}, agentcore.ErrBadResponse, false, []string{"16 MB"}},
		{"an encoding nobody asked for", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			stream(w, []string{"\x8b\x02\x80"})
		}, agentcore.ErrBadResponse, false, []string{`"br"`}},
		{"gzip that is none", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			stream(w, []string{"this is not gzip, whatever it says"})
		}, agentcore.ErrNetwork, true, []string{"decompress"}},
		{"a stream under a wrong content type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, strings.Join(f.Stream(good), ""))
		}, "", false, nil},
		{"a stream called JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.Join(f.Stream(good), ""))
		}, "", false, nil},
		{"a compressed stream", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/event-stream")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, strings.Join(f.Stream(good), ""))
			_ = z.Close()
		}, "", false, nil},
		{"a connection that breaks when all was said", func(w http.ResponseWriter, _ *http.Request) {
			stream(w, f.Stream(good))
			panic(http.ErrAbortHandler)
		}, "", false, nil},
		{"line ends and comments of any kind", func(w http.ResponseWriter, _ *http.Request) {
			all := "\ufeff: hello\n\n" + strings.Join(f.Stream(good), ": keep-alive\n\n")
			stream(w, []string{strings.ReplaceAll(all, "\n", "\r\n")})
		}, "", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { c.answer(w, r) })
			got := ask(t.Context(), t, f.build(t, f.config(s.URL)), question())
			if c.class == "" {
				if got.err != nil || got.message.Text() != "fine" {
					t.Errorf("%q, %v", got.message.Text(), got.err)
				}
				return
			}
			if got.err == nil || got.err.Class != c.class || got.err.Retryable != c.retry {
				t.Fatalf("%+v; want class %q, retryable %v", got.err, c.class, c.retry)
			}
			for _, part := range c.says {
				if !strings.Contains(got.err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, got.err)
				}
			}
			if c.class == agentcore.ErrRateLimited && got.err.RetryAfter.Seconds() != 7 {
				t.Errorf("retry after %s, want 7s", got.err.RetryAfter)
			}
			if got.err.User == "" {
				t.Error("nothing is said to the user")
			}
		})
	}
}
