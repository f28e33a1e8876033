package channeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller calls the fake as a program would.
type caller struct {
	*Telegram
	t      *testing.T
	ctx    context.Context
	client *http.Client
}

func call(t *testing.T, cfg TelegramConfig) *caller {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	c := &caller{NewTelegram(cfg), t, ctx, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	t.Cleanup(func() {
		c.client.CloseIdleConnections()
		c.Close()
		cancel()
	})
	return c
}

type reply struct {
	OK          bool
	Result      json.RawMessage
	ErrorCode   int `json:"error_code"`
	Description string
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	}
}

func (c *caller) do(method, body string) (out reply) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.URL()+"/bot"+c.Token()+"/"+method, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return reply{Description: "broken: " + err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *caller) ids(body string) (ids []int64) {
	c.t.Helper()
	r := c.do("getUpdates", body)
	var list []struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(r.Result, &list); err != nil {
		c.t.Fatal(err, r)
	}
	for _, u := range list {
		ids = append(ids, u.ID)
	}
	return ids
}

func TestTheFakeRefusesTextAsTelegramDoes(t *testing.T) {
	c := call(t, TelegramConfig{})
	c.AddChat(1, ChatOptions{})
	for _, k := range []struct{ text, entities, say string }{
		{`""`, `[]`, "empty"},
		{`"  \n "`, `[]`, "non-empty"},
		{`"` + strings.Repeat("a", 4096) + `"`, `[]`, ""},
		{`"` + strings.Repeat("a", 4097) + `"`, `[]`, "too long"},
		{`"` + strings.Repeat("👍", 2048) + `"`, `[]`, ""},
		{`"` + strings.Repeat("👍", 2049) + `"`, `[]`, "too long"},
		{`"abc"`, `[{"type":"bold","offset":0,"length":3}]`, ""},
		{`"abc"`, `[{"type":"bold","offset":1,"length":3}]`, "out of bounds"},
		{`"abc"`, `[{"type":"bold","offset":0,"length":0}]`, "out of bounds"},
		{`"abc"`, `[{"type":"bold","offset":-1,"length":2}]`, "out of bounds"},
		{`"a b"`, `[{"type":"bold","offset":0,"length":2}]`, "white space"},
		{`"👍👍"`, `[{"type":"bold","offset":0,"length":3}]`, "middle"},
		{`"👍👍"`, `[{"type":"bold","offset":2,"length":2}]`, ""},
		{`"abcd"`, `[{"type":"bold","offset":0,"length":3},{"type":"italic","offset":2,"length":2}]`, "overlaps"},
		{`"abcd"`, `[{"type":"bold","offset":0,"length":4},{"type":"italic","offset":1,"length":2}]`, ""},
		{`"abcd"`, `[{"type":"bold","offset":0,"length":4},{"type":"code","offset":1,"length":2}]`, "can't nest"},
		{`"abcd"`, `[{"type":"pre","offset":0,"length":4},{"type":"bold","offset":1,"length":2}]`, "can't nest"},
		{`"abcd"`, `[{"type":"blockquote","offset":0,"length":4},{"type":"code","offset":1,"length":2}]`, ""},
		{`"abcd"`, `[{"type":"blockquote","offset":0,"length":4},{"type":"expandable_blockquote","offset":1,"length":2}]`, "quote"},
		{`"abcd"`, `[{"type":"bold","offset":0,"length":4},{"type":"bold","offset":1,"length":2}]`, "own type"},
		{`"abcd"`, `[{"type":"shiny","offset":0,"length":4}]`, "unknown type"},
		{`"abcd"`, `[{"type":"text_link","offset":0,"length":4}]`, "URL"},
		{`"abcd"`, `{"no":"list"}`, "can't parse"},
	} {
		r := c.do("sendMessage", `{"chat_id":1,"text":`+k.text+`,"entities":`+k.entities+`}`)
		if r.OK != (k.say == "") || !strings.Contains(r.Description, k.say) {
			t.Errorf("%.30s with %s: %+v, want %q", k.text, k.entities, r, k.say)
		}
	}
}

func TestTheFakeTrimsTextAndMovesEntities(t *testing.T) {
	c := call(t, TelegramConfig{})
	c.AddChat(1, ChatOptions{})
	c.do("sendMessage", `{"chat_id":1,"text":"\n 👍 abc \n","entities":[{"type":"bold","offset":5,"length":3}]}`)
	m := c.Messages(1)[0]
	if m.Text != "👍 abc" || m.Entities[0].Offset != 3 {
		t.Errorf("stored %+v", m)
	}
}

