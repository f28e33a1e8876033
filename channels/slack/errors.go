package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

const (
	// connectAgain is how long a write waits that never reached Slack.
	connectAgain = 2 * time.Second
	// waitAnyway goes with a rate limit that does not say how long to wait.
	waitAnyway = 5 * time.Second
	// longestError is how much of an error is shown, in bytes.
	longestError = 400
)

// call runs one API call and returns its failure as a *[channels.SendError].
func (c *Channel) call(ctx context.Context, timeout time.Duration, method string, do func(context.Context) error) error {
	a := &attempt{}
	ctx, cancel := context.WithTimeout(withAttempt(ctx, a), timeout)
	defer cancel()
	err := do(ctx)
	if err == nil {
		return nil
	}
	out := classify(method, err, a)
	out.Err = &failure{method, c.brief(err), err}
	switch e, _ := errors.AsType[slack.SlackErrorResponse](err); {
	case out.Reason == channels.ReasonAuth:
		c.dead(refused(e.Err))
	case e.Err == "missing_scope":
		c.lacks(method, e.Needed)
	}
	return out
}

// failure is a call that failed. Its text is short and free of secrets.
type failure struct {
	method, text string
	err          error
}

// Error gives Slack's words.
func (f *failure) Error() string { return "slack " + f.method + ": " + f.text }

// Unwrap returns slack-go's error.
func (f *failure) Unwrap() error { return f.err }

func (c *Channel) brief(err error) string {
	text := c.secret.String(err.Error())
	if e, ok := errors.AsType[slack.SlackErrorResponse](err); ok {
		if e.Needed != "" {
			text += " (needed: " + e.Needed + ")"
		}
		if len(e.ResponseMetadata.Messages) > 0 {
			text += " (" + strings.Join(e.ResponseMetadata.Messages, "; ") + ")"
		}
	}
	if len(text) > longestError {
		text = strings.ToValidUTF8(text[:longestError], "") + "…"
	}
	return text
}

// classify says what became of a write. Only an answer of Slack, or a request
// that never left, is certain.
func classify(method string, err error, a *attempt) *channels.SendError {
	if e, ok := errors.AsType[*slack.RateLimitedError](err); ok {
		return limited(method, max(e.RetryAfter, time.Second))
	}
	if e, ok := errors.AsType[slack.SlackErrorResponse](err); ok {
		return refusal(method, e.Err)
	}
	if e, ok := errors.AsType[slack.StatusCodeError](err); ok {
		switch {
		case e.Code == http.StatusTooManyRequests:
			return limited(method, waitAnyway)
		case e.Code >= 300 && e.Code < 500:
			return &channels.SendError{Outcome: channels.Rejected}
		}
		return &channels.SendError{Outcome: channels.Unknown}
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	if !a.sent.Load() && !syntax {
		return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: connectAgain, Global: true}
	}
	return &channels.SendError{Outcome: channels.Unknown}
}

// limited is a rate limit. New messages are limited by channel, everything else
// by method in the whole workspace.
func limited(method string, wait time.Duration) *channels.SendError {
	return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: wait, Global: method != "chat.postMessage"}
}

// reasonOf tells the codes apart that a caller acts on, see
// https://docs.slack.dev/reference/methods/chat.postMessage#errors and its
// neighbours.
func reasonOf(code string) channels.Reason {
	switch code {
	case "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "org_login_required", "not_allowed_token_type",
		"two_factor_setup_required", "app_uninstalled":
		return channels.ReasonAuth
	case "channel_not_found", "not_in_channel", "is_archived", "no_permission", "missing_scope", "access_denied", "ekm_access_denied",
		"team_access_not_granted", "team_not_found", "cannot_reply_to_message", "messages_tab_disabled", "channel_type_not_supported",
		"method_not_supported_for_channel_type", "user_not_found", "user_disabled", "cannot_dm_bot", "accesslimited", "is_inactive",
		"enterprise_is_restricted", "external_channel_migrating", "posting_to_general_channel_denied":
		return channels.ReasonForbidden
	case "message_not_found", "cant_update_message", "cant_delete_message", "edit_window_closed", "thread_not_found", "bad_timestamp":
		return channels.ReasonGone
	case "msg_too_long", "msg_blocks_too_long", "file_too_large", "storage_limit_reached":
		return channels.ReasonTooLong
	}
	if strings.HasPrefix(code, "restricted_action") || strings.HasPrefix(code, "slack_connect_") {
		return channels.ReasonForbidden
	}
	return channels.ReasonOther
}

// reason is why a call was rejected.
func reason(err error) channels.Reason {
	e, _ := errors.AsType[*channels.SendError](err)
	if e == nil || e.Outcome != channels.Rejected {
		return channels.ReasonOther
	}
	return e.Reason
}

func refusal(method, code string) *channels.SendError {
	switch code {
	case "ratelimited", "rate_limited", "message_limit_exceeded":
		return limited(method, waitAnyway)
	case "internal_error", "fatal_error", "service_unavailable":
		// Slack says that some of it may have been done.
		return &channels.SendError{Outcome: channels.Unknown}
	}
	return &channels.SendError{Outcome: channels.Rejected, Reason: reasonOf(code)}
}

// is tells whether err is Slack's refusal with one of these codes.
func is(err error, codes ...string) bool {
	e, ok := errors.AsType[slack.SlackErrorResponse](err)
	if !ok {
		return false
	}
	return slices.Contains(codes, e.Err)
}

// refused is the end of receiving: what no retry mends, with the remedy.
func refused(code string) error {
	what := "slack refuses the token"
	switch code {
	case "account_inactive", "app_uninstalled":
		what = "the app was removed from the workspace, or the workspace is gone"
	case "token_revoked":
		what = "the token was revoked"
	case "token_expired":
		return errors.New("slack: the bot's token has expired, because token rotation is on for the app; " +
			"make the app anew from `clawbot slack manifest`, which leaves it off, and set channels.slack.bot_token or SLACK_BOT_TOKEN")
	case "not_allowed_token_type":
		what = "a token is of the wrong kind: bot_token begins with xoxb-, app_token with xapp-"
	}
	return fmt.Errorf("slack: %s (%s); install the app again on its page at https://api.slack.com/apps (OAuth & Permissions) and set "+
		"channels.slack.bot_token or SLACK_BOT_TOKEN, and channels.slack.app_token or SLACK_APP_TOKEN (Basic Information, App-Level Tokens)", what, code)
}
