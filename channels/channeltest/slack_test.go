package channeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// slackBench is a fake of Slack and a client that sends what it is told.
type slackBench struct {
	*Slack
	t   *testing.T
	ctx context.Context
}

func newSlackBench(t *testing.T, cfg SlackConfig) *slackBench {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	b := &slackBench{NewSlack(cfg), t, ctx}
	t.Cleanup(func() { b.Close(); cancel() })
	return b
}

// do calls a method; args alternate names and values.
func (b *slackBench) do(method string, args ...string) (answer map[string]any, resp *http.Response) {
	b.t.Helper()
	form := url.Values{"token": {b.BotToken()}}
	if method == "apps.connections.open" {
		form.Set("token", b.AppToken())
	}
	for i := 0; i < len(args); i += 2 {
		form.Set(args[i], args[i+1])
	}
	resp, err := http.PostForm(b.URL()+method, form)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		b.t.Fatal(err)
	}
	return answer, resp
}

// refused expects a refusal.
func (b *slackBench) refused(code, method string, args ...string) {
	b.t.Helper()
	if answer, _ := b.do(method, args...); answer["error"] != code {
		b.t.Errorf("%s %.200v: %v, want %s", method, args, answer, code)
	}
}

// taken expects success and returns the message's ts.
func (b *slackBench) taken(method string, args ...string) string {
	b.t.Helper()
	answer, _ := b.do(method, args...)
	if answer["ok"] != true {
		b.t.Errorf("%s %.200v: %v", method, args, answer)
	}
	ts, _ := answer["ts"].(string)
	return ts
}

func TestTheSlackFakeRefusesWhatSlackRefuses(t *testing.T) {
	b := newSlackBench(t, SlackConfig{Scopes: []string{"chat:write", "channels:history"}})
	root := b.SendText("C1", "U1", "hello")
	blocks := func(list ...string) string { return "[" + strings.Join(list, ",") + "]" }
	markdown := func(n int) string { return `{"type":"markdown","text":"` + strings.Repeat("x", n) + `"}` }
	button := func(label, id string) string {
		return `{"type":"actions","elements":[{"type":"button","action_id":"` + id + `","value":"v","text":{"type":"plain_text","text":"` + label + `"}}]}`
	}
	reply := b.taken("chat.postMessage", "channel", "C1", "thread_ts", root, "text", "x")
	for _, c := range [][]string{
		{"unknown_method", "chat.postNothing"},
		{"channel_not_found", "chat.postMessage", "channel", "C9", "text", "x"},
		{"no_text", "chat.postMessage", "channel", "C1"},
		{"thread_not_found", "chat.postMessage", "channel", "C1", "text", "x", "thread_ts", "1.1"},
		{"cannot_reply_to_message", "chat.postMessage", "channel", "C1", "text", "x", "thread_ts", reply},
		{"invalid_blocks", "chat.postMessage", "channel", "C1", "blocks", blocks(markdown(12_001))},
		{"invalid_blocks", "chat.postMessage", "channel", "C1", "blocks", blocks(markdown(0))},
		{"invalid_blocks", "chat.postMessage", "channel", "C1", "blocks", blocks(button(strings.Repeat("l", 76), "a"))},
		{"invalid_blocks", "chat.postMessage", "channel", "C1", "blocks", blocks(button("l", "a"), button("l", "a"))},
		{"invalid_blocks", "chat.postMessage", "channel", "C1", "blocks", blocks(`{"type":"of next year"}`)},
		{"invalid_blocks_format", "chat.postMessage", "channel", "C1", "blocks", "{"},
		{"msg_blocks_too_long", "chat.postMessage", "channel", "C1", "blocks", blocks(markdown(7000), markdown(7000))},
		{"invalid_metadata_format", "chat.postMessage", "channel", "C1", "text", "x", "metadata", `{"event_payload":{}}`},
		{"message_not_found", "chat.update", "channel", "C1", "ts", "1.1", "text", "x"},
		{"cant_update_message", "chat.update", "channel", "C1", "ts", root, "text", "x"},
		{"msg_too_long", "chat.update", "channel", "C1", "ts", reply, "text", strings.Repeat("x", 4001)},
		{"cant_delete_message", "chat.delete", "channel", "C1", "ts", root},
		{"missing_scope", "users.info", "user", "U1"},
		{"invalid_thread_ts", "assistant.threads.setStatus", "channel_id", "C1", "thread_ts", reply, "status", "x"},
		{"not_authed", "auth.test", "token", ""},
		{"not_allowed_token_type", "auth.test", "token", b.AppToken()},
		{"invalid_auth", "auth.test", "token", "xoxb-another"},
	} {
		b.refused(c[0], c[1], c[2:]...)
	}
	b.Bar("C1", "is_archived")
	b.refused("is_archived", "chat.postMessage", "channel", "C1", "text", "x")
	b.RevokeTokens()
	b.refused("token_revoked", "auth.test")
}