func TestTheFakeKnowsWhatCanBeEdited(t *testing.T) {
	c := call(t, TelegramConfig{})
	theirs := c.SendText(1, 1, "mine").MessageID
	c.do("sendMessage", `{"chat_id":1,"text":"one"}`)
	id := c.Messages(1)[0].ID
	for _, k := range []struct{ body, say string }{
		{fmt.Sprintf(`{"chat_id":1,"message_id":%d,"text":"one"}`, id), "not modified"},
		{fmt.Sprintf(`{"chat_id":1,"message_id":%d,"text":" one "}`, id), "not modified"},
		{fmt.Sprintf(`{"chat_id":1,"message_id":%d,"text":"two"}`, id), ""},
		{fmt.Sprintf(`{"chat_id":1,"message_id":%d,"text":"x"}`, theirs), "can't be edited"},
		{`{"chat_id":1,"message_id":999,"text":"x"}`, "message to edit not found"},
		{`{"chat_id":2,"message_id":999,"text":"x"}`, "chat not found"},
		{`{"message_id":999,"text":"x"}`, "chat_id is empty"},
	} {
		if r := c.do("editMessageText", k.body); r.OK != (k.say == "") || !strings.Contains(r.Description, k.say) {
			t.Errorf("%s: %+v", k.body, r)
		}
	}
}

func TestTheFakeKeepsTopicsApart(t *testing.T) {
	c := call(t, TelegramConfig{})
	c.AddChat(-1, ChatOptions{Forum: true, Topics: []int{7}})
	c.AddChat(-2, ChatOptions{})
	for _, k := range []struct {
		method, body string
		ok           bool
	}{
		{"sendMessage", `{"chat_id":-1,"text":"x","message_thread_id":7}`, true},
		{"sendMessage", `{"chat_id":-1,"text":"x"}`, true},
		{"sendMessage", `{"chat_id":-1,"text":"x","message_thread_id":1}`, false},
		{"sendMessage", `{"chat_id":-1,"text":"x","message_thread_id":8}`, false},
		{"sendMessage", `{"chat_id":-2,"text":"x","message_thread_id":7}`, false},
		{"sendChatAction", `{"chat_id":-1,"action":"typing","message_thread_id":1}`, true},
		{"sendChatAction", `{"chat_id":-2,"action":"typing","message_thread_id":1}`, false},
		{"sendChatAction", `{"chat_id":-1,"action":"dancing"}`, false},
	} {
		if r := c.do(k.method, k.body); r.OK != k.ok {
			t.Errorf("%s %s: %+v", k.method, k.body, r)
		}
	}
}

func TestTheFakeKeepsOffsets(t *testing.T) {
	c := call(t, TelegramConfig{})
	for range 5 {
		c.SendText(1, 1, "x")
	}
	first := c.ids(`{}`)
	if len(first) != 5 || len(c.ids(`{"limit":2}`)) != 2 {
		t.Fatal("unconfirmed updates must stay:", first)
	}
	if got := c.ids(fmt.Sprintf(`{"offset":%d}`, first[2])); len(got) != 3 || got[0] != first[2] {
		t.Error("after confirming two:", got)
	}
	if got := c.ids(`{"offset":-1}`); len(got) != 1 || got[0] != first[4] {
		t.Error("the last one:", got)
	}
	if got := c.ids(fmt.Sprintf(`{"offset":%d}`, first[4]+1)); len(got) != 0 {
		t.Error("after confirming all:", got)
	}
	c.Redeliver(first[1], first[3])
	if got := c.ids(fmt.Sprintf(`{"offset":%d}`, first[4]+1)); len(got) != 2 || got[0] != first[1] || got[1] != first[3] {
		t.Error("redelivered:", got)
	}
	if got := c.ids(`{"offset":0}`); len(got) != 0 {
		t.Error("redelivered twice:", got)
	}
}

func TestTheFakeDeliversOnlyWhatWasAskedFor(t *testing.T) {
	c := call(t, TelegramConfig{})
	c.ids(`{"allowed_updates":["callback_query"]}`)
	m := c.SendText(1, 1, "x")
	raw := c.SendRaw(`{"odd":{}}`)
	press, _ := c.Press(1, 1, m.MessageID, "d")
	if got := c.ids(`{}`); len(got) != 2 || got[0] != raw || got[1] != press {
		t.Error("delivered", got)
	}
}

func TestTheFakeHasOnePollerAtATime(t *testing.T) {
	c := call(t, TelegramConfig{})
	first := make(chan reply, 1)
	go func() { first <- c.do("getUpdates", `{"timeout":30}`) }()
	if err := c.WaitPoll(c.ctx); err != nil {
		t.Fatal(err)
	}
	c.do("getUpdates", `{}`)
	if r := <-first; r.ErrorCode != 409 || !strings.Contains(r.Description, "other getUpdates") {
		t.Errorf("the first poller got %+v", r)
	}
	c.do("setWebhook", `{"url":"http://127.0.0.1:1/x"}`)
	if r := c.do("getUpdates", `{}`); r.ErrorCode != 409 || !strings.Contains(r.Description, "webhook") {
		t.Errorf("beside a webhook a poller gets %+v", r)
	}
	c.do("deleteWebhook", `{}`)
	if r := c.do("getUpdates", `{}`); !r.OK {
		t.Errorf("without it a poller gets %+v", r)
	}
}

