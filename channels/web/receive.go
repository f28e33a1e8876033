package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"clawbot/channels"
	"clawbot/internal/peer"
)

const (
	// maxText is the longest message, in bytes.
	maxText = 256 << 10
	// maxBody leaves room for the worst escaping of maxText.
	maxBody = 6*maxText + 4096
	// acceptTimeout bounds one durable accept.
	acceptTimeout = 15 * time.Second
)

// postMessage takes a message and answers when it is durable. The page chooses
// the id, so that sending it again after a lost answer changes nothing.
//
//	{"id": "m1", "text": "hello"} → 202 {"id": "m1", "event_id": "web:C:m1"}
func (c *Channel) postMessage(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	switch {
	case len(in.Text) > maxText:
		return errTooLarge
	case strings.TrimSpace(in.Text) == "":
		return &problem{http.StatusBadRequest, "The message is empty."}
	case hasControls(in.Text):
		return &problem{http.StatusBadRequest, "The message holds control characters and looks like a file, not like text. " +
			"Put the file into the workspace and name it instead."}
	}
	return c.accept(w, r, channels.Message, in.ID, "", in.Text)
}

// accept hands an event of the page to the host.
func (c *Channel) accept(w http.ResponseWriter, r *http.Request, kind channels.Kind, id, about, text string) error {
	conversation := r.PathValue("id")
	session, err := session(r)
	if err != nil {
		return err
	}
	if id == "" {
		id = newID()
	}
	if !validID(id) {
		return errID
	}
	host, err := c.current(r.Context())
	if err != nil {
		return err
	}
	// Whoever looks at this conversation later, here, sees its run from the
	// start. Without a hub they see it a little less well.
	if _, err := c.hub(session, host); err != nil {
		c.log.Warn("live events are not available", "session", session, "err", err)
	}
	sender := senderOf(r)
	in := channels.Inbound{
		Kind:      kind,
		EventID:   session + ":" + id,
		MessageID: session + ":" + id,
		Target:    target(conversation, sender),
		Sender:    sender,
		Addressed: true,
		Text:      text,
		At:        time.Now(),
	}
	if about != "" {
		in.MessageID = about
	}
	// A page that goes away in between does not tear the accept.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), acceptTimeout)
	defer cancel()
	if err := host.Accept(ctx, in); err != nil {
		return err
	}
	send(w, http.StatusAccepted, map[string]string{"id": id, "event_id": in.EventID})
	return nil
}

// readBody decodes a JSON request and says what is wrong with another.
func readBody(w http.ResponseWriter, r *http.Request, v any) error {
	if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "application/json" {
		return &problem{http.StatusUnsupportedMediaType, "Send JSON, with the header Content-Type: application/json."}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return errTooLarge
	}
	if err != nil {
		return &problem{http.StatusBadRequest, "The request ended too early."}
	}
	if !utf8.Valid(data) {
		return &problem{http.StatusBadRequest, "The request is not text in UTF-8."}
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &problem{http.StatusBadRequest, "The request is not the JSON that is expected: " + err.Error() + "."}
	}
	return nil
}

// hasControls reports characters that nobody types and terminals obey.
func hasControls(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f
	}) >= 0
}

// senderOf tells the person on this machine from one who signed in elsewhere.
func senderOf(r *http.Request) channels.Sender {
	if peer.Local(r) {
		return channels.Sender{ID: "web:local", Name: "local"}
	}
	return channels.Sender{ID: "web:remote", Name: "remote"}
}
