package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-telegram/bot"

	"clawbot/channels"
	"clawbot/internal/redact"
)

// maxUpdate bounds a webhook's body, in bytes.
const maxUpdate = 4 << 20

// secretHeader carries the secret that was agreed with setWebhook.
const secretHeader = "X-Telegram-Bot-Api-Secret-Token"

// webhook is a bot that Telegram posts updates to.
type webhook struct{ *Channel }

var _ channels.Handler = webhook{}

// configureWebhook checks the settings of webhook mode.
func (c *Channel) configureWebhook(token string) error {
	switch c.cfg.Mode {
	case ModePoll:
		return nil
	case ModeWebhook:
	default:
		return fmt.Errorf("%s: mode must be \"poll\" or \"webhook\", not %q", c.cfg.Name, c.cfg.Mode)
	}
	u, err := url.Parse(c.cfg.WebhookURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%s: mode \"webhook\" needs webhook_url, the public https address that Telegram can reach", c.cfg.Name)
	}
	if c.route = u.Path; c.route == "" || c.route == "/" {
		return fmt.Errorf("%s: webhook_url needs a path of its own, like https://%s/webhook/telegram", c.cfg.Name, u.Host)
	}
	if c.cfg.WebhookSecret == "" {
		// The same on every replica, and no way back to the token.
		sum := sha256.Sum256([]byte("clawbot webhook " + token))
		c.cfg.WebhookSecret = redact.Secret(hex.EncodeToString(sum[:]))
	}
	if strings.Trim(c.cfg.WebhookSecret.Reveal(), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return fmt.Errorf("%s: webhook_secret may hold letters, digits, \"_\" and \"-\" only", c.cfg.Name)
	}
	return nil
}

// receiveWebhook tells Telegram the address and lets Handler work until ctx
// ends.
func (c *Channel) receiveWebhook(ctx context.Context, host channels.Host) error {
	c.host.Store(&hostRef{host})
	defer c.host.Store(nil)
	err := c.persist(ctx, "setWebhook", func(ctx context.Context) error {
		_, err := c.api.SetWebhook(ctx, &bot.SetWebhookParams{
			URL: c.cfg.WebhookURL, SecretToken: c.cfg.WebhookSecret.Reveal(), AllowedUpdates: allowedUpdates,
		})
		return err
	})
	if err != nil {
		return err
	}
	c.log.Info("telegram posts to the webhook", "path", c.route)
	<-ctx.Done()
	return nil
}

// Handler takes updates while Receive runs.
func (w webhook) Handler() (pattern string, handler http.Handler) {
	return "POST " + w.route, http.HandlerFunc(w.serveWebhook)
}

// serveWebhook accepts an update before it answers 200. With anything else
// Telegram delivers again.
func (c *Channel) serveWebhook(w http.ResponseWriter, r *http.Request) {
	given := r.Header.Get(secretHeader)
	if subtle.ConstantTimeCompare([]byte(given), []byte(c.cfg.WebhookSecret.Reveal())) != 1 {
		http.Error(w, "wrong secret", http.StatusUnauthorized)
		return
	}
	host := c.host.Load()
	if host == nil || c.me.Load() == nil {
		http.Error(w, "not receiving yet", http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		c.log.Warn("skipped an update that is too large")
		w.WriteHeader(http.StatusOK)
		return
	}
	if err != nil {
		http.Error(w, "could not read the update", http.StatusBadRequest)
		return
	}
	a := c.read(body)
	if err := c.acceptOnce(r.Context(), host, a); err != nil {
		c.health.set(fmt.Errorf("can't accept an update: %w; messages wait at Telegram until the store is back", err))
		c.log.Error("can't accept an update; telegram will deliver it again", "error", err)
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	c.health.clear()
	if a.callback == "" {
		w.WriteHeader(http.StatusOK)
		return
	}
	// A call can be made with the answer, which saves a request.
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"method": "answerCallbackQuery", "callback_query_id": a.callback})
}
