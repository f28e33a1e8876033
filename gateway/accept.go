package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"clawbot/channels"
	"clawbot/store"
)

const (
	// maxText bounds one message; what no person types is refused, and says so.
	maxText = 256 << 10 // bytes
	// noticeTimeout bounds how long an answer that is given before the ack may
	// hold up the channel.
	noticeTimeout = 10 * time.Second
)

// Accept implements [channels.Host]. When it returns nil, the event is on disk
// or needs no further care.
func (h *host) Accept(ctx context.Context, in channels.Inbound) error {
	g := h.g
	h.heard.Store(time.Now().UnixNano())
	in.Text = cleanText(in.Text)
	if err := store.CheckSession(in.Target.Conversation); err != nil || in.EventID == "" {
		h.log.Warn("skipped an event that has no usable ids", "event", in.EventID, "err", err)
		return nil
	}
	h.belongs(&in)
	v, role, reason := g.config().judge(h.channel.Name(), &in, g.rules.person(h.channel.Name(), in.Sender.ID))
	if v == hear {
		part, err := h.takesPart(ctx, &in)
		if err != nil {
			return fmt.Errorf("accept %s: %w", in.EventID, err)
		}
		if part {
			v = admit
		}
	}
	if d, id, ok := readDecision(&in); ok && v != ignore && reason != blockedText {
		return h.decide(ctx, &in, d, id)
	}
	switch v {
	case ignore:
		return nil
	case knocks:
		if welcome, err := h.knock(ctx, &in); err != nil || !welcome {
			return err
		}
	case hear:
		return h.overhear(ctx, &in, role)
	case refuse:
		if in.Kind == channels.Message && asksToStop(in.Text) && moderates(&in) && reason != blockedText {
			return h.acceptSignal(ctx, &in, signalStop)
		}
		h.refuse(ctx, &in, reason)
		return nil
	}
	switch in.Kind {
	case channels.Edit, channels.Delete:
		return h.acceptChange(ctx, &in, role)
	case channels.Message, channels.Click:
		return h.acceptMessage(ctx, &in, role)
	}
	h.log.Debug("skipped an event of a kind that means nothing here", "event", in.EventID, "kind", int(in.Kind))
	return nil
}

func (h *host) acceptMessage(ctx context.Context, in *channels.Inbound, role string) error {
	if done, err := h.obey(ctx, in, role); done || err != nil {
		return err
	}
	if in.Kind == channels.Click {
		h.log.Info("a button that means nothing any more was pressed", "session", in.Target.Conversation, "sender", in.Sender.ID)
		return nil
	}
	if strings.TrimSpace(in.Text) == "" && len(in.Attachments) == 0 {
		if in.Addressed && !in.Sender.Bot {
			h.once(ctx, in, "Yes? Write what you want of me in the same message. `/help` says what I can do.")
		}
		return nil
	}
	if len(in.Text) > maxText {
		h.refuse(ctx, in, fmt.Sprintf("That message is too long for me: %d bytes, and I take %d. Send it in parts, or as a file.", len(in.Text), maxText))
		return nil
	}
	if looping, err := h.loops(ctx, in); looping || err != nil {
		return err
	}
	counted, limited, err := h.limited(ctx, in, role)
	if err != nil || limited {
		return err
	}
	key := roomKey(h.channel.Name(), in.Target)
	r := h.record(in, role)
	r.Counted = counted
	if !in.Target.Direct {
		r.Overheard = h.g.ears.recall(key)
	}
	acc, err := h.accept(ctx, r, in, store.Put, false)
	if err != nil {
		return err
	}
	h.g.ears.forget(key, r.Overheard)
	if acc.Duplicate && acc.Waiting == 0 {
		return nil
	}
	h.acknowledge(in)
	h.g.wake(ctx, acc.Owner, hint{
		session: r.Target.Conversation, sender: r.Sender.ID, waiting: acc.Waiting, after: acc.Position + 1,
		rest: restFor(r.Group, r.Unfinished),
	})
	return nil
}

