package slack

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

var (
	_ channels.Typer     = (*Channel)(nil)
	_ channels.Reactor   = (*Channel)(nil)
	_ channels.Deleter   = (*Channel)(nil)
	_ channels.Buttons   = (*Channel)(nil)
	_ channels.Prober    = (*Channel)(nil)
	_ channels.Commander = (*Channel)(nil)
	_ channels.Uploader  = (*Channel)(nil)
)

const (
	// typingAgain is when the sign must be renewed, in seconds; Slack takes it
	// away after two minutes.
	typingAgain = 60
	// typingStream is how often to look whether a stream is idle.
	typingStream = 10
	// typingLater is when to ask again when there are too many signs at once:
	// Slack takes 600 a minute.
	typingLater = 15
	signEvery   = 120 * time.Millisecond
	signBurst   = 40
	// noTyping is when to ask again where there is no sign.
	noTyping    = 3600
	typingText  = "is working…"
	signTimeout = 5 * time.Second
	keptSigns   = 4096
)

// signs knows the threads in which the bot shows that it works.
type signs struct {
	mu    sync.Mutex
	shown map[string]time.Time // when it has to be renewed
	off   bool                 // the app may not
	rate  allowance
}

// may asks to show one more sign now.
func (s *signs) may(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rate.take(now, signEvery, signBurst)
}

func signKey(to channels.Target) string { return to.Chat + " " + to.Thread }

func (s *signs) add(to channels.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil || len(s.shown) >= keptSigns {
		s.shown = map[string]time.Time{}
	}
	s.shown[signKey(to)] = time.Now().Add(typingAgain * time.Second)
}

// stands reports that the sign is there and need not be renewed yet.
func (s *signs) stands(to channels.Target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.shown[signKey(to)])
}

// hidden notes that a message took the sign's words away.
func (s *signs) hidden(to channels.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, was := s.shown[signKey(to)]; was {
		s.shown[signKey(to)] = time.Time{}
	}
}

// gone forgets a sign and reports whether there was one.
func (s *signs) gone(to channels.Target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was := s.shown[signKey(to)]
	delete(s.shown, signKey(to))
	return was
}

func (s *signs) disabled() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.off }
func (s *signs) disable()       { s.mu.Lock(); s.off = true; s.mu.Unlock() }

// Typing shows in the thread that the bot works. Its words go with a new message
// in the thread; all of it goes with the last word, see clearSign. Outside of
// threads Slack has no such sign.
func (c *Channel) Typing(ctx context.Context, to channels.Target) (int, error) {
	if to.Thread == "" {
		return noTyping, nil
	}
	again, never := typingAgain, noTyping
	if !c.cfg.NoStreams {
		again, never = typingStream, typingStream
	}
	switch {
	case c.restStreams(ctx, to), c.signs.stands(to): // a sign would hide what a stream shows
		return again, nil
	case c.signs.disabled():
		return never, nil
	case !c.signs.may(time.Now()):
		return typingLater, nil
	}
	err := c.status(ctx, to, typingText)
	switch {
	case err == nil:
		c.signs.add(to)
		return again, nil
	case is(err, "missing_scope", "unknown_method", "method_deprecated", "not_allowed_token_type", "feature_not_enabled"):
		c.signs.disable()
		return never, nil
	case is(err, "invalid_thread_ts", "channel_not_found", "access_denied"):
		return noTyping, nil
	}
	return again, err
}

func (c *Channel) status(ctx context.Context, to channels.Target, text string) error {
	return c.call(ctx, signTimeout, "assistant.threads.setStatus", func(ctx context.Context) error {
		return c.api.SetAssistantThreadsStatusContext(ctx, slack.AssistantThreadsSetStatusParameters{
			ChannelID: to.Chat, ThreadTS: to.Thread, Status: text,
		})
	})
}

// clearSign takes the sign away when a reply is complete: an edit alone would
// leave it there for two minutes, and a message takes the words away, but not the
// stop button.
func (c *Channel) clearSign(ctx context.Context, to channels.Target) {
	if to.Thread == "" || !c.signs.gone(to) {
		return
	}
	if err := c.status(ctx, to, ""); err != nil {
		c.log.Debug("the sign of work stays for a while", "conversation", to.Conversation, "error", err)
	}
}

// ButtonLimit is how many buttons are readable on a phone; Slack itself takes
// more.
func (c *Channel) ButtonLimit() (rows, perRow int) { return 10, 5 }

