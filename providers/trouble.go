package providers

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"clawbot/agentcore"
	"clawbot/internal/lazyregexp"
)

// Aborted is the error of a call whose context was cancelled.
func Aborted(ctx context.Context) *agentcore.Error {
	cause := context.Cause(ctx)
	return &agentcore.Error{Class: agentcore.ErrAborted, Message: "the model call was aborted: " + cause.Error(), User: "Stopped.", Err: cause}
}

// What to tell the person in the chat, by class.
var userText = map[agentcore.ErrorClass]string{
	agentcore.ErrNetwork:         "I can't reach the model right now. Please try again in a moment.",
	agentcore.ErrRateLimited:     "The model is receiving too many requests. Please try again in a moment.",
	agentcore.ErrOverloaded:      "The model is overloaded right now. Please try again in a moment.",
	agentcore.ErrAuth:            "The model refused this bot's API key. Whoever runs the bot has to check it.",
	agentcore.ErrQuota:           "This bot's quota with the model vendor is used up. Whoever runs the bot has to add credit.",
	agentcore.ErrContextOverflow: "This conversation has become too long for the model. Send /new to start a fresh one.",
	agentcore.ErrNotFound:        "The configured model can't be found. Whoever runs the bot has to check its settings.",
	agentcore.ErrBadRequest:      "The model refused the request. Whoever runs the bot finds the reason in its log.",
	agentcore.ErrBadResponse:     "The model's answer could not be read. Please try again.",
	agentcore.ErrRefused:         "The model's provider declined to answer this.",
}

func (c *Client) newError(class agentcore.ErrorClass, message string) *agentcore.Error {
	return &agentcore.Error{Class: class, Message: c.redact.String(c.cfg.label() + ": " + message), User: userText[class]}
}

// Failed makes the error of a failure that a stream reported.
func (c *Client) Failed(raw []byte) *agentcore.Error {
	return c.failure(ParseFailure(0, raw), nil, raw)
}

// Ended is the error of a stream that ended before its end. what says what was
// missing.
func (c *Client) Ended(what string) *agentcore.Error {
	e := c.newError(agentcore.ErrBadResponse, "the stream ended early, "+what)
	e.Retryable = true
	return e
}

// Malformed is the error of an event that is not of this format. It names the
// format that the event is of, if that can be told.
func (c *Client) Malformed(data []byte) *agentcore.Error {
	message := "the server sent something that is not of the format " + c.format + ": " + shorten(Clean(string(data)), 200)
	e := c.newError(agentcore.ErrBadResponse, message+c.mismatch(data))
	e.Retryable = c.mismatch(data) == ""
	return e
}

// Stopped is the error of a stream that ended for a reason which is no success.
func (c *Client) Stopped(field, reason string) *agentcore.Error {
	class, retry := Classify(Failure{Code: reason})
	e := c.newError(class, fmt.Sprintf("the model ended with %s %q, which is an error or not known", field, shorten(reason, 100)))
	e.Retryable = retry && (class != agentcore.ErrBadResponse || strings.Contains(reason, "error"))
	return e
}

// Declined is the error of an answer that the vendor's policy cut off or kept
// back: field and reason are the vendor's words, said what it explains, if it
// does.
func (c *Client) Declined(field, reason, said string) *agentcore.Error {
	message := fmt.Sprintf("the vendor declined to answer (%s %s)", field, shorten(reason, 100))
	if said != "" {
		message += ": " + shorten(Clean(said), maxFailureText)
	}
	return c.newError(agentcore.ErrRefused, message)
}

// TooLong is the error of an answer beyond what any model means to write.
func (c *Client) TooLong() *agentcore.Error {
	e := c.newError(agentcore.ErrBadResponse, fmt.Sprintf("the answer is longer than %d MB", maxAnswer>>20))
	e.User = "The model did not stop writing, so its answer was cut off here. Please ask again, for something shorter."
	return e
}

func (c *Client) keyMissing() *agentcore.Error {
	env := ""
	switch c.Traits.Vendor {
	case "anthropic", "openai", "mistral", "openrouter", "groq", "deepseek", "xai", "together", "moonshot":
		env = fmt.Sprintf(", for example to \"${%s_API_KEY}\" with that variable in the environment", strings.ToUpper(c.Traits.Vendor))
	case "google":
		env = ", for example to \"${GEMINI_API_KEY}\" with that variable in the environment"
	}
	return c.newError(agentcore.ErrAuth, fmt.Sprintf("no API key: set %s%s", c.cfg.setting("api_key"), env))
}

func (c *Client) badResponse(status int, what, remedy string) *agentcore.Error {
	e := c.newError(agentcore.ErrBadResponse, strings.TrimSpace(fmt.Sprintf("POST %s: %s. %s", c.shown, what, remedy)))
	e.Status = status
	e.Retryable = remedy == ""
	return e
}

