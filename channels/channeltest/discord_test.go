package channeltest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// discordCaller calls the fake as a program would.
type discordCaller struct {
	*Discord
	t      *testing.T
	ctx    context.Context
	client *http.Client
}

func callDiscord(t *testing.T, cfg DiscordConfig) *discordCaller {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	c := &discordCaller{NewDiscord(cfg), t, ctx, &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(func() {
		c.client.CloseIdleConnections()
		c.Close()
		cancel()
	})
	return c
}

type discordReply struct {
	status     int
	header     http.Header
	ID         string
	Content    string
	Code       int
	RetryAfter float64 `json:"retry_after"`
}

func (c *discordCaller) do(method, path, body string) (out discordReply) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.ctx, method, c.URL()+"/api/v9/"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bot "+c.Token())
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	out.status, out.header = resp.StatusCode, resp.Header
	if resp.StatusCode != http.StatusNoContent {
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			c.t.Fatal(err)
		}
	}
	return out
}

func TestDiscordsFakeRefusesWhatDiscordDoes(t *testing.T) {
	c := callDiscord(t, DiscordConfig{})
	dm := c.DM("71")
	theirs := c.SendText(dm, "71", "hello")
	mine := c.do("POST", "channels/"+dm+"/messages", `{"content":"mine"}`).ID
	room := c.AddChannel(DiscordRoom(1), DiscordChannelOptions{})
	asked := c.SendText(room, "71", "hello")
	c.AddChannel("62", DiscordChannelOptions{Denied: DiscordSend})
	c.AddChannel("63", DiscordChannelOptions{Denied: DiscordViewChannel})
	long := strings.Repeat("a", 2001)
	for _, call := range []struct {
		method, path, body string
		status, code       int
	}{
		{"POST", "channels/" + dm + "/messages", `{"content":"` + long + `"}`, 400, 50035},
		{"POST", "channels/" + dm + "/messages", `{"content":" "}`, 400, 50006},
		{"POST", "channels/" + dm + "/messages", `{"content":`, 400, 50109},
		{"POST", "channels/" + dm + "/messages", `{"content":"x","nonce":"` + long[:26] + `"}`, 400, 50035},
		{"POST", "channels/" + dm + "/messages", `{"content":"x","allowed_mentions":{"parse":["all"]}}`, 400, 50035},
		{"POST", "channels/" + dm + "/messages", `{"content":"x","message_reference":{"message_id":"5"}}`, 400, 50035},
		{"POST", "channels/" + dm + "/messages", `{"content":"x","components":[{"type":1,"components":[{"type":2,"style":1,"label":""}]}]}`, 400, 50035},
		{"POST", "channels/1/messages", `{"content":"x"}`, 404, 10003},
		{"POST", "channels/62/messages", `{"content":"x"}`, 403, 50013},
		{"POST", "channels/63/messages", `{"content":"x"}`, 403, 50001},
		{"PATCH", "channels/" + dm + "/messages/" + theirs, `{"content":"x"}`, 403, 50005},
		{"PATCH", "channels/" + dm + "/messages/5", `{"content":"x"}`, 404, 10008},
		{"PATCH", "channels/" + dm + "/messages/" + mine, `{"content":"` + long + `"}`, 400, 50035},
		{"POST", "channels/" + dm + "/messages/" + theirs + "/threads", `{"name":"x"}`, 400, 50024},
		{"POST", "channels/" + room + "/messages/" + asked + "/threads", `{"name":""}`, 400, 50035},
		{"POST", "channels/" + room + "/messages/" + asked + "/threads", `{"name":"x"}`, 200, 0},
		{"POST", "channels/" + room + "/messages/" + asked + "/threads", `{"name":"x"}`, 400, 160004},
		{"GET", "channels/" + dm + "/messages?limit=101", "", 400, 50035},
		{"PUT", "applications/1/commands", `[{"name":"No Good","description":"x"}]`, 400, 50035},
		{"POST", "interactions/1/x/callback", `{"type":4}`, 404, 10062},
		{"GET", "nonsense", "", 404, 0},
	} {
		if got := c.do(call.method, call.path, call.body); got.status != call.status || got.Code != call.code {
			t.Errorf("%s %s %.60s is answered %d, %d", call.method, call.path, call.body, got.status, got.Code)
		}
	}
	c.Archive(asked, true, true)
	if got := c.do("POST", "channels/"+asked+"/messages", `{"content":"x"}`); got.Code != 160005 {
		t.Errorf("a locked thread answers %+v", got)
	}
}

func TestDiscordsFakeMakesOneMessageOfANonceThatIsEnforced(t *testing.T) {
	c := callDiscord(t, DiscordConfig{})
	dm := c.DM("71")
	body := `{"content":"x","nonce":"n","enforce_nonce":true}`
	first, second := c.do("POST", "channels/"+dm+"/messages", body), c.do("POST", "channels/"+dm+"/messages", body)
	if first.ID != second.ID || len(c.Messages(dm)) != 1 {
		t.Errorf("%s and %s", first.ID, second.ID)
	}
	if c.do("POST", "channels/"+dm+"/messages", `{"content":"x","nonce":"n"}`); len(c.Messages(dm)) != 2 {
		t.Error("a nonce that is not enforced makes no new message")
	}
}

