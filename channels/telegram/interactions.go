package telegram

import (
	"context"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"clawbot/channels"
)

var (
	_ channels.Typer     = (*Channel)(nil)
	_ channels.Reactor   = (*Channel)(nil)
	_ channels.Deleter   = (*Channel)(nil)
	_ channels.Buttons   = (*Channel)(nil)
	_ channels.Commander = (*Channel)(nil)
	_ channels.Uploader  = (*Channel)(nil)
)

// typingAgain is when the sign must be renewed, in seconds; it fades after
// five.
const typingAgain = 4

// Typing shows "typing…" in the chat or topic, and keeps a draft from fading. Of
// many signs at once some are left out.
func (c *Channel) Typing(ctx context.Context, to channels.Target) (int, error) {
	if to.Direct && c.cfg.Drafts {
		c.keepDraft(ctx, to)
	}
	if !c.floods.mayType(time.Now()) {
		return typingAgain, nil
	}
	err := c.call(ctx, 5*time.Second, &attempt{}, "sendChatAction", func(ctx context.Context) error {
		_, err := c.api.SendChatAction(ctx, &bot.SendChatActionParams{
			ChatID: c.chat(to), MessageThreadID: typingThread(to), Action: models.ChatActionTyping,
		})
		return err
	})
	return typingAgain, err
}

// ButtonLimit is how many buttons are readable on a phone; Telegram itself
// takes more.
func (c *Channel) ButtonLimit() (rows, perRow int) { return 12, 4 }

// reactions maps what bots may not react with to what comes nearest, see
// https://core.telegram.org/bots/api#reactiontypeemoji.
var reactions = map[string]string{
	"✅": "👌", "✔": "👌", "☑": "👌", "❌": "👎", "✖": "👎", "🚫": "👎", "⛔": "👎", "⚠": "😱", "🛑": "👎",
	"⏳": "👀", "⌛": "👀", "🕐": "👀", "💭": "🤔", "🧠": "🤔", "⚙": "👨‍💻", "🔧": "👨‍💻", "🛠": "👨‍💻", "🚀": "🔥", "🙂": "😁", "😀": "😁", "🥳": "🎉",
}

// React puts a reaction on a message. Bots may use a fixed list only, and a
// chat may allow fewer: a reaction that is not to be had is left out.
func (c *Channel) React(ctx context.Context, to channels.Target, id, emoji string) error {
	message, err := messageID(id)
	if err != nil {
		return err
	}
	params := &bot.SetMessageReactionParams{ChatID: c.chat(to), MessageID: message}
	if emoji = strings.ReplaceAll(emoji, "\uFE0F", ""); emoji != "" {
		if near := reactions[emoji]; near != "" {
			emoji = near
		}
		params.Reaction = []models.ReactionType{{
			Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Emoji: emoji},
		}}
	}
	err = c.call(ctx, draftTimeout, &attempt{}, "setMessageReaction", func(ctx context.Context) error {
		_, err := c.api.SetMessageReaction(ctx, params)
		return err
	})
	if refusal(err, "reaction_invalid", "reactions_too_many", "reaction_empty", "message to react not found") {
		return nil
	}
	return err
}

// Telegram's bounds for commands.
const (
	maxCommands    = 100
	maxCommandName = 32
	maxCommandText = 256
)

// RegisterCommands puts the commands into the chat's menu. Names that Telegram
// does not take are left out: they still work as text.
func (c *Channel) RegisterCommands(ctx context.Context, commands []channels.Command) error {
	params := &bot.SetMyCommandsParams{Commands: []models.BotCommand{}}
	for _, command := range commands {
		name := strings.ToLower(strings.TrimPrefix(command.Name, "/"))
		text := []rune(strings.TrimSpace(command.Description))
		if len(text) == 0 {
			text = []rune(name)
		}
		if name == "" || len(name) > maxCommandName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			c.log.Debug("a command that can't be in Telegram's menu", "command", name)
			continue
		}
		params.Commands = append(params.Commands, models.BotCommand{
			Command: name, Description: string(text[:min(len(text), maxCommandText)]),
		})
	}
	params.Commands = params.Commands[:min(len(params.Commands), maxCommands)]
	return c.call(ctx, callTimeout, &attempt{}, "setMyCommands", func(ctx context.Context) error {
		_, err := c.api.SetMyCommands(ctx, params)
		return err
	})
}

// readCallback turns a button press into a click.
func (c *Channel) readCallback(a *arrival, cb *callback) {
	a.callback = cb.ID
	m := cb.Message
	if m == nil || m.Chat.ID == 0 || cb.Data == "" {
		return
	}
	a.chat = m.Chat.ID
	to := c.target(m)
	to.ReplyTo, to.User = "", cb.From.sender().ID
	a.in = &channels.Inbound{
		Kind: channels.Click, EventID: c.eventID(a.update), MessageID: messageText(m.ID), Target: to,
		Sender: cb.From.sender(), Addressed: true, Text: cb.Data, RoomName: m.Chat.Title, At: time.Now(),
	}
}
