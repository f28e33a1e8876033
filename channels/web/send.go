package web

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"clawbot/channels"
)

// notice is a message beside the transcript, as the page shows it. It is kept
// while somebody may look at it, not stored.
type notice struct {
	ID      string           `json:"id"`
	At      time.Time        `json:"at"`
	Text    string           `json:"text"` // Markdown
	Status  string           `json:"status,omitempty"`
	Buttons [][]noticeButton `json:"buttons,omitempty"`
	// Position is the transcript's tail when the notice came; -1 unknown.
	Position int64 `json:"position"`
}

type noticeButton struct {
	Label string `json:"label"`
	Data  string `json:"data"`
	Style string `json:"style,omitempty"`
}

// noticeTopic reaches the pages that look at a session, on every replica.
func noticeTopic(session string) string { return "notice:" + session }

// Post shows a notice to the pages that look at the conversation. Replies are
// not posted: the page draws them from live events.
func (c *Channel) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	id := "n-" + newID()
	if out.Nonce != "" {
		id = "n-" + out.Nonce
	}
	return id, c.publish(ctx, to, id, out)
}

// Edit shows the notice's new text.
func (c *Channel) Edit(ctx context.Context, to channels.Target, id string, out channels.Outgoing) error {
	return c.publish(ctx, to, id, out)
}

func (c *Channel) publish(ctx context.Context, to channels.Target, id string, out channels.Outgoing) error {
	session := to.Conversation
	if !strings.HasPrefix(session, prefix) {
		return &channels.SendError{Outcome: channels.Rejected, Err: errors.New("not a conversation of the page: " + session)}
	}
	host, err := c.current(ctx)
	if err != nil {
		return &channels.SendError{Outcome: channels.Rejected, Err: err}
	}
	// The hub keeps the notice for a page that is opened soon after.
	if _, err := c.hub(session, host); err != nil {
		return &channels.SendError{Outcome: channels.Rejected, Err: err}
	}
	n := notice{ID: id, At: time.Now().UTC(), Text: out.Markdown, Status: out.Status, Position: -1}
	for _, row := range out.Buttons {
		var buttons []noticeButton
		for _, b := range row {
			buttons = append(buttons, noticeButton(b))
		}
		n.Buttons = append(n.Buttons, buttons)
	}
	data, err := json.Marshal(n)
	if err == nil {
		err = host.Publish(ctx, noticeTopic(session), data)
	}
	if err != nil {
		return &channels.SendError{Outcome: channels.Unknown, Err: err}
	}
	return nil
}

// Limits are wide: the page shows what it gets.
func (c *Channel) Limits(channels.Target) channels.Limits {
	return channels.Limits{
		Text:      1 << 20,
		Measure:   func(markdown string) int { return len(markdown) },
		EditEvery: 100 * time.Millisecond,
	}
}
