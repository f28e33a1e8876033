package telegram

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/internal/redact"
)

func outgoing(text string) channels.Outgoing   { return channels.Outgoing{Markdown: text} }
func attachment(id string) channels.Attachment { return channels.Attachment{ID: id, Name: "x"} }
func (r *rig) target(chat int64) channels.Target {
	r.AddChat(chat, channeltest.ChatOptions{})
	return channels.Target{Chat: strconv.FormatInt(chat, 10), Direct: chat > 0, Conversation: "telegram:4711:" + strconv.FormatInt(chat, 10)}
}

func sendError(t *testing.T, err error) *channels.SendError {
	t.Helper()
	e, ok := errors.AsType[*channels.SendError](err)
	if !ok {
		t.Fatalf("%v is no SendError", err)
	}
	return e
}

func TestRefusalsAreToldApart(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	for _, c := range []struct {
		status int
		text   string
		want   channels.Reason
	}{
		{400, "Bad Request: message is too long", channels.ReasonTooLong},
		{400, "Bad Request: MESSAGE_TOO_LONG", channels.ReasonTooLong},
		{413, "Request Entity Too Large", channels.ReasonTooLong},
		{400, "Bad Request: message to edit not found", channels.ReasonGone},
		{400, "Bad Request: MESSAGE_ID_INVALID", channels.ReasonGone},
		{400, "Bad Request: message can't be edited", channels.ReasonGone},
		{403, "Forbidden: bot was blocked by the user", channels.ReasonForbidden},
		{403, "Forbidden: bot was kicked from the supergroup chat", channels.ReasonForbidden},
		{403, "Forbidden: user is deactivated", channels.ReasonForbidden},
		{400, "Bad Request: chat not found", channels.ReasonForbidden},
		{400, "Bad Request: not enough rights to send text messages to the chat", channels.ReasonForbidden},
		{400, "Bad Request: have no rights to send a message", channels.ReasonForbidden},
		{400, "Bad Request: CHAT_WRITE_FORBIDDEN", channels.ReasonForbidden},
		{400, "Bad Request: TOPIC_CLOSED", channels.ReasonForbidden},
		{400, "Bad Request: message thread not found", channels.ReasonForbidden},
		{401, "Unauthorized", channels.ReasonAuth},
		{404, "Not Found", channels.ReasonAuth},
		{400, "Bad Request: something new", channels.ReasonOther},
	} {
		r.Fail("sendMessage", 1, channeltest.Fault{Status: c.status, Description: c.text})
		_, err := r.bot.Post(r.ctx, to, outgoing("x"))
		if e := sendError(t, err); e.Outcome != channels.Rejected || e.Reason != c.want || !strings.Contains(e.Error(), "sendMessage") {
			t.Errorf("%d %s is %#v (%v)", c.status, c.text, e, e)
		}
	}
	if len(r.Messages(42)) != 0 {
		t.Error("something was sent")
	}
}

func TestAPageInsteadOfAnAnswerIsNotShownWhole(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	for status, outcome := range map[int]channels.Outcome{200: channels.Unknown, 502: channels.Unknown, 403: channels.Rejected} {
		r.Fail("sendMessage", 1, channeltest.Fault{Status: status, Body: "<html>" + strings.Repeat("ü ", 100_000)})
		_, err := r.bot.Post(r.ctx, to, outgoing("x"))
		if e := sendError(t, err); e.Outcome != outcome || len(err.Error()) > 600 || !utf8.ValidString(err.Error()) {
			t.Errorf("%d gives outcome %d and an error of %d bytes", status, e.Outcome, len(err.Error()))
		}
	}
}

func TestAnUnreachableServerIsTriedAgainLater(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	r.Close()
	_, err := r.bot.Post(r.ctx, to, outgoing("x"))
	if e := sendError(t, err); e.Outcome != channels.RateLimited || e.RetryAfter <= 0 || !e.Global {
		t.Errorf("a message that never left is %#v", e)
	}
}

func TestATimeoutAfterTheRequestLeftIsUnknown(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	r.Fail("sendMessage", 1, channeltest.Fault{Delay: time.Hour})
	ctx, cancel := context.WithTimeout(r.ctx, 300*time.Millisecond)
	defer cancel()
	_, err := r.bot.Post(ctx, to, outgoing("x"))
	if e := sendError(t, err); e.Outcome != channels.Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %#v", e)
	}
}

