package telegram

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"clawbot/agentcore"
	"clawbot/channels"
)

// Writes are given up after this long; their outcome is then unknown.
const (
	draftTimeout = 10 * time.Second
	finalTimeout = 30 * time.Second
)

func writeTimeout(out channels.Outgoing) time.Duration {
	if out.Draft {
		return draftTimeout
	}
	return finalTimeout
}

var errEmpty = errors.New("telegram: there is no text to show")

// Post sends a message and returns its id. What will be edited again is shown
// as a draft where that is configured.
func (c *Channel) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	if out.Nonce != "" {
		if err := c.settleDraft(ctx, to); err != nil {
			return "", err
		}
	}
	if out.Draft && len(out.Buttons) == 0 && c.drafted(to) {
		id := newDraftID()
		if shown, err := c.showDraft(ctx, to, id, out); err != nil {
			return "", err
		} else if shown {
			return id, nil
		}
	}
	return c.send(ctx, to, out)
}

func (c *Channel) send(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	text, entities := render(out)
	if text == "" {
		return "", &channels.SendError{Outcome: channels.Rejected, Err: errEmpty}
	}
	params := &bot.SendMessageParams{
		ChatID: c.chat(to), MessageThreadID: sendThread(to), Text: text, Entities: entities,
		DisableNotification: out.Silent, LinkPreviewOptions: preview(out), ReplyParameters: replyTo(to), ReplyMarkup: keyboard(out.Buttons),
	}
	return c.sendText(ctx, params, writeTimeout(out))
}

// sendText sends a message, as plain text if its formatting is refused.
func (c *Channel) sendText(ctx context.Context, params *bot.SendMessageParams, timeout time.Duration) (string, error) {
	var sent *models.Message
	send := func() error {
		return c.call(ctx, timeout, &attempt{chat: params.ChatID}, "sendMessage", func(ctx context.Context) (err error) {
			sent, err = c.api.SendMessage(ctx, params)
			return err
		})
	}
	err := send()
	if refusal(err, "can't parse", "entit") {
		agentcore.LoggerOf(ctx, c.log).Warn("telegram refused the formatting; sending plain text", "chat", params.ChatID, "error", err)
		params.Entities = nil
		err = send()
	}
	if err != nil {
		return "", err
	}
	return strconv.Itoa(sent.ID), nil
}

// Edit replaces a message's text and buttons.
func (c *Channel) Edit(ctx context.Context, to channels.Target, id string, out channels.Outgoing) error {
	if strings.HasPrefix(id, draftPrefix) {
		return c.editDraft(ctx, to, id, out)
	}
	text, entities := render(out)
	if text == "" {
		return &channels.SendError{Outcome: channels.Rejected, Err: errEmpty}
	}
	message, err := messageID(id)
	if err != nil {
		return err
	}
	params := &bot.EditMessageTextParams{
		ChatID: c.chat(to), MessageID: message, Text: text, Entities: entities,
		LinkPreviewOptions: preview(out), ReplyMarkup: keyboard(out.Buttons),
	}
	edit := func() error {
		return c.call(ctx, writeTimeout(out), &attempt{chat: params.ChatID}, "editMessageText", func(ctx context.Context) error {
			_, err := c.api.EditMessageText(ctx, params)
			return err
		})
	}
	err = edit()
	if refusal(err, "can't parse", "entit") {
		agentcore.LoggerOf(ctx, c.log).Warn("telegram refused the formatting; editing as plain text", "conversation", to.Conversation, "error", err)
		params.Entities = nil
		err = edit()
	}
	if refusal(err, "message is not modified") {
		return nil
	}
	return err
}

// Delete removes a message of the bot; one that is gone already is a success.
func (c *Channel) Delete(ctx context.Context, to channels.Target, id string) error {
	if strings.HasPrefix(id, draftPrefix) {
		was := id
		if id, _ = c.drafts.became(was); id == "" {
			c.drafts.forget(was) // it fades by itself
			return nil
		}
	}
	message, err := messageID(id)
	if err != nil {
		return err
	}
	err = c.call(ctx, finalTimeout, &attempt{}, "deleteMessage", func(ctx context.Context) error {
		_, err := c.api.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: c.chat(to), MessageID: message})
		return err
	})
	if refusal(err, "message to delete not found", "message_id_invalid") {
		return nil
	}
	return err
}

func messageID(id string) (int, error) {
	n, err := strconv.Atoi(id)
	if err != nil || n <= 0 {
		return 0, &channels.SendError{
			Outcome: channels.Rejected, Reason: channels.ReasonGone,
			Err: errors.New("telegram: " + strconv.Quote(id) + " is no message id"),
		}
	}
	return n, nil
}

// chat is the chat's id as the API wants it, the new one if the chat has moved.
func (c *Channel) chat(to channels.Target) any {
	id, err := strconv.ParseInt(to.Chat, 10, 64)
	if err != nil {
		return strings.TrimSpace(to.Chat) // a channel's @name
	}
	return c.moved.now(id)
}

func replyTo(to channels.Target) *models.ReplyParameters {
	id, err := strconv.Atoi(to.ReplyTo)
	if err != nil {
		return nil
	}
	return &models.ReplyParameters{MessageID: id, AllowSendingWithoutReply: true}
}

// preview keeps link previews out of drafts, where they would come and go.
func preview(out channels.Outgoing) *models.LinkPreviewOptions {
	if !out.Draft {
		return nil
	}
	return &models.LinkPreviewOptions{IsDisabled: bot.True()}
}