func TestTheFakeWakesThePollerThatWaits(t *testing.T) {
	c := call(t, TelegramConfig{})
	got := make(chan reply, 1)
	go func() { got <- c.do("getUpdates", `{"timeout":50}`) }()
	if err := c.WaitPoll(c.ctx); err != nil {
		t.Fatal(err)
	}
	c.SendText(1, 1, "x")
	if r := <-got; !r.OK || !strings.Contains(string(r.Result), `"text":"x"`) {
		t.Errorf("got %+v", r)
	}
}

func TestTheFakeDoesWhatIsPlanned(t *testing.T) {
	c := call(t, TelegramConfig{})
	c.AddChat(1, ChatOptions{})
	c.Fail("sendMessage", 2, Fault{Status: 429, RetryAfter: 9 * time.Second})
	c.Fail("sendMessage", 3, Fault{Lost: true})
	c.Fail("sendMessage", 4, Fault{Drop: true})
	send := func() reply { return c.do("sendMessage", `{"chat_id":1,"text":"x"}`) }
	if r := send(); !r.OK {
		t.Errorf("call 1: %+v", r)
	}
	if r := send(); r.ErrorCode != 429 || r.Parameters.RetryAfter != 9 {
		t.Errorf("call 2: %+v", r)
	}
	if r := send(); !strings.HasPrefix(r.Description, "broken") || len(c.Messages(1)) != 2 {
		t.Errorf("call 3 must be applied and lost: %+v", r)
	}
	if r := send(); !strings.HasPrefix(r.Description, "broken") || len(c.Messages(1)) != 2 {
		t.Errorf("call 4 must not be applied: %+v", r)
	}
	if r := send(); !r.OK || c.CallCount("sendMessage") != 5 || len(c.Calls("sendMessage")) != 5 {
		t.Errorf("call 5: %+v", r)
	}
}

func TestTheFakeAnswersWrongTokens(t *testing.T) {
	c := call(t, TelegramConfig{})
	for token, code := range map[string]int{"4711:wrong": 401, "nonsense": 404} {
		resp, err := c.client.Get(c.URL() + "/bot" + token + "/getMe")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != code {
			t.Errorf("%s: %d", token, resp.StatusCode)
		}
	}
	if r := c.do("noSuchMethod", `{}`); r.ErrorCode != 404 {
		t.Errorf("%+v", r)
	}
}

func TestALimitRefillsWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket{size: 3, interval: time.Second}
		for i := range 3 {
			if wait := b.take(time.Now()); wait != 0 {
				t.Errorf("take %d waits %s", i, wait)
			}
		}
		if wait := b.take(time.Now()); wait != time.Second {
			t.Errorf("an empty bucket waits %s", wait)
		}
		time.Sleep(time.Second)
		if wait := b.take(time.Now()); wait != 0 {
			t.Errorf("after a second it waits %s", wait)
		}
		time.Sleep(time.Hour)
		n := 0
		for b.take(time.Now()) == 0 {
			n++
		}
		if n != 3 {
			t.Errorf("after an hour it holds %d", n)
		}
	})
}

func TestEntitiesOfPeoplesTextAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"🙂 @bot hi": "mention 3+4", "/stop": "bot_command 0+5", "/stop@bot x": "bot_command 0+9", "a/b a@b.c": "", "no": "",
		"👍 /a @b": "bot_command 3+2 mention 6+2", "@": "", "//x": "",
	} {
		var got []string
		for _, e := range findEntities(text) {
			got = append(got, fmt.Sprintf("%s %d+%d", e.Type, e.Offset, e.Length))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestThousandsOfChatsWaitAtOnce(t *testing.T) {
	c := call(t, TelegramConfig{Lean: true})
	const chats = 2000
	var wg sync.WaitGroup
	for i := range chats {
		id := int64(i + 1)
		c.AddChat(id, ChatOptions{})
		wg.Go(func() {
			if _, err := c.WaitText(c.ctx, id, "answer"); err != nil {
				t.Error(err)
			}
		})
	}
	slots := make(chan struct{}, 50)
	for i := range chats {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if r := c.do("sendMessage", fmt.Sprintf(`{"chat_id":%d,"text":"answer"}`, i+1)); !r.OK {
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
}

func BenchmarkSendAndEdit(b *testing.B) {
	t := NewTelegram(TelegramConfig{Lean: true})
	defer t.Close()
	t.AddChat(1, ChatOptions{})
	req := &tgRequest{ctx: b.Context(), method: "sendMessage", params: map[string]string{"chat_id": "1", "text": "x"}}
	if _, err := t.apply(req); err != nil {
		b.Fatal(err)
	}
	edit := &tgRequest{ctx: b.Context(), method: "editMessageText", params: map[string]string{"chat_id": "1", "message_id": "11"}}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		edit.params["text"] = fmt.Sprint("text ", n)
		if _, err := t.apply(edit); err != nil {
			b.Fatal(err)
		}
	}
}
