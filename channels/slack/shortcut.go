package slack

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

const (
	// askAbout is the message shortcut "Ask …" and the form that it opens.
	askAbout = "ask"
	// maxQuestion is the longest text of an input.
	maxQuestion = 3_000
	// maxKept is how much of the message is kept in the form: Slack takes 3,000
	// characters, JSON included.
	maxKept = 1_800
)

// asked is what a form keeps of the message that it asks about.
type asked struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	Thread  string `json:"thread,omitempty"`
	Text    string `json:"text,omitempty"`
}

// openForm asks what somebody wants to know about a message, beside receiving:
// Slack gives three seconds for it.
func (c *Channel) openForm(i *interaction) {
	if i.Callback != askAbout || i.Trigger == "" || i.Channel.ID == "" || i.Message.TS == "" {
		return
	}
	data, err := json.Marshal(asked{i.Channel.ID, i.Message.TS, i.Message.ThreadTS, clip(i.Message.Text, maxKept)})
	if err != nil {
		return
	}
	text := func(s string) *slack.TextBlockObject {
		return slack.NewTextBlockObject(slack.PlainTextType, s, true, false)
	}
	input := slack.NewPlainTextInputBlockElement(text("What should I do with it?"), askAbout)
	input.Multiline, input.MaxLength = true, maxQuestion
	view := slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: askAbout, PrivateMetadata: string(data),
		Title: text("Ask about a message"), Submit: text("Ask"), Close: text("Cancel"),
		Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewInputBlock(askAbout, text("Question"), nil, input)}},
	}
	c.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), signTimeout)
		defer cancel()
		err := c.call(ctx, signTimeout, "views.open", func(ctx context.Context) error {
			_, err := c.api.OpenViewContext(ctx, i.Trigger, view)
			return err
		})
		if err != nil {
			c.log.Warn("a form could not be opened", "user", i.User.ID, "error", err)
		}
	})
}

// readForm turns a submitted form into a message that is answered in the thread
// of the message that it asks about.
func (c *Channel) readForm(i *interaction) []*arrival {
	var about asked
	question := strings.TrimSpace(i.View.State.Values[askAbout][askAbout].Value)
	if i.View.Callback != askAbout || question == "" || i.View.ID == "" || i.User.ID == "" ||
		!c.decode([]byte(i.View.Private), &about) || about.Channel == "" || about.TS == "" {
		return nil
	}
	to := c.target(about.Channel, about.TS, about.Thread, strings.HasPrefix(about.Channel, "D"))
	to.User = i.User.ID
	return []*arrival{{lane: about.Channel, raw: question, in: &channels.Inbound{
		Kind: channels.Message, EventID: c.messageKey(about.Channel, about.TS) + ":ask:" + i.View.ID, Target: to,
		Sender: channels.Sender{ID: i.User.ID, Name: i.User.Name}, Addressed: true, Quote: about.Text, At: time.Now(),
	}}}
}
