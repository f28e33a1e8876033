package telegram

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"

	"clawbot/agentcore"
	"clawbot/channels"
)

// A draft is a text that Telegram shows in a private chat while it is written,
// see https://core.telegram.org/bots/api#sendmessagedraft. It is no message: it
// has a number of the bot's own choice, fades after half a minute, and the final
// text is sent as a message in its place. To whoever edits a reply it has an id
// like a message has.
const (
	draftPrefix = "draft:"
	// draftStale is the age from which a draft that did not change is shown once
	// more, and draftGone the one at which it has faded.
	draftStale = 15 * time.Second
	draftGone  = 30 * time.Second
	keptDrafts = 4096
	// draftSends is how often a final is sent whose outcome stays unknown.
	draftSends = 2
)

var errDraftUnsure = errors.New("telegram: the message was sent twice without an answer; it may have arrived")

// drafts knows the drafts of this process and what became of them.
type drafts struct {
	mu      sync.Mutex
	all     map[string]*draft
	order   []string          // ids, the oldest first
	live    map[string]string // by conversation: the draft that shows
	none    bool              // the server does not know drafts
	refused map[any]bool      // chats that take none
}

type draft struct {
	conversation string
	shown        *bot.SendMessageDraftParams
	at           time.Time
	message      string // what took its place
	unsure       int    // sends of that without an answer
}

// drafted reports whether text that grows is shown as a draft in a chat.
func (c *Channel) drafted(to channels.Target) bool {
	if !c.cfg.Drafts || !to.Direct {
		return false
	}
	c.drafts.mu.Lock()
	defer c.drafts.mu.Unlock()
	return !c.drafts.none && !c.drafts.refused[c.chat(to)]
}

func newDraftID() string { return draftPrefix + strconv.Itoa(1+rand.IntN(1<<31-1)) }

// showDraft shows a draft, or reports false where there are none. One whose
// outcome is unknown counts as shown: the next one takes its place.
func (c *Channel) showDraft(ctx context.Context, to channels.Target, id string, out channels.Outgoing) (bool, error) {
	text, entities := render(out)
	if text == "" {
		return true, &channels.SendError{Outcome: channels.Rejected, Err: errEmpty}
	}
	params := &bot.SendMessageDraftParams{
		ChatID: c.chat(to), MessageThreadID: sendThread(to), DraftID: strings.TrimPrefix(id, draftPrefix), Text: text, Entities: entities,
	}
	err := c.sendDraft(ctx, params)
	if refusal(err, "can't parse", "entit") {
		params.Entities = nil
		err = c.sendDraft(ctx, params)
	}
	switch {
	case err == nil, channels.OutcomeOf(err) == channels.Unknown:
		c.drafts.show(to.Conversation, id, params)
		return true, nil
	case errors.Is(err, bot.ErrorBadRequest), unknownMethod(err):
		agentcore.LoggerOf(ctx, c.log).Info("telegram takes no drafts here; answers are edited instead", "conversation", to.Conversation, "error", err)
		c.drafts.refuse(params.ChatID, unknownMethod(err))
		return false, nil
	}
	return true, err
}

func (c *Channel) sendDraft(ctx context.Context, params *bot.SendMessageDraftParams) error {
	return c.call(ctx, draftTimeout, &attempt{chat: params.ChatID}, "sendMessageDraft", func(ctx context.Context) error {
		_, err := c.api.SendMessageDraft(ctx, params)
		return err
	})
}

// unknownMethod tells a server that is older than a method from a wrong token.
func unknownMethod(err error) bool {
	return errors.Is(err, bot.ErrorNotFound) && strings.Contains(strings.ToLower(err.Error()), "method not found")
}

// editDraft shows the next state of a draft, or sends the message that takes
// its place; what was sent already is edited.
func (c *Channel) editDraft(ctx context.Context, to channels.Target, id string, out channels.Outgoing) error {
	message, unsure := c.drafts.became(id)
	if message != "" {
		return c.Edit(ctx, to, message, out)
	}
	if out.Draft && c.drafted(to) {
		if shown, err := c.showDraft(ctx, to, id, out); shown {
			return err
		}
	}
	if unsure >= draftSends {
		return &channels.SendError{Outcome: channels.Rejected, Err: errDraftUnsure}
	}
	if unsure > 0 {
		agentcore.LoggerOf(ctx, c.log).Warn("sending a message once more after an unknown outcome; it may appear twice", "conversation", to.Conversation)
	}
	message, err := c.send(ctx, to, out)
	switch {
	case err == nil:
		c.drafts.replace(id, to.Conversation, message)
	case channels.OutcomeOf(err) == channels.Unknown:
		c.drafts.doubt(id, to.Conversation)
	}
	return err
}

