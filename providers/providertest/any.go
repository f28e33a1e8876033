package providertest

import (
	"net/http"
	"testing"
	"unicode/utf8"

	"clawbot/agentcore"
)

// Any answers a call with body, whatever it is, and checks what must hold even
// so: one end, contiguous blocks, valid UTF-8, and a message that can be sent
// back. Fuzz targets use it.
func Any(t *testing.T, f Format, body []byte) {
	cfg := f.config("http://fuzz.example")
	cfg.HTTPClient = &http.Client{Transport: canned(body)}
	m := f.build(t, cfg)
	req := question()
	req.Tools = weatherTool()
	got := ask(t.Context(), t, m, req)
	for _, b := range got.message.Content {
		switch b := b.(type) {
		case agentcore.Text:
			valid(t, b.Text)
		case agentcore.Thinking:
			valid(t, b.Text)
		case agentcore.ToolCall:
			valid(t, string(b.Arguments))
			if b.ID == "" {
				t.Error("a call has no id")
			}
		}
	}
	if got.err != nil {
		return
	}
	next := *req
	got.message.ID = "a1"
	next.Messages = append(next.Messages, got.message, userMessage("u2", "go on"))
	ask(t.Context(), t, m, &next)
}

func valid(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%q is no UTF-8", s)
	}
}