// notAStream is the error of a successful answer that is no event stream.
func (c *Client) notAStream(body []byte) *agentcore.Error {
	f := ParseFailure(0, body)
	if !IsHTML(body) && bytes.Contains(body, []byte(`"error"`)) {
		return c.failure(f, nil, body)
	}
	return c.badResponse(http.StatusOK, "the answer is no event stream but "+f.Message+c.mismatch(body),
		fmt.Sprintf("Check %s, %s and %s.", c.cfg.setting("base_url"), c.cfg.setting("format"), c.cfg.setting("proxy")))
}

// status is the error of an answer whose HTTP status is no success.
func (c *Client) status(resp *http.Response, body []byte) *agentcore.Error {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		where := "elsewhere"
		if to, err := resp.Location(); err == nil {
			where = "to " + (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
		}
		e := c.badResponse(resp.StatusCode, fmt.Sprintf("HTTP %d redirects %s, which is not followed", resp.StatusCode, where),
			"Set "+c.cfg.setting("base_url")+" to the right address.")
		return e
	}
	return c.failure(ParseFailure(resp.StatusCode, body), resp.Header, body)
}

func (c *Client) failure(f Failure, header http.Header, body []byte) *agentcore.Error {
	class, retryable := Classify(f)
	said := f.Message
	if said == "" {
		said = strings.TrimSpace(f.Type + " " + f.Code)
	}
	if f.Status > 0 {
		said = strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", f.Status, said), ": ")
	}
	if said == "" {
		said = "the stream carried an error without a message"
	}
	e := c.newError(class, strings.TrimSpace(said+c.remedy(class, f, body)))
	e.Status, e.Retryable = f.Status, retryable
	if after, ok := RetryAfter(header, body, time.Now()); ok && (retryable || class == agentcore.ErrQuota) {
		e.RetryAfter = max(after, time.Millisecond)
		if class == agentcore.ErrQuota {
			e.Class, e.Retryable = agentcore.ErrRateLimited, true
		}
	}
	if retryable && header.Get("X-Should-Retry") == "false" {
		e.Retryable = false
	}
	return e
}

// wrongShape matches a server's complaint about fields.
var wrongShape = lazyregexp.New(`(?i)field required|unrecognized request argument|unknown (?:field|name|parameter)|unsupported parameter|extra inputs are not permitted|missing required parameter`)

// remedy says which setting to change.
func (c *Client) remedy(class agentcore.ErrorClass, f Failure, body []byte) string {
	switch class {
	case agentcore.ErrAuth:
		return c.keyRemedy()
	case agentcore.ErrQuota:
		return ". Add credit with the vendor, or name another model in agent.model or agent.fallbacks"
	case agentcore.ErrNotFound:
		if noModel.MatchString(f.Type + " " + f.Code + " " + f.Message) {
			return fmt.Sprintf(". Check agent.model: this server does not have %q", c.model)
		}
		return fmt.Sprintf(" (POST %s)%s. Check %s and %s", c.shown, c.mismatch(body), c.cfg.setting("base_url"), c.cfg.setting("format"))
	case agentcore.ErrBadRequest:
		if wrongShape.MatchString(f.Message) {
			return fmt.Sprintf(". If this server speaks another format than %q, set %s; a field it does not know can be switched off in %s",
				c.format, c.cfg.setting("format"), c.cfg.setting("compat"))
		}
	case agentcore.ErrContextOverflow:
		return ". The request is longer than the model's context window"
	case agentcore.ErrNetwork:
		if f.Status == http.StatusProxyAuthRequired {
			return ". The proxy wants a user and a password: check " + c.cfg.setting("proxy")
		}
	}
	return ""
}

func (c *Client) keyRemedy() string {
	setting := c.cfg.setting("api_key")
	key, index := c.keys.pick(time.Now())
	owner := keyOwner(key)
	switch {
	case index < 0:
		return ". No key is set: set " + setting
	case strings.HasPrefix(key, "sk-ant-oat"):
		return ". " + setting + " is an OAuth token; an API key (sk-ant-api…) is needed"
	case owner != "" && c.Traits.Vendor != "" && owner != c.Traits.Vendor:
		return fmt.Sprintf(". %s looks like a key of %s, but %s is %s", setting, owner, c.cfg.setting("base_url"), c.url.Host)
	}
	return ". Check " + setting + ": it may be mistyped, expired or another vendor's"
}