// settleDraft makes a message of the draft that shows in a conversation, before
// the next part of the reply comes below it: messages stand in the order in
// which they are sent. The draft's final then edits the message.
func (c *Channel) settleDraft(ctx context.Context, to channels.Target) error {
	if !c.cfg.Drafts || !to.Direct {
		return nil
	}
	id, shown := c.drafts.open(to.Conversation, time.Now())
	if shown == nil {
		return nil
	}
	message, err := c.sendText(ctx, &bot.SendMessageParams{
		ChatID: shown.ChatID, MessageThreadID: shown.MessageThreadID, Text: shown.Text, Entities: shown.Entities,
	}, draftTimeout)
	switch {
	case err == nil:
		c.drafts.replace(id, to.Conversation, message)
		return nil
	case channels.OutcomeOf(err) == channels.Unknown:
		c.drafts.doubt(id, to.Conversation)
		return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: time.Second, Err: err} // the next part itself was not sent
	}
	return err
}

// keepDraft shows a draft once more that would fade soon, unless the bot has so
// much to say that this would take the place of something.
func (c *Channel) keepDraft(ctx context.Context, to channels.Target) {
	now := time.Now()
	params := c.drafts.stale(to.Conversation, now)
	if params == nil || c.floods.busy(now) {
		return
	}
	if err := c.sendDraft(ctx, params); err != nil {
		agentcore.LoggerOf(ctx, c.log).Debug("a draft was not shown once more", "conversation", to.Conversation, "error", err)
	}
}

// get finds or makes the draft with an id. d.mu is held.
func (d *drafts) get(id, conversation string) *draft {
	if x := d.all[id]; x != nil {
		return x
	}
	if d.all == nil {
		d.all, d.live = map[string]*draft{}, map[string]string{}
	}
	if len(d.order) >= keptDrafts {
		oldest := d.order[0]
		d.order = d.order[1:]
		d.hide(oldest)
		delete(d.all, oldest)
	}
	x := &draft{conversation: conversation}
	d.all[id] = x
	d.order = append(d.order, id)
	return x
}

// hide notes that a draft does not show any more. d.mu is held.
func (d *drafts) hide(id string) {
	if x := d.all[id]; x != nil {
		x.shown = nil
		if d.live[x.conversation] == id {
			delete(d.live, x.conversation)
		}
	}
}

func (d *drafts) show(conversation, id string, params *bot.SendMessageDraftParams) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.get(id, conversation)
	x.shown, x.at = params, time.Now()
	d.live[conversation] = id
}

func (d *drafts) refuse(chat any, everywhere bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if everywhere {
		d.none = true
		return
	}
	if d.refused == nil || len(d.refused) >= keptDrafts {
		d.refused = map[any]bool{}
	}
	d.refused[chat] = true
}

func (d *drafts) became(id string) (message string, unsure int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := d.all[id]; x != nil {
		return x.message, x.unsure
	}
	return "", 0
}

func (d *drafts) replace(id, conversation, message string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.get(id, conversation).message = message
	d.hide(id)
}

func (d *drafts) doubt(id, conversation string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.get(id, conversation).unsure++
	d.hide(id)
}

func (d *drafts) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hide(id)
}

// open returns the draft that shows in a conversation. One that has faded
// belongs to a reply that was given up.
func (d *drafts) open(conversation string, now time.Time) (id string, shown *bot.SendMessageDraftParams) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id = d.live[conversation]
	x := d.all[id]
	if x == nil || x.shown == nil {
		return "", nil
	}
	if now.Sub(x.at) >= draftGone {
		d.hide(id)
		return "", nil
	}
	return id, x.shown
}

// stale returns what a conversation's draft shows if that would fade soon. One
// that has faded belongs to a reply that was given up.
func (d *drafts) stale(conversation string, now time.Time) *bot.SendMessageDraftParams {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.live[conversation]
	x := d.all[id]
	if x == nil || x.shown == nil || now.Sub(x.at) < draftStale {
		return nil
	}
	if now.Sub(x.at) >= draftGone {
		d.hide(id)
		return nil
	}
	x.at = now
	return x.shown
}