// acceptChange takes an edit or a deletion: it changes the queued original, or
// rides along as a remark on what was answered already.
func (h *host) acceptChange(ctx context.Context, in *channels.Inbound, role string) error {
	if in.MessageID == "" {
		return nil
	}
	if h.g.ears.revise(roomKey(h.channel.Name(), in.Target), in.MessageID, changedText(in)) {
		return nil
	}
	op := store.Replace
	if in.Kind == channels.Delete {
		op = store.Remove
	}
	if len(in.Text) > maxText {
		h.once(ctx, in, fmt.Sprintf("Your change makes the message too long for me: %d bytes, and I take %d. I go by what it said before.", len(in.Text), maxText))
		return nil
	}
	if op == store.Replace && strings.TrimSpace(in.Text) == "" && len(in.Attachments) == 0 {
		return nil
	}
	r := h.record(in, role)
	acc, err := h.accept(ctx, r, in, op, true)
	if err != nil || acc.Applied || acc.Owner == "" {
		return err
	}
	h.g.wake(ctx, acc.Owner, hint{session: r.Target.Conversation, sender: r.Sender.ID, waiting: acc.Waiting, after: acc.Position + 1})
	return nil
}

func asksToStop(text string) bool {
	v, _ := parseCommand(text)
	return v == verbStop
}

// changedText is what an edit leaves of an overheard message; empty is nothing.
func changedText(in *channels.Inbound) string {
	if in.Kind == channels.Delete {
		return ""
	}
	return clip(strings.TrimSpace(in.Text), overheardText)
}

// overhear keeps what was said in a room but not to the bot.
func (h *host) overhear(ctx context.Context, in *channels.Inbound, role string) error {
	key := roomKey(h.channel.Name(), in.Target)
	switch in.Kind {
	case channels.Edit, channels.Delete:
		if h.g.ears.revise(key, in.MessageID, changedText(in)) {
			return nil
		}
		// Rooms are full of edits that concern nobody: only a session that
		// exists can hold what was changed.
		info, err := h.g.sessionInfo(ctx, in.Target.Conversation)
		if err != nil || info.Tail == 0 && info.Waiting == 0 {
			return err
		}
		return h.acceptChange(ctx, in, role)
	case channels.Message, channels.Context:
		if text := strings.TrimSpace(in.Text); text != "" {
			h.g.ears.hear(key, overheard{Key: in.MessageID, Sender: in.Sender.ID, Name: in.Sender.Name, Text: clip(text, overheardText), At: in.At})
		}
	}
	return nil
}

func (h *host) acceptSignal(ctx context.Context, in *channels.Inbound, kind signalKind) error {
	s := signal{V: recordVersion, ID: newID(), Kind: kind, Channel: h.channel.Name(), Target: in.Target, Sender: in.Sender}
	data, err := encode(s)
	if err != nil {
		return err
	}
	acc, err := h.g.cfg.Store.Accept(ctx, store.Event{ID: eventID(in), Session: in.Target.Conversation, Lane: store.Signals, Data: data})
	if err != nil {
		return h.acceptFailed(ctx, in, err)
	}
	h.g.cfg.Observer.Accepted(h.channel.Name(), outcomeOf(acc, AcceptedCommand))
	h.log.Info("command accepted", "message", s.ID, "session", in.Target.Conversation, "command", string(kind), "sender", in.Sender.ID, "duplicate", acc.Duplicate)
	h.g.wake(ctx, acc.Owner, hint{session: in.Target.Conversation, lane: store.Signals})
	return nil
}