func TestAnUpdateWithoutBlocksTakesTheBlocksAway(t *testing.T) {
	b := newSlackBench(t, SlackConfig{})
	b.SendText("D1", "U1", "hello")
	ts := b.taken("chat.postMessage", "channel", "D1", "text", "f", "blocks", `[{"type":"markdown","text":"shown"}]`)
	if got := b.Messages("D1")[0].Shown(); got != "shown" {
		t.Errorf("shown: %q", got)
	}
	b.taken("chat.update", "channel", "D1", "ts", ts, "text", "plain")
	if got := b.Messages("D1")[0].Shown(); got != "plain" {
		t.Errorf("shown: %q", got)
	}
}

func TestAStreamEndsByAgeAndSize(t *testing.T) {
	b := newSlackBench(t, SlackConfig{})
	root := b.SendText("C1", "U1", "hello")
	b.refused("missing_recipient_user_id", "chat.startStream", "channel", "C1", "thread_ts", root)
	b.refused("invalid_arguments", "chat.startStream", "channel", "C1", "recipient_user_id", "U1", "recipient_team_id", "T0TEAM")
	begin := func() string {
		return b.taken("chat.startStream", "channel", "C1", "thread_ts", root, "recipient_user_id", "U1", "recipient_team_id", "T0TEAM", "markdown_text", "a")
	}
	ts := begin()
	b.taken("chat.appendStream", "channel", "C1", "ts", ts, "markdown_text", "b")
	b.refused("streaming_state_conflict", "chat.update", "channel", "C1", "ts", ts, "text", "x")
	b.refused("msg_too_long", "chat.appendStream", "channel", "C1", "ts", ts, "markdown_text", strings.Repeat("x", 12_000))
	b.taken("chat.stopStream", "channel", "C1", "ts", ts, "markdown_text", "c")
	b.refused("message_not_in_streaming_state", "chat.appendStream", "channel", "C1", "ts", ts, "markdown_text", "d")
	if got := b.Messages("C1")[0].Shown(); got != "abc" {
		t.Errorf("shown: %q", got)
	}
	ts = begin()
	b.ExpireStreams()
	b.refused("message_not_in_streaming_state", "chat.appendStream", "channel", "C1", "ts", ts, "markdown_text", "d")
	b.taken("chat.update", "channel", "C1", "ts", ts, "text", "the whole text")
}

func TestAStreamShowsStepsAndIsMarkedWhenItEnds(t *testing.T) {
	b := newSlackBench(t, SlackConfig{})
	root := b.SendText("C1", "U1", "hello")
	start := []string{"channel", "C1", "thread_ts", root, "recipient_user_id", "U1", "recipient_team_id", "T0TEAM"}
	b.refused("no_text", "chat.startStream", start...)
	for _, chunks := range []string{`{`, `[{"type":"task_update","id":"1","title":"x"}]`, `[{"type":"markdown_text"}]`, `[{"type":"task_update","id":"1","status":"complete","title":"` + strings.Repeat("x", 257) + `"}]`} {
		b.refused("invalid_chunks", "chat.startStream", append(start, "chunks", chunks)...)
	}
	ts := b.taken("chat.startStream", append(start, "chunks", `[{"type":"task_update","id":"1","status":"in_progress","title":"reading"}]`)...)
	b.taken("chat.appendStream", "channel", "C1", "ts", ts, "chunks", `[{"type":"task_update","id":"1","status":"complete","title":"read"},{"type":"markdown_text","text":"a"}]`)
	if m := b.Messages("C1")[0]; m.Shown() != "a\n\nread" || !m.Streaming() || m.Metadata != nil {
		t.Errorf("shown: %q, %+v", m.Shown(), m)
	}
	b.refused("cant_delete_message", "chat.delete", "channel", "C1", "ts", ts)
	b.refused("invalid_metadata_format", "chat.stopStream", "channel", "C1", "ts", ts, "metadata", `{}`)
	b.taken("chat.stopStream", "channel", "C1", "ts", ts, "metadata", `{"event_type":"x","event_payload":{"nonce":"n"}}`)
	if m := b.Messages("C1")[0]; m.Streaming() || len(m.Metadata) == 0 {
		t.Errorf("after its end: %+v", m)
	}
	b.NoStreams(true)
	b.refused("channel_type_not_supported", "chat.startStream", append(start, "markdown_text", "a")...)
}

