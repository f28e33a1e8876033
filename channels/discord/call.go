package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

// Calls are given up after this long; the outcome of a write is then unknown.
const (
	draftTimeout = 10 * time.Second
	callTimeout  = 15 * time.Second
	finalTimeout = 30 * time.Second
)

// request is one REST call.
type request struct {
	// op names it in errors, and its kind for rate limits.
	op, method string
	// address is one of the typed client's endpoints.
	address string
	// major is the channel, server or webhook that limits are counted for.
	major string
	body  any // encoded as JSON; nil for none
	raw   []byte
	mime  string // of raw
	// draft calls give up at once rather than wait for a limit.
	draft bool
	// foreign calls are not authorised by the bot's token.
	foreign bool
	timeout time.Duration
}

// call runs one REST call and decodes its answer into out, which may be nil.
// Its failure is a *[channels.SendError].
func (c *Channel) call(ctx context.Context, r request, out any) error {
	if r.timeout <= 0 {
		r.timeout = callTimeout
	}
	a := &attempt{}
	ctx, cancel := context.WithTimeout(withAttempt(ctx, a), r.timeout)
	defer cancel()
	if err := c.limits.await(ctx, &r); err != nil {
		return err
	}
	data, err := c.send(ctx, &r)
	c.limits.note(&r, a, data)
	if err != nil {
		failure := classify(&r, err, a, data)
		failure.Err = c.presentable("discord "+r.op, err)
		if failure.Reason == channels.ReasonAuth {
			c.health.set(errToken)
		}
		return failure
	}
	if out == nil || len(data) == 0 {
		return nil
	}
	if err := tolerant(data, out); err != nil {
		return &channels.SendError{Outcome: channels.Unknown, Err: fmt.Errorf("discord %s: the answer is no JSON; is api_url Discord?", r.op)}
	}
	return nil
}

// send has the typed client make the call, once: it must neither wait nor
// repeat, since only we know what may be sent again. Its limiter is a fresh one
// that knows nothing.
func (c *Channel) send(ctx context.Context, r *request) ([]byte, error) {
	body, mime := r.raw, r.mime
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body, mime = data, "application/json"
	}
	bucket := discordgo.NewRatelimiter().LockBucket(r.op)
	return c.rest.RequestWithLockedBucket(r.method, r.address, mime, body, bucket, 0,
		discordgo.WithContext(ctx), discordgo.WithRetryOnRatelimit(false), discordgo.WithRestRetries(0))
}

// tolerant decodes what it can: a field of another type than expected is left
// out.
func tolerant(data []byte, out any) error {
	err := json.Unmarshal(data, out)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// apiError is Discord's refusal.
type apiError struct {
	Code       int             `json:"code"`
	Message    string          `json:"message"`
	Errors     json.RawMessage `json:"errors"`
	RetryAfter float64         `json:"retry_after"` // seconds
	Global     bool            `json:"global"`
}

// connectAgain is how long a write waits that never reached Discord.
const connectAgain = 2 * time.Second

// classify says what became of a call. Only an answer of the API, or a request
// that never left, is certain.
func classify(r *request, err error, a *attempt, body []byte) *channels.SendError {
	var refusal apiError
	isJSON := tolerant(body, &refusal) == nil
	switch {
	case a.status == http.StatusTooManyRequests:
		return &channels.SendError{
			Outcome: channels.RateLimited, RetryAfter: retryAfter(&refusal, a.header),
			Global: refusal.Global || a.header.Get("X-RateLimit-Global") != "" || !isJSON,
		}
	case a.status == http.StatusUnauthorized && !r.foreign:
		return rejected(channels.ReasonAuth)
	case a.status == http.StatusRequestEntityTooLarge:
		return rejected(channels.ReasonTooLong)
	case a.status >= 300 && a.status < 500:
		return rejected(reasonOf(a.status, &refusal))
	case a.status == 0 && !a.sent.Load() && !errors.Is(err, context.Canceled):
		return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: connectAgain, Global: true}
	}
	return &channels.SendError{Outcome: channels.Unknown}
}

func rejected(reason channels.Reason) *channels.SendError {
	return &channels.SendError{Outcome: channels.Rejected, Reason: reason}
}

func retryAfter(e *apiError, h http.Header) time.Duration {
	wait := time.Duration(e.RetryAfter * float64(time.Second))
	if wait <= 0 {
		if d, err := time.ParseDuration(h.Get("Retry-After") + "s"); err == nil {
			wait = d
		}
	}
	if wait <= 0 {
		wait = 5 * time.Second
	}
	return wait
}

// Codes of refusals, see
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json.
const (
	codeArchived       = 50083
	codeThreadLocked   = 160005
	codeThreadThere    = 160004
	codeThreadsMax     = 160006
	codeThreadArchived = 160013
	codeFormBody       = 50035
	codeTooLarge       = discordgo.ErrCodeRequestEntityTooLarge
	codeUnknownEmoji   = discordgo.ErrCodeUnknownEmoji
	codeWrongKind      = 50024
	codeNotText        = 50008
)

// reasonOf tells the reasons apart that a caller acts on.
func reasonOf(status int, e *apiError) channels.Reason {
	switch e.Code {
	case discordgo.ErrCodeUnknownMessage, discordgo.ErrCodeMaximumNumberOfEditsToMessagesOlderThanOneHourReached:
		return channels.ReasonGone // or as good as: it can't be edited again
	case codeTooLarge:
		return channels.ReasonTooLong
	case discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeUnknownGuild, discordgo.ErrCodeMissingAccess, 50013, 50007, 50009,
		codeNotText, codeThreadLocked, codeThreadArchived, codeArchived, discordgo.ErrCodeUserIsBannedFromThisGuild:
		return channels.ReasonForbidden
	case codeFormBody:
		if strings.Contains(string(e.Errors), "MAX_LENGTH") {
			return channels.ReasonTooLong
		}
		return channels.ReasonOther
	}
	if status == http.StatusForbidden {
		return channels.ReasonForbidden
	}
	return channels.ReasonOther
}

// codeOf returns the code of Discord's refusal, 0 if there is none.
func codeOf(err error) int {
	if e, ok := errors.AsType[*shown](err); ok {
		return e.code
	}
	return 0
}

// longestError is how much of an error is shown, in bytes.
const longestError = 400

// shown is a failed call as people may see it: without the token, addresses and
// whole pages.
type shown struct {
	text string
	code int
	err  error
}

// Error gives the mended text.
func (e *shown) Error() string { return e.text }

// Is compares with what the error came from.
func (e *shown) Is(target error) bool { return errors.Is(e.err, target) }

func (c *Channel) presentable(prefix string, err error) error {
	out := &shown{err: err}
	text := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok {
		text = u.Err.Error() // the address has the tokens of interactions in it
	}
	if e, ok := errors.AsType[*discordgo.RESTError](err); ok {
		var refusal apiError
		text = e.Response.Status
		if tolerant(e.ResponseBody, &refusal) == nil && refusal.Message != "" {
			out.code = refusal.Code
			text = fmt.Sprintf("%s (%d) %s", refusal.Message, refusal.Code, refusal.Errors)
		}
	}
	text = strings.TrimSpace(c.secret.String(text))
	if len(text) > longestError {
		text = strings.ToValidUTF8(text[:longestError], "") + "…"
	}
	out.text = prefix + ": " + text
	return out
}
