package telegram

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/internal/redact"
)

// hooked is a bot in webhook mode behind an HTTP server.
func hooked(t *testing.T) (*rig, *httptest.Server) {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	r := newRig(t, channeltest.TelegramConfig{}, Config{Mode: ModeWebhook, WebhookURL: server.URL + "/hook/telegram"})
	pattern, handler := (webhook{r.bot}).Handler()
	mux.Handle(pattern, handler)
	return r, server
}

func deliver(t *testing.T, url, secret, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(secretHeader, secret)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestAWebhookDeliversAndAnswersPresses(t *testing.T) {
	r, _ := hooked(t)
	r.receive()
	r.SendText(42, 42, "hello")
	to := r.next("hello").Target
	id, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "?", Buttons: [][]channels.Button{{{Label: "Yes", Data: "y-1"}}}})
	r.must(err)
	_, callback := r.Press(42, 42, mustInt(t, id), "y-1")
	if in := r.next("y-1"); in.Kind != channels.Click {
		t.Errorf("got %+v", in)
	}
	if _, err := r.WaitAnswer(r.ctx, callback); err != nil {
		t.Error("the press was not answered:", err)
	}
}

func TestAWebhookThatCanNotAcceptIsDeliveredAgain(t *testing.T) {
	r, _ := hooked(t)
	r.host.FailAccept(errors.New("the store is away"))
	r.receive()
	r.SendText(42, 42, "hello")
	r.must(r.host.WaitAttempts(r.ctx, 2))
	if err := r.bot.Check(r.ctx); err == nil || !strings.Contains(err.Error(), "store") {
		t.Error("Check says", err)
	}
	r.host.FailAccept(nil)
	r.next("hello")
}

func TestAWebhookWithoutTheSecretIsRefused(t *testing.T) {
	r, server := hooked(t)
	url := server.URL + "/hook/telegram"
	secret := r.bot.cfg.WebhookSecret.Reveal()
	if got := deliver(t, url, secret, `{"update_id":1}`); got != http.StatusServiceUnavailable {
		t.Error("before Receive the answer is", got)
	}
	r.receive()
	r.SendText(42, 42, "ready")
	r.next("ready")
	update := `{"update_id":1,"message":{"message_id":5,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42},"text":"forged"}}`
	for _, wrong := range []string{"", "x", secret + "x", strings.ToUpper(secret)} {
		if got := deliver(t, url, wrong, update); got != http.StatusUnauthorized {
			t.Errorf("with the secret %q the answer is %d", wrong, got)
		}
	}
	for _, body := range []string{"", "{", `[]`, `{"update_id":2,"message":{"text":7}}`, strings.Repeat("x", maxUpdate+1)} {
		if got := deliver(t, url, secret, body); got != http.StatusOK {
			t.Errorf("%.20q is answered with %d, so Telegram would deliver it for ever", body, got)
		}
	}
	if len(r.host.Events()) != 1 {
		t.Errorf("accepted %+v", r.host.Events())
	}
	if got := deliver(t, url, secret, update); got != http.StatusOK || len(r.host.Events()) != 2 {
		t.Error("a good update is answered with", got)
	}
}

func TestWebhookSettingsAreChecked(t *testing.T) {
	for _, c := range []struct{ mode, url, secret, say string }{
		{"hook", "", "", "poll"},
		{ModeWebhook, "", "", "webhook_url"},
		{ModeWebhook, "example.org/x", "", "webhook_url"},
		{ModeWebhook, "https://example.org", "", "path"},
		{ModeWebhook, "https://example.org/x", "with space", "webhook_secret"},
	} {
		_, err := New(Config{Token: "1:x", Mode: c.mode, WebhookURL: c.url, WebhookSecret: redact.Secret(c.secret)})
		if err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	bot, err := New(Config{Token: "1:x", Mode: ModeWebhook, WebhookURL: "https://example.org/hook"})
	if err != nil {
		t.Fatal(err)
	}
	h, ok := bot.(channels.Handler)
	if !ok {
		t.Fatal("a bot with a webhook has nothing to mount")
	}
	if pattern, _ := h.Handler(); pattern != "POST /hook" {
		t.Error("mounted at", pattern)
	}
	if _, ok := bot.(channels.Exclusive); ok {
		t.Error("a webhook is for every replica")
	}
	polling, err := New(Config{Token: "1:x"})
	if err != nil {
		t.Fatal(err)
	}
	_, mounts := polling.(channels.Handler)
	if _, ok := polling.(channels.Exclusive); !ok || mounts {
		t.Error("a bot that polls must be exclusive and mount nothing")
	}
}
