package slack

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"clawbot/channels/channeltest"
)

func overHTTP(t *testing.T) *rig {
	return startWith(t, channeltest.SlackConfig{}, Config{Mode: ModeHTTP})
}

const forged = `{"type":"event_callback","team_id":"T0TEAM","api_app_id":"A0CLAW","event":{"type":"message","channel":"D0ANA","channel_type":"im","user":"U0ANA","text":"forged","ts":"1700000000.000001"}}`

func TestAttack41ARequestWithoutAValidSignatureIsRefusedBeforeItIsRead(t *testing.T) {
	r := overHTTP(t)
	old := strconv.FormatInt(time.Now().Add(-6*time.Minute).Unix(), 10)
	early := strconv.FormatInt(time.Now().Add(6*time.Minute).Unix(), 10)
	signed := func(stamp, body string) func(*http.Request) {
		return func(q *http.Request) {
			q.Header.Set("X-Slack-Request-Timestamp", stamp)
			q.Header.Set("X-Slack-Signature", r.Sign(stamp, []byte(body)))
		}
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	for what, spoil := range map[string]func(*http.Request){
		"no signature":                func(q *http.Request) { q.Header.Del("X-Slack-Signature") },
		"no timestamp":                func(q *http.Request) { q.Header.Del("X-Slack-Request-Timestamp") },
		"an old timestamp":            signed(old, forged),
		"a timestamp to come":         signed(early, forged),
		"another body":                signed(now, strings.Replace(forged, "forged", "signed", 1)),
		"a body that was reformatted": signed(now, strings.ReplaceAll(forged, ":", ": ")),
		"another timestamp": func(q *http.Request) {
			q.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(time.Now().Unix()-1, 10))
		},
		"another scheme":    func(q *http.Request) { q.Header.Set("X-Slack-Signature", "v1="+strings.Repeat("0", 64)) },
		"a short signature": func(q *http.Request) { q.Header.Set("X-Slack-Signature", "v0=00") },
		"no hex":            func(q *http.Request) { q.Header.Set("X-Slack-Signature", "v0="+strings.Repeat("z", 64)) },
	} {
		status, _, err := r.PostEvent("events_api", []byte(forged), spoil)
		if err != nil || status != http.StatusUnauthorized {
			t.Errorf("%s: HTTP %d, %v", what, status, err)
		}
	}
	if status, _, _ := r.PostEvent("events_api", []byte("{not JSON"), func(q *http.Request) { q.Header.Del("X-Slack-Signature") }); status != http.StatusUnauthorized {
		t.Errorf("unsigned nonsense: HTTP %d", status)
	}
	if n := len(r.host.Events()); n != 0 {
		t.Errorf("%d events were accepted", n)
	}
	if status, _, err := r.PostEvent("events_api", []byte(forged), nil); err != nil || status != http.StatusOK || len(r.host.Events()) != 1 {
		t.Errorf("the same with its signature: HTTP %d, %v", status, err)
	}
}

func TestTheAddressIsVerified(t *testing.T) {
	r := newRig(t, channeltest.SlackConfig{}, Config{Mode: ModeHTTP}) // not receiving yet
	status, body, err := r.PostEvent("events_api", []byte(`{"type":"url_verification","challenge":"3eZbrw1aB"}`), nil)
	if err != nil || status != http.StatusOK || body != "3eZbrw1aB" {
		t.Errorf("HTTP %d %q, %v", status, body, err)
	}
	if status, _, _ = r.PostEvent("events_api", []byte(forged), nil); status != http.StatusServiceUnavailable {
		t.Errorf("before Receive: HTTP %d", status)
	}
}

func TestRow27OverHTTPAnEventIsAnsweredWhenItIsAcceptedAndNotBefore(t *testing.T) {
	r := newRig(t, channeltest.SlackConfig{}, Config{Mode: ModeHTTP})
	r.bot.pace.answer = 50 * time.Millisecond
	r.receive()
	r.must(r.Platform().WaitReady(r.ctx))
	r.host.FailAccept(errors.New("the store is away"))
	if status, _, err := r.PostEvent("events_api", []byte(forged), nil); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("not accepted: HTTP %d, %v", status, err)
	}
	r.host.FailAccept(nil)
	r.next("forged")
	for range 3 { // redeliveries
		if status, _, err := r.PostEvent("events_api", []byte(forged), func(q *http.Request) { q.Header.Set("X-Slack-Retry-Num", "1") }); err != nil {
			t.Errorf("HTTP %d, %v", status, err)
		}
	}
	for _, in := range r.host.Events() {
		if in.EventID != r.host.Events()[0].EventID {
			t.Error("a redelivery has another id")
		}
	}
}

func TestButtonsAndCommandsComeOverHTTP(t *testing.T) {
	r := overHTTP(t)
	r.Slash(anaDM, ana, "/clawbot", "what & why?")
	if in := r.next("what & why?"); in.Target.Chat != anaDM || in.Sender.ID != ana {
		t.Errorf("a command is read as %+v", in)
	}
	id := r.post(r.direct(), "May I?")
	r.Press(anaDM, ana, id, "yes-1")
	if in := r.next("yes-1"); in.MessageID != id || in.Sender.ID != ana || in.Sender.Name != "Person U0ANA" {
		t.Errorf("a click is read as %+v", in)
	}
	r.settled()
}

