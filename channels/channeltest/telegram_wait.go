package channeltest

import (
	"context"
	"fmt"
	"strings"
)

// Messages returns the bot's messages in a chat as they are now, deleted ones
// left out.
func (t *Telegram) Messages(chat int64) []SentMessage {
	c := t.chat(chat, false)
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.snapshot()
}

// Wait waits until cond holds for the bot's messages in a chat. cond must not
// change what it is given.
func (t *Telegram) Wait(ctx context.Context, chat int64, cond func([]SentMessage) bool) ([]SentMessage, error) {
	c := t.chat(chat, true)
	var out []SentMessage
	err := await(ctx, func() (bool, <-chan struct{}) {
		c.mu.Lock()
		out = c.snapshot()
		changed := c.changed.wait()
		c.mu.Unlock()
		return cond(out), changed
	})
	if err != nil {
		return out, fmt.Errorf("wait for messages in chat %d, last seen %s: %w", chat, describe(out), err)
	}
	return out, nil
}

// WaitText waits until a message of the bot in the chat contains text, and
// returns it.
func (t *Telegram) WaitText(ctx context.Context, chat int64, text string) (found SentMessage, err error) {
	_, err = t.Wait(ctx, chat, func(all []SentMessage) bool {
		for _, m := range all {
			if strings.Contains(m.Text, text) {
				found = m
				return true
			}
		}
		return false
	})
	return found, err
}

func describe(all []SentMessage) string {
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = fmt.Sprintf("#%d %.200q", m.ID, m.Text)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// WaitConfirmed waits until the bot has confirmed every update before and
// including id.
func (t *Telegram) WaitConfirmed(ctx context.Context, id int64) error {
	q := &t.updates
	return await(ctx, func() (bool, <-chan struct{}) {
		q.mu.Lock()
		defer q.mu.Unlock()
		done := id < q.next && (len(q.pending) == 0 || q.pending[0].id > id)
		return done, q.changed.wait()
	})
}

// WaitPoll waits until a poller waits for updates.
func (t *Telegram) WaitPoll(ctx context.Context) error {
	q := &t.updates
	return await(ctx, func() (bool, <-chan struct{}) {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.poller != nil, q.changed.wait()
	})
}

// WaitAnswer waits for the bot's answer to a pressed button.
func (t *Telegram) WaitAnswer(ctx context.Context, callbackID string) (CallbackAnswer, error) {
	var out CallbackAnswer
	err := await(ctx, func() (bool, <-chan struct{}) {
		t.answersMu.Lock()
		defer t.answersMu.Unlock()
		if a := t.answers[callbackID]; a != nil {
			out = *a
			return true, nil
		}
		return false, t.answered.wait()
	})
	return out, err
}

// Actions returns the signs of work that the bot showed in a chat.
func (t *Telegram) Actions(chat int64) []ChatAction {
	c := t.chat(chat, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]ChatAction(nil), c.actions...)
}

// Reaction returns the bot's reaction to a message; empty if none.
func (t *Telegram) Reaction(chat int64, id int) string {
	c := t.chat(chat, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reactions[id]
}

// Draft returns the text of a draft bubble.
func (t *Telegram) Draft(chat int64, id string) string {
	c := t.chat(chat, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drafts[id]
}

// WaitDraft waits until a draft bubble in the chat contains text.
func (t *Telegram) WaitDraft(ctx context.Context, chat int64, text string) error {
	c := t.chat(chat, true)
	return await(ctx, func() (bool, <-chan struct{}) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, shown := range c.drafts {
			if strings.Contains(shown, text) {
				return true, nil
			}
		}
		return false, c.changed.wait()
	})
}