// A body that can be sent again lets net/http replace a connection that died
// while idle; otherwise the outcome of the call would be unknown.
func TestTheBodyOfACallCanBeSentAgain(t *testing.T) {
	var bodies []string
	transport := roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.ContentLength <= 0 || req.GetBody == nil {
			t.Errorf("the body has the length %d and can't be sent again", req.ContentLength)
			return nil, errors.New("no body")
		}
		again, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		for _, r := range []io.Reader{req.Body, again} {
			data, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			bodies = append(bodies, string(data))
		}
		return nil, errors.New("done")
	})
	reader, writer := io.Pipe()
	go func() {
		_, err := io.WriteString(writer, "a multipart body")
		_ = writer.CloseWithError(err)
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (doer{client: &http.Client{Transport: transport}}).Do(req); err == nil {
		t.Error("no error")
	}
	if !slices.Equal(bodies, []string{"a multipart body", "a multipart body"}) {
		t.Errorf("sent %q", bodies)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestFormattingThatIsRefusedIsSentAsPlainText(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	refused := channeltest.Fault{Status: 400, Description: "Bad Request: can't parse entities: ENTITY_BOUNDS_INVALID"}
	r.Fail("sendMessage", 1, refused)
	id := r.post(to, "one **two**")
	if m := r.Messages(42)[0]; m.Text != "one two" || len(m.Entities) != 0 {
		t.Errorf("sent %+v", m)
	}
	r.Fail("editMessageText", 1, refused)
	r.must(r.bot.Edit(r.ctx, to, id, outgoing("three **four**")))
	if m := r.Messages(42)[0]; m.Text != "three four" || len(m.Entities) != 0 {
		t.Errorf("edited %+v", m)
	}
}

func TestAnEmptyMessageIsRefusedHere(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	for _, text := range []string{"", " \n\t", "\u200b"} {
		_, err := r.bot.Post(r.ctx, to, outgoing(text))
		if text != "\u200b" && sendError(t, err).Outcome != channels.Rejected {
			t.Errorf("%q: %v", text, err)
		}
	}
	if len(r.Calls("sendMessage")) > 1 {
		t.Error("Telegram was asked to send nothing")
	}
	if err := r.bot.Edit(r.ctx, to, "1", outgoing("")); sendError(t, err).Outcome != channels.Rejected {
		t.Error(err)
	}
	if err := r.bot.Edit(r.ctx, to, "abc", outgoing("x")); sendError(t, err).Reason != channels.ReasonGone {
		t.Error(err)
	}
}

func TestAMessageCanBeSilentAndADraftHasNoPreview(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	_, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "https://example.org", Silent: true, Draft: true})
	r.must(err)
	if !r.Messages(42)[0].Silent || !strings.Contains(r.Calls("sendMessage")[0].Params["link_preview_options"], "true") {
		t.Error("sent", r.Calls("sendMessage"))
	}
}

func TestTheMessageReferredToMayBeGone(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(-1001)
	to.ReplyTo = "999"
	r.post(to, "answer")
}

func TestUnderTelegramsLimitsARefusalSaysHowLongToWait(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{RateLimits: true}, Config{})
	to := r.target(42)
	var limited *channels.SendError
	for range 30 {
		if _, err := r.bot.Post(r.ctx, to, outgoing("x")); err != nil {
			limited = sendError(t, err)
			break
		}
	}
	if limited == nil || limited.Outcome != channels.RateLimited || limited.RetryAfter < time.Second || r.Refused() != 1 {
		t.Errorf("got %#v, %d refused", limited, r.Refused())
	}
}

func TestLimitsAreThoseOfTheChat(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	direct, room := r.bot.Limits(channels.Target{Direct: true}), r.bot.Limits(channels.Target{})
	if direct.EditEvery != time.Second || direct.PerMinute != 0 || room.EditEvery != 3200*time.Millisecond || room.PerMinute != 20 {
		t.Errorf("direct %+v, room %+v", direct, room)
	}
	if direct.Measure("**a** 👍") != 4 {
		t.Errorf("a bold a and an emoji measure %d", direct.Measure("**a** 👍"))
	}
}

func TestAProxyIsUsedOnlyWhenItIsConfigured(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	r.must(err)
	r.must(dead.Close())
	t.Setenv("HTTP_PROXY", "http://"+dead.Addr().String())
	r.must(r.bot.Check(r.ctx))
	proxied, err := newChannel(Config{Token: r.bot.cfg.Token, APIURL: r.URL(), Proxy: "http://" + dead.Addr().String()})
	r.must(err)
	if err := proxied.Check(r.ctx); err == nil || !strings.Contains(err.Error(), "proxy") {
		t.Error("Check through a dead proxy says", err)
	}
}

func BenchmarkRenderFinal(b *testing.B) {
	text := strings.Repeat("Some **bold** text with `code` and a [link](https://example.org).\n\n- one\n- two\n\n", 40)
	b.ReportAllocs()
	for b.Loop() {
		render(outgoing(text))
	}
}

func BenchmarkEdit(b *testing.B) {
	fake := channeltest.NewTelegram(channeltest.TelegramConfig{Lean: true})
	defer fake.Close()
	fake.AddChat(42, channeltest.ChatOptions{})
	bot, err := newChannel(Config{Token: redact.Secret(fake.Token()), APIURL: fake.URL()})
	if err != nil {
		b.Fatal(err)
	}
	defer bot.http.CloseIdleConnections()
	to := channels.Target{Chat: "42", Direct: true}
	id, err := bot.Post(b.Context(), to, outgoing("x"))
	if err != nil {
		b.Fatal(err)
	}
	texts := [2]string{strings.Repeat("some **text** ", 50), strings.Repeat("more `text` ", 50)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := bot.Edit(b.Context(), to, id, channels.Outgoing{Markdown: texts[i%2], Draft: true}); err != nil {
			b.Fatal(err)
		}
	}
}
