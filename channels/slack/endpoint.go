package slack

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// maxRequest bounds a request's body, in bytes.
const maxRequest = 4 << 20

// posted is a bot that Slack posts events to.
type posted struct{ *Channel }

// routeOf is the path of a channel's endpoint: "/slack/events", or
// "/slack/NAME/events" for a named account.
func routeOf(name string) string {
	platform, account, named := strings.Cut(name, ".")
	if named {
		return "/" + platform + "/" + account + "/events"
	}
	return "/" + platform + "/events"
}

// Handler takes events, interactions and slash commands while Receive runs.
func (p posted) Handler() (pattern string, handler http.Handler) {
	return "POST " + p.route, http.HandlerFunc(p.serve)
}

// serve verifies a request and answers when what is in it is accepted. With
// anything but 200, Slack delivers again.
func (p posted) serve(w http.ResponseWriter, r *http.Request) {
	c := p.Channel
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, "could not read the request", http.StatusBadRequest)
		return
	}
	if err := c.authentic(r.Header, body); err != nil {
		c.log.Warn("refused a request whose signature is wrong", "error", err)
		http.Error(w, "wrong signature", http.StatusUnauthorized)
		return
	}
	kind, payload := unpack(r.Header.Get("Content-Type"), body)
	if kind == "events_api" {
		var cb callback
		if json.Unmarshal(payload, &cb) == nil && cb.Type == "url_verification" {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, cb.Challenge)
			return
		}
	}
	running := c.receiving.Load()
	if running == nil || c.me.Load() == nil {
		http.Error(w, "not receiving yet", http.StatusServiceUnavailable)
		return
	}
	done := make(chan error, 1)
	c.take(running.in, kind, payload, func(err error) { done <- err })
	timer := time.NewTimer(c.pace.answer)
	defer timer.Stop()
	select {
	case err = <-done:
	case <-timer.C:
		err = errors.New("accepting takes too long")
	case <-r.Context().Done():
		return
	}
	if err != nil {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// authentic checks Slack's signature of the body as it came: at most five
// minutes old, compared in constant time.
func (c *Channel) authentic(header http.Header, body []byte) error {
	verifier, err := slack.NewSecretsVerifier(header, strings.TrimSpace(c.cfg.SigningSecret.Reveal()))
	if err != nil {
		return err
	}
	if _, err := verifier.Write(body); err != nil {
		return err
	}
	return verifier.Ensure()
}

// unpack tells what a request is, and returns it as it would come over a
// socket.
func unpack(contentType string, body []byte) (kind string, payload []byte) {
	if media, _, _ := mime.ParseMediaType(contentType); media != "application/x-www-form-urlencoded" {
		return "events_api", body
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", nil
	}
	if form.Has("payload") {
		return "interactive", []byte(form.Get("payload"))
	}
	fields := make(map[string]string, len(form))
	for k := range form {
		fields[k] = form.Get(k)
	}
	payload, _ = json.Marshal(fields) // strings can't fail
	return "slash_commands", payload
}