func (h *host) record(in *channels.Inbound, role string) *inbound {
	r := &inbound{
		V: recordVersion, ID: newID(), Event: in.EventID, Key: in.MessageID,
		Channel: h.channel.Name(), Target: in.Target, Sender: in.Sender, Role: role,
		Text: in.Text, Attachments: in.Attachments, Quote: cleanText(in.Quote), Group: in.Group, Unfinished: in.Unfinished, Room: in.RoomName, At: in.At,
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	switch in.Kind {
	case channels.Edit:
		r.Kind = kindEdit
	case channels.Delete:
		r.Kind = kindDelete
	}
	return r
}

func (h *host) accept(ctx context.Context, r *inbound, in *channels.Inbound, op store.Op, quiet bool) (store.Accepted, error) {
	data, err := encode(r)
	if err != nil {
		return store.Accepted{}, err
	}
	acc, err := h.g.cfg.Store.Accept(ctx, store.Event{
		ID: eventID(in), Session: r.Target.Conversation, Op: op, Key: r.Key, Quiet: quiet, Data: data,
	})
	if err != nil {
		return acc, h.acceptFailed(ctx, in, err)
	}
	h.g.cfg.Observer.Accepted(h.channel.Name(), outcomeOf(acc, AcceptedMessage))
	h.log.Info("message accepted", "message", r.ID, "session", r.Target.Conversation, "sender", r.Sender.ID,
		"kind", string(r.Kind), "bytes", len(r.Text), "waiting", acc.Waiting, "duplicate", acc.Duplicate)
	if !acc.Duplicate && op == store.Put {
		h.g.live(h.channel, r.Target.Conversation).accepted(r)
	}
	return acc, nil
}

// acceptFailed decides whether the platform should deliver again. What the
// store calls malformed will be malformed the next time, too.
func (h *host) acceptFailed(ctx context.Context, in *channels.Inbound, err error) error {
	if errors.Is(err, store.ErrInvalid) {
		h.log.Warn("skipped an event that the store refuses", "event", in.EventID, "err", err)
		if in.Kind == channels.Message {
			h.once(ctx, in, "I could not take that message: there is something in it that I can't keep. Please write it in other words.")
		}
		return nil
	}
	h.g.cfg.Observer.Accepted(h.channel.Name(), AcceptedFailed)
	return fmt.Errorf("accept %s: %w", in.EventID, err)
}

func outcomeOf(acc store.Accepted, what Acceptance) Acceptance {
	if acc.Duplicate {
		return AcceptedDuplicate
	}
	return what
}

// refuse tells the sender why, once.
func (h *host) refuse(ctx context.Context, in *channels.Inbound, reason string) {
	h.g.cfg.Observer.Accepted(h.channel.Name(), AcceptedRefused)
	if in.Kind != channels.Message || !h.g.told.first(h.channel.Name()+"\x00"+in.Target.Chat+"\x00"+in.Sender.ID+"\x00"+reason) {
		return
	}
	h.log.Info("refused a sender", "session", in.Target.Conversation, "sender", in.Sender.ID)
	h.notice(ctx, in.Target, in.Sender, reason)
}

// once tells a person something at most once in a minute.
func (h *host) once(ctx context.Context, in *channels.Inbound, text string) {
	minute := strconv.FormatInt(time.Now().UnixNano()/int64(time.Minute), 10)
	if h.g.told.first(h.channel.Name() + "\x00" + in.Target.Chat + "\x00" + in.Sender.ID + "\x00" + minute) {
		h.notice(ctx, in.Target, in.Sender, text)
	}
}

// notice posts a text of the program's own to one person. It is not retried:
// whoever asked will ask again.
func (h *host) notice(ctx context.Context, to channels.Target, sender channels.Sender, text string) {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	to.User = sender.ID
	if _, err := h.channel.Post(ctx, to, channels.Outgoing{Markdown: text, Private: true}); err != nil {
		h.log.Warn("a notice was not delivered", "session", to.Conversation, "err", err)
	}
}

// eventID is what deliveries of the same thing have in common. Twins of a
// message (a mention delivered once as such and once as a message) are one.
func eventID(in *channels.Inbound) string {
	if in.Kind == channels.Message && in.MessageID != "" {
		return "m:" + in.MessageID
	}
	return in.EventID
}

// cleanText makes a text valid UTF-8 without control characters that no chat
// shows and no model wants.
func cleanText(s string) string {
	bad := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t'
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}
