package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"

	"clawbot/channels"
)

// connectAgain is how long a write waits that never reached Telegram.
const connectAgain = 2 * time.Second

// call runs one API call and returns its failure as a *[channels.SendError].
func (c *Channel) call(ctx context.Context, timeout time.Duration, a *attempt, op string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(withAttempt(ctx, a), timeout)
	defer cancel()
	err := do(ctx)
	if err == nil {
		return nil
	}
	out := classify(err, a)
	out.Err = c.presentable("telegram "+op, err)
	if out.Outcome == channels.RateLimited && a.chat != nil {
		out.Global = c.floods.another(a.chat, time.Now()) || out.Global
	}
	if out.Reason == channels.ReasonAuth {
		c.health.set(errToken)
	}
	return out
}

// floods tells whose limit a refusal is about, which Telegram does not: what
// chats are refused in a row is the bot's own.
type floods struct {
	mu   sync.Mutex
	chat any
	at   time.Time
	own  time.Time // when the bot's own limit was met last
	sign time.Time // no sign of typing before
}

// floodRow is how far apart refusals of different chats are one row.
const floodRow = 5 * time.Second

// floodMemory is how long a bot that met its own limit leaves out what is for
// looks alone.
const floodMemory = 30 * time.Minute

// another notes a refusal and reports whether another chat was refused just
// before.
func (f *floods) another(chat any, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	row := f.chat != nil && f.chat != chat && now.Sub(f.at) < floodRow
	f.chat, f.at = chat, now
	if row {
		f.own = now
	}
	return row
}

// typingEvery is the time between two of the bot's signs, wherever they are, but
// for a second's worth at once: they may count against the bot's limit, which
// answers need.
const typingEvery = 50 * time.Millisecond

// mayType takes the next sign of typing, if there is one to be had now.
func (f *floods) mayType(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Before(f.sign) {
		return false
	}
	if burst := now.Add(-time.Second); f.sign.Before(burst) {
		f.sign = burst
	}
	f.sign = f.sign.Add(typingEvery)
	return true
}

// busy reports whether the bot has met its own limit lately.
func (f *floods) busy(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.own.IsZero() && now.Sub(f.own) < floodMemory
}

// longestError is how much of an error is shown, in bytes: the typed client
// puts whole answers into its errors.
const longestError = 400

// presentable gives err a prefix and keeps the token and whole pages out of it.
func (c *Channel) presentable(prefix string, err error) error {
	text := c.secret.String(err.Error())
	if text == err.Error() && len(text) <= longestError {
		return fmt.Errorf("%s: %w", prefix, err)
	}
	if len(text) > longestError {
		text = strings.ToValidUTF8(text[:longestError], "") + "…"
	}
	return &shown{prefix + ": " + text, err}
}

// shown is an error whose text was mended; what it came from can be asked for
// but is not printed.
type shown struct {
	text string
	err  error
}

// Error gives the mended text.
func (e *shown) Error() string { return e.text }

// Is compares with what the error came from.
func (e *shown) Is(target error) bool { return errors.Is(e.err, target) }

// classify says what became of a write. Only an answer of the Bot API, or a
// request that never left, is certain.
func classify(err error, a *attempt) *channels.SendError {
	if e, ok := errors.AsType[*bot.TooManyRequestsError](err); ok {
		wait := time.Duration(max(e.RetryAfter, 1)) * time.Second
		return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: wait}
	}
	if e, ok := errors.AsType[*bot.MigrateError](err); ok {
		return &channels.SendError{
			Outcome: channels.Rejected, Reason: channels.ReasonMigrated, To: strconv.Itoa(e.MigrateToChatID),
		}
	}
	status := int(a.status.Load())
	switch {
	case unknownMethod(err):
		return rejected(channels.ReasonOther)
	case errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound), status == http.StatusUnauthorized:
		return rejected(channels.ReasonAuth)
	case errors.Is(err, bot.ErrorForbidden):
		return rejected(channels.ReasonForbidden)
	case errors.Is(err, bot.ErrorBadRequest):
		return rejected(badRequest(err.Error()))
	case status == http.StatusTooManyRequests:
		return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: 5 * time.Second, Global: true}
	case status == http.StatusRequestEntityTooLarge:
		return rejected(channels.ReasonTooLong)
	case status >= 300 && status < 500:
		return rejected(channels.ReasonOther)
	case !a.sent.Load():
		return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: connectAgain, Global: true}
	}
	return &channels.SendError{Outcome: channels.Unknown}
}

func rejected(reason channels.Reason) *channels.SendError {
	return &channels.SendError{Outcome: channels.Rejected, Reason: reason}
}

// badRequest tells the reasons apart that a caller acts on. Telegram words them
// in prose or as an error name.
func badRequest(text string) channels.Reason {
	switch text = strings.ToLower(text); {
	case contains(text, "too long", "too_long", "caption is too", "entity too large"):
		return channels.ReasonTooLong
	case contains(text, "message to edit not found", "message_id_invalid", "can't be edited", "message to react not found",
		"message to delete not found", "message can't be deleted"):
		return channels.ReasonGone
	case contains(text, "chat not found", "thread not found", "topic_closed", "topic_deleted", "topic_id_invalid", "not enough rights",
		"have no rights", "need administrator rights", "chat_write_forbidden", "chat_admin_required", "peer_id_invalid",
		"bot is not a member", "user_is_blocked", "chat_restricted", "chat_send_", "user is deactivated"):
		return channels.ReasonForbidden
	}
	return channels.ReasonOther
}

func contains(text string, any ...string) bool {
	for _, s := range any {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// refusal tells whether err is a 400 whose text contains one of these, in lower
// case.
func refusal(err error, any ...string) bool {
	return errors.Is(err, bot.ErrorBadRequest) && contains(strings.ToLower(err.Error()), any...)
}