func TestDiscordsFakeTellsItsLimitsAndKeepsThem(t *testing.T) {
	c := callDiscord(t, DiscordConfig{RateLimits: true})
	dm := c.DM("71")
	for i := range 6 {
		got := c.do("POST", "channels/"+dm+"/messages", `{"content":"x"}`)
		if left := got.header.Get("X-RateLimit-Remaining"); i < 5 && (got.status != 200 || left != strconv.Itoa(4-i)) {
			t.Errorf("call %d: %d, %s left", i, got.status, left)
		}
		if i == 5 && (got.status != 429 || got.RetryAfter <= 0 || got.RetryAfter > 5) {
			t.Errorf("the sixth call is answered %d, wait %f", got.status, got.RetryAfter)
		}
	}
	if got := c.do("POST", "channels/"+c.DM("72")+"/messages", `{"content":"x"}`); got.status != 200 {
		t.Error("another channel is limited, too")
	}
}

// discordSocket is a gateway connection.
type discordSocket struct {
	*websocket.Conn
	t *testing.T
}

type discordFrame struct {
	Op int
	T  string
	S  int64
	D  map[string]any
}

func (c *discordCaller) connect(first string) discordSocket {
	c.t.Helper()
	ws, resp, err := websocket.DefaultDialer.DialContext(c.ctx, "ws"+strings.TrimPrefix(c.URL(), "http")+"/ws/?v=9&encoding=json", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = resp.Body.Close()
	c.t.Cleanup(func() { _ = ws.Close() })
	if deadline, ok := c.ctx.Deadline(); ok {
		_ = ws.SetReadDeadline(deadline)
	}
	s := discordSocket{ws, c.t}
	if f := s.next(); f.Op != 10 {
		c.t.Fatalf("it greets with %+v", f)
	}
	if err := ws.WriteMessage(websocket.TextMessage, []byte(first)); err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (s discordSocket) next() (f discordFrame) {
	s.t.Helper()
	_, data, err := s.ReadMessage()
	if err != nil {
		s.t.Fatal(err)
	}
	_ = json.Unmarshal(data, &f) // op 9 carries a bool
	return f
}

func (s discordSocket) dispatched(kind string) discordFrame {
	s.t.Helper()
	for {
		if f := s.next(); f.T == kind {
			return f
		}
	}
}

func (c *discordCaller) identify(intents int) string {
	return `{"op":2,"d":{"token":"` + c.Token() + `","intents":` + strconv.Itoa(intents) + `,"properties":{}}}`
}

func TestDiscordsFakeSendsAResumedSessionWhatItMissed(t *testing.T) {
	c := callDiscord(t, DiscordConfig{})
	s := c.connect(c.identify(intentGuilds | intentGuildMessages | intentDirectMessages))
	session, _ := s.dispatched("READY").D["session_id"].(string)
	c.SendText(c.DM("71"), "71", "first")
	seq := s.dispatched("MESSAGE_CREATE").S
	_ = s.NetConn().Close()
	c.SendText(c.DM("71"), "71", "second")
	s = c.connect(`{"op":6,"d":{"token":"` + c.Token() + `","session_id":"` + session + `","seq":` + strconv.FormatInt(seq, 10) + `}}`)
	if f := s.next(); f.T != "MESSAGE_CREATE" || f.D["content"] != "second" {
		t.Errorf("it goes on with %+v", f)
	}
	if f := s.next(); f.T != "RESUMED" {
		t.Errorf("then comes %+v", f)
	}
	if err := s.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")); err != nil {
		t.Fatal(err)
	}
	for { // until the other side has closed, too
		if _, _, err := s.ReadMessage(); err != nil {
			break
		}
	}
	if err := c.waitState(c.ctx, func() bool { return len(c.sessions) == 0 }); err != nil {
		t.Error("a session that was closed with 1000 lives on:", err)
	}
	s = c.connect(`{"op":6,"d":{"token":"` + c.Token() + `","session_id":"` + session + `","seq":1}}`)
	if f := s.next(); f.Op != 9 {
		t.Errorf("an unknown session is answered %+v", f)
	}
}

func TestDiscordsFakeClosesOnWhoMayNot(t *testing.T) {
	c := callDiscord(t, DiscordConfig{NoMessageContent: true})
	for first, code := range map[string]int{
		c.identify(intentMessageContent):                             4014,
		`{"op":2,"d":{"token":"wrong","intents":1,"properties":{}}}`: 4004,
		`{"op":2,"d":{}}`:                4002,
		`{"op":99}`:                      4001,
		`{"op":6,"d":{"token":"wrong"}}`: 4004,
	} {
		s := c.connect(first)
		if _, _, err := s.ReadMessage(); !websocket.IsCloseError(err, code) {
			t.Errorf("%s ends with %v, want %d", first, err, code)
		}
	}
	s := c.connect(c.identify(intentGuilds | intentGuildMessages))
	s.dispatched("READY")
	c.SendText(DiscordRoom(1), "71", "a secret")
	if f := s.dispatched("MESSAGE_CREATE"); f.D["content"] != "" {
		t.Errorf("without the intent it reads %v", f.D["content"])
	}
}