func TestAFormOpensForWhoDidSomethingAndOnce(t *testing.T) {
	b := newSlackBench(t, SlackConfig{})
	view := `{"type":"modal","callback_id":"c","title":{"type":"plain_text","text":"T"},"blocks":[{"type":"input","block_id":"b","element":{"type":"plain_text_input","action_id":"a"}}]}`
	b.refused("expired_trigger_id", "views.open", "trigger_id", "made up", "view", view)
	b.refused("invalid_arguments", "views.open", "trigger_id", b.trigger("U1"), "view", `{"type":"modal"}`)
	trigger := b.trigger("U1")
	b.taken("views.open", "trigger_id", trigger, "view", view)
	b.refused("expired_trigger_id", "views.open", "trigger_id", trigger, "view", view)
	if v, err := b.WaitView(b.ctx, "U1"); err != nil || v.Callback != "c" {
		t.Errorf("shown: %+v, %v", v, err)
	}
}

func TestSlacksLimitsAreKeptAndSayHowLongToWait(t *testing.T) {
	b := newSlackBench(t, SlackConfig{RateLimits: true})
	b.SendText("D1", "U1", "hello")
	ts := b.taken("chat.postMessage", "channel", "D1", "text", "x")
	for range 100 {
		answer, resp := b.do("chat.update", "channel", "D1", "ts", ts, "text", "y")
		if resp.StatusCode == http.StatusTooManyRequests {
			if answer["error"] != "ratelimited" || resp.Header.Get("Retry-After") == "" || b.Refused() == 0 {
				t.Errorf("a refusal is %v with the headers %v", answer, resp.Header)
			}
			return
		}
	}
	t.Error("a hundred updates at once are taken")
}

func (b *slackBench) socket() *websocket.Conn {
	b.t.Helper()
	answer, _ := b.do("apps.connections.open")
	conn, _, err := websocket.DefaultDialer.Dial(fmt.Sprint(answer["url"]), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (b *slackBench) read(conn *websocket.Conn) (frame map[string]any) {
	b.t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if err := conn.ReadJSON(&frame); err != nil {
		b.t.Fatal(err)
	}
	return frame
}

func TestAnEnvelopeIsDeliveredUntilItIsAcknowledgedAndThenGivenUp(t *testing.T) {
	b := newSlackBench(t, SlackConfig{AckTimeout: time.Millisecond, NoEcho: true})
	conn := b.socket()
	if hello := b.read(conn); hello["type"] != "hello" || hello["num_connections"] != 1.0 {
		t.Errorf("greeted with %v", hello)
	}
	b.SendText("D1", "U1", "hello")
	for attempt := range slackAttempts {
		frame := b.read(conn)
		if frame["type"] != "events_api" || frame["retry_attempt"] != float64(attempt) {
			t.Errorf("attempt %d is %v", attempt, frame)
		}
	}
	if err := b.waitEvents(b.ctx, func(q *slackEvents) bool { return q.lost == 1 }); err != nil {
		t.Error("it is not given up:", err)
	}
}

func TestWhatASocketDidNotAcknowledgeGoesToTheNext(t *testing.T) {
	b := newSlackBench(t, SlackConfig{})
	first := b.socket()
	b.read(first)
	b.SendText("D1", "U1", "hello")
	b.read(first)
	_ = first.Close()
	second := b.socket()
	b.read(second)
	frame := b.read(second)
	if frame["retry_reason"] != "connection_closed" {
		t.Errorf("delivered again as %v", frame)
	}
	if err := second.WriteJSON(map[string]any{"envelope_id": frame["envelope_id"]}); err != nil {
		t.Fatal(err)
	}
	if err := b.WaitAcked(b.ctx); err != nil || b.Acked() != 1 {
		t.Errorf("%d acknowledged, %v", b.Acked(), err)
	}
}

func TestAnEleventhSocketIsSentAway(t *testing.T) {
	b := newSlackBench(t, SlackConfig{})
	for range maxSockets {
		b.read(b.socket())
	}
	if frame := b.read(b.socket()); frame["type"] != "disconnect" || frame["reason"] != "too_many_websockets" {
		t.Errorf("answered with %v", frame)
	}
}