// keyOwner tells from its beginning whose a key is.
func keyOwner(key string) string {
	for _, k := range []struct{ prefix, owner string }{
		{"sk-ant-", "anthropic"}, {"sk-or-", "openrouter"}, {"sk-proj-", "openai"}, {"sk-svcacct-", "openai"},
		{"AIza", "google"}, {"gsk_", "groq"}, {"xai-", "xai"},
	} {
		if strings.HasPrefix(key, k.prefix) {
			return k.owner
		}
	}
	return ""
}

// mismatch recognises the bodies of other formats.
func (c *Client) mismatch(body []byte) string {
	is := FormatOf(body)
	if is == "" || is == c.format || is == FormatOpenAI && (c.format == FormatMistral || c.format == FormatResponses && !bytes.Contains(body, []byte("choices"))) {
		return ""
	}
	return fmt.Sprintf(". This looks like the format %q: set %s = %q", is, c.cfg.setting("format"), is)
}

// FormatOf guesses which format a body or an event belongs to, "" if it cannot
// tell.
func FormatOf(data []byte) string {
	data = bytes.ReplaceAll(bytes.ReplaceAll(data[:min(len(data), 4<<10)], []byte(" "), nil), []byte("\n"), nil)
	has := func(s string) bool { return bytes.Contains(data, []byte(s)) }
	switch {
	case has(`"object":"chat.completion`), has(`"choices":[`):
		return FormatOpenAI
	case has(`"type":"response.`), has(`"object":"response"`):
		return FormatResponses
	case has(`"type":"message_start"`), has(`"type":"content_block_`), has(`"type":"message"`) && has(`"stop_reason"`),
		has(`"type":"error","error":{`):
		return FormatAnthropic
	case has(`"candidates":[`):
		return FormatGoogle
	case has(`{"error":{"message":`) && has(`"type":"invalid_request_error"`):
		return FormatOpenAI
	}
	return ""
}

// transport is the error of a request that did not get an answer, or whose
// answer broke off.
func (c *Client) transport(ctx context.Context, err error) *agentcore.Error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errIdle) {
		return Aborted(ctx)
	}
	if errors.Is(err, errEventTooLong) {
		return c.newError(agentcore.ErrBadResponse, err.Error())
	}
	what, retryable := c.diagnose(ctx, err)
	e := c.newError(agentcore.ErrNetwork, what)
	e.Retryable, e.Err = retryable, scrubbed{err, c.redact.String(err.Error())}
	return e
}

func (c *Client) diagnose(ctx context.Context, err error) (what string, retryable bool) {
	host, base := c.url.Host, c.cfg.setting("base_url")
	var (
		dns      *net.DNSError
		op       *net.OpError
		record   tls.RecordHeaderError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		timeout  net.Error
	)
	switch {
	case errors.Is(context.Cause(ctx), errIdle):
		return fmt.Sprintf("%s sent nothing for %s (%s)", host, c.idle, c.cfg.setting("idle_timeout")), true
	case errors.As(err, &op) && (op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks")), c.proxied && proxyRefused(err):
		return fmt.Sprintf("the proxy refused or could not be reached (%s): check %s", root(err), c.cfg.setting("proxy")), true
	case errors.As(err, &dns):
		return fmt.Sprintf("the host %s was not found (DNS): check %s and this machine's network", dns.Name, base), true
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return fmt.Sprintf("%s does not speak TLS: write %s with http:// instead of https://, or check the port", host, base), false
	case errors.As(err, &unknown), errors.As(err, &hostname), errors.As(err, &invalid):
		return fmt.Sprintf("the TLS certificate of %s is not trusted (%s): check %s and this machine's clock and certificates", host, root(err), base), false
	case errors.Is(err, syscall.ECONNREFUSED):
		hint := ""
		if c.Traits.Vendor == "ollama" {
			hint = " (start it with: ollama serve)"
		}
		return fmt.Sprintf("nothing listens at %s: check that the server runs%s and that %s is right", host, hint, base), true
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("%s did not answer in time (%s)", host, root(err)), true
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Sprintf("%s closed the connection early (%s)", host, root(err)), true
	}
	return fmt.Sprintf("POST %s failed: %s", c.shown, root(err)), true
}

// proxyRefused reports whether err is what net/http makes of a proxy's refusal
// to connect: the bare status text.
func proxyRefused(err error) bool {
	text := root(err)
	for code := 400; code < 600; code++ {
		if s := http.StatusText(code); s != "" && text == s {
			return true
		}
	}
	return false
}

// root returns err without the method and URL that net/http puts before it.
func root(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

// scrubbed keeps an error's chain but not its text, which may show a secret.
type scrubbed struct {
	error
	text string
}

func (s scrubbed) Error() string { return s.text }
func (s scrubbed) Unwrap() error { return s.error }

// Interrupted reports whether err is a connection that broke off or went
// silent, rather than something the server said.
func Interrupted(err error) bool { return agentcore.ClassOf(err) == agentcore.ErrNetwork }