func TestNonsenseWithASignatureIsAcknowledged(t *testing.T) {
	r := overHTTP(t)
	for i, body := range []string{"", "null", "[]", "{", `{"type":"event_callback"}`, `{"type":"app_rate_limited"}`, `{"team_id":"T0TEAM","event":{"type":"message","message":{}}}`, `{"team_id":"T0TEAM","event":7}`} {
		if status, _, err := r.PostEvent("events_api", []byte(body), nil); err != nil || status != http.StatusOK {
			t.Errorf("%d: HTTP %d, %v", i, status, err)
		}
	}
	if status, _, _ := r.PostEvent("events_api", []byte(`{"x":"`+strings.Repeat("x", maxRequest)+`"}`), nil); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the limit: HTTP %d", status)
	}
}

func TestTheEndpointsOfSeveralAppsDiffer(t *testing.T) {
	for name, want := range map[string]string{"": "POST /slack/events", "slack.work": "POST /slack/work/events"} {
		c, err := New(Config{Name: name, BotToken: "xoxb-1", SigningSecret: "s", Mode: ModeHTTP})
		if err != nil {
			t.Fatal(err)
		}
		if pattern, _ := c.(posted).Handler(); pattern != want {
			t.Errorf("%q is mounted at %q", name, pattern)
		}
	}
}

func TestWrongSettingsSayWhereTheRightOnesAre(t *testing.T) {
	for want, cfg := range map[string]Config{
		"OAuth & Permissions":       {BotToken: "xapp-1"},
		"App-Level Tokens":          {BotToken: "xoxb-1"},
		"App Credentials":           {BotToken: "xoxb-1", Mode: ModeHTTP},
		"\"socket\" or \"http\"":    {BotToken: "xoxb-1", Mode: "poll"},
		"\"thread\" or \"channel\"": {BotToken: "xoxb-1", AppToken: "xapp-1", ReplyIn: "dm"},
		"api_url":                   {BotToken: "xoxb-1", AppToken: "xapp-1", APIURL: "slack"},
		"proxy":                     {BotToken: "xoxb-1", AppToken: "xapp-1", Proxy: "gopher://x"},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
}

func TestTheManifestAsksForWhatTheBotUses(t *testing.T) {
	data, err := Manifest("Ops Bot", "")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Features struct {
			Commands []struct{ Command string } `json:"slash_commands"`
		} `json:"features"`
		OAuth struct {
			Scopes struct{ Bot []string } `json:"scopes"`
		} `json:"oauth_config"`
		Settings struct {
			Events struct {
				Bot []string `json:"bot_events"`
			} `json:"event_subscriptions"`
			Socket bool `json:"socket_mode_enabled"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.OAuth.Scopes.Bot) != len(scopeTable) || !slices.Equal(m.Settings.Events.Bot, botEvents) || !m.Settings.Socket || m.Features.Commands[0].Command != "/opsbot" {
		t.Errorf("the manifest is %s", data)
	}
	if missing(strings.Join(m.OAuth.Scopes.Bot, ",")) != nil {
		t.Error("an app made from it lacks scopes")
	}
}

// FuzzRequest posts any body with a valid signature.
func FuzzRequest(f *testing.F) {
	bot, err := newChannel(Config{BotToken: "xoxb-1", AppToken: "xapp-1", APIURL: "http://127.0.0.1:1/"}) // nobody is there
	if err != nil {
		f.Fatal(err)
	}
	bot.me.Store(&identity{team: "T0TEAM", user: "U0CLAW", bot: "B0CLAW"})
	f.Add("events_api", forged)
	f.Add("interactive", `{"type":"block_actions","team":{"id":"T0TEAM"},"user":{"id":"U1"},"container":{"message_ts":"1.1","channel_id":"C1"},"actions":[{"type":"button","value":"x"}]}`)
	f.Add("interactive", `{"type":"view_submission","team":{"id":"T0TEAM"},"user":{"id":"U1"},"view":{"id":"V1","callback_id":"ask","private_metadata":"{\"channel\":\"C1\",\"ts\":\"1.1\"}","state":{"values":{"ask":{"ask":{"value":"why"}}}}}}`)
	f.Add("events_api", `{"type":"event_callback","team_id":"T0TEAM","event":{"type":"assistant_thread_started","assistant_thread":{"channel_id":"D1","thread_ts":"1.1","context":{"channel_id":"C1"}}}}`)
	f.Add("slash_commands", `{"command":"/x","team_id":"T0TEAM","channel_id":"C1","user_id":"U1"}`)
	f.Fuzz(func(t *testing.T, kind, body string) {
		for _, a := range bot.read(kind, []byte(body)) {
			if a.in.EventID == "" || a.in.Target.Conversation == "" || a.lane == "" {
				t.Errorf("%q gives %+v", body, a)
			}
		}
	})
}

func TestAPanicOfTheReaderCostsOneEvent(t *testing.T) {
	bot, err := newChannel(Config{BotToken: "xoxb-1", AppToken: "xapp-1"})
	if err != nil {
		t.Fatal(err)
	}
	if list := bot.read("events_api", []byte(forged)); list != nil { // without an identity
		t.Errorf("read %v", list)
	}
}