// reactionNames are Slack's names of the emoji that bots react with.
var reactionNames = map[string]string{
	"👀": "eyes", "✅": "white_check_mark", "✔": "heavy_check_mark", "☑": "ballot_box_with_check", "❌": "x", "✖": "heavy_multiplication_x",
	"🚫": "no_entry_sign", "⛔": "no_entry", "⚠": "warning", "🛑": "octagonal_sign", "⏳": "hourglass_flowing_sand", "⌛": "hourglass",
	"🕐": "clock1", "💭": "thought_balloon", "🧠": "brain", "⚙": "gear", "🔧": "wrench", "🛠": "hammer_and_wrench", "🚀": "rocket",
	"👍": "+1", "👎": "-1", "👌": "ok_hand", "🙏": "pray", "👏": "clap", "👋": "wave", "🤔": "thinking_face", "🎉": "tada", "🔥": "fire",
	"❤": "heart", "💯": "100", "🙂": "slightly_smiling_face", "😀": "grinning", "😁": "grin", "😱": "scream", "🥳": "partying_face",
	"⏹": "black_square_for_stop", "⏸": "double_vertical_bar", "🔁": "repeat", "📥": "inbox_tray", "📝": "memo", "🤖": "robot_face",
	"❓": "question", "❗": "exclamation", "💤": "zzz", "🔒": "lock", "✍": "writing_hand",
}

// reacted knows the bot's reactions to the latest messages.
type reacted struct {
	mu sync.Mutex
	by map[string]string
}

func (r *reacted) swap(key, name string) (was string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was = r.by[key]; name == "" {
		delete(r.by, key)
		return was
	}
	if r.by == nil || len(r.by) >= keptSigns {
		r.by = map[string]string{}
	}
	r.by[key] = name
	return was
}

// React puts one reaction on a message in place of the one before. An emoji
// that Slack does not have, or a message that is gone, is left out.
func (c *Channel) React(ctx context.Context, to channels.Target, id, emoji string) error {
	emoji = strings.ReplaceAll(emoji, "\uFE0F", "")
	name := reactionNames[emoji]
	if emoji != "" && name == "" {
		if name = strings.Trim(emoji, ":"); strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_+'-") != "" {
			c.log.Debug("an emoji whose name at Slack is not known", "emoji", emoji)
			return nil
		}
	}
	item := slack.NewRefToMessage(to.Chat, id)
	was := c.reacted.swap(to.Chat+" "+id, name)
	if was == name && name != "" {
		return nil
	}
	if name != "" {
		err := c.call(ctx, draftTimeout, "reactions.add", func(ctx context.Context) error {
			return c.api.AddReactionContext(ctx, name, item)
		})
		if err != nil && !is(err, "already_reacted", "invalid_name", "too_many_emoji", "too_many_reactions", "message_not_found", "missing_scope") {
			return err
		}
	}
	if was == "" {
		return nil
	}
	err := c.call(ctx, draftTimeout, "reactions.remove", func(ctx context.Context) error {
		return c.api.RemoveReactionContext(ctx, was, item)
	})
	if is(err, "no_reaction", "message_not_found", "missing_scope") {
		return nil
	}
	return err
}

// readInteraction reads what people did with buttons, shortcuts and forms.
func (c *Channel) readInteraction(payload []byte) []*arrival {
	var i interaction
	if !c.decode(payload, &i) || !c.mine(i.Team.ID, i.Team.Enterprise, i.App) {
		return nil
	}
	if me := c.me.Load(); i.User.Team != "" && i.User.Team != me.team && me.enterprise == "" && c.cfg.Connect == ConnectOff {
		return nil
	}
	switch i.Type {
	case "block_actions":
		return c.readClick(&i)
	case "message_action":
		c.openForm(&i)
	case "view_submission":
		return c.readForm(&i)
	default:
		c.log.Debug("skipped an interaction of a kind that is not handled", "type", i.Type)
	}
	return nil
}

// readClick reads pressed buttons.
func (c *Channel) readClick(i *interaction) []*arrival {
	channel := first(i.Channel.ID, i.Container.Channel)
	if channel == "" || i.Container.MessageTS == "" || i.User.ID == "" {
		return nil
	}
	to := c.target(channel, i.Container.MessageTS, first(i.Message.ThreadTS, i.Container.ThreadTS), strings.HasPrefix(channel, "D"))
	to.ReplyTo, to.User = "", i.User.ID
	var list []*arrival
	for _, action := range i.Actions {
		if action.Type != "button" || action.Value == "" {
			continue
		}
		list = append(list, &arrival{lane: channel, in: &channels.Inbound{
			Kind: channels.Click, EventID: c.messageKey(channel, i.Container.MessageTS) + ":click:" + first(action.TS, i.Trigger) + ":" + i.User.ID,
			MessageID: i.Container.MessageTS, Target: to, Sender: channels.Sender{ID: i.User.ID, Name: i.User.Name},
			Addressed: true, Text: action.Value, At: time.Now(),
		}})
	}
	return list
}
