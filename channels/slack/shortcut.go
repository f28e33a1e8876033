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
	maxKept   = 1_800
	formTitle = "Ask about a message"
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
	c.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), signTimeout)
		defer cancel()
		view := questionForm(string(data))
		if c.outside(ctx, i.Channel.ID) {
			view = notice("I am not in this conversation, so I could not answer here. Invite me with /invite, then ask again.")
		}
		err := c.call(ctx, signTimeout, "views.open", func(ctx context.Context) error {
			_, err := c.api.OpenViewContext(ctx, i.Trigger, view)
			return err
		})
		if err != nil {
			c.log.Warn("a form could not be opened", "user", i.User.ID, "error", err)
		}
	})
}

// outside reports that the bot is not in a conversation, as far as it may know.
func (c *Channel) outside(ctx context.Context, channel string) bool {
	var at *slack.Channel
	err := c.call(ctx, lookTimeout, "conversations.info", func(ctx context.Context) (err error) {
		at, err = c.api.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: channel})
		return err
	})
	if err != nil {
		return is(err, "channel_not_found")
	}
	return !at.IsMember && !at.IsIM && !at.IsMpIM
}

func plainText(s string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, s, true, false)
}

// questionForm asks for a question; it keeps what it is about.
func questionForm(about string) slack.ModalViewRequest {
	input := slack.NewPlainTextInputBlockElement(plainText("What should I do with it?"), askAbout)
	input.Multiline, input.MaxLength = true, maxQuestion
	return slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: askAbout, PrivateMetadata: about,
		Title: plainText(formTitle), Submit: plainText("Ask"), Close: plainText("Cancel"),
		Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewInputBlock(askAbout, plainText("Question"), nil, input)}},
	}
}

// notice says why there is no form.
func notice(text string) slack.ModalViewRequest {
	return slack.ModalViewRequest{
		Type: slack.VTModal, Title: plainText(formTitle), Close: plainText("Close"),
		Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewSectionBlock(plainText(text), nil, nil)}},
	}
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
