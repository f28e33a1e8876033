package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/channels"
)

// do makes a request and decodes the JSON answer.
func (r *running) do(method, path, body string) (status int, answer map[string]any) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		r.t.Fatalf("%s %s answered %d with what is not JSON: %q", method, path, resp.StatusCode, data)
	}
	return resp.StatusCode, answer
}

func problemOf(answer map[string]any) string {
	e, _ := answer["error"].(map[string]any)
	s, _ := e["message"].(string)
	return s
}

func TestAMessageIsAnsweredWhenItIsDurableAndSentAgainIsTheSameMessage(t *testing.T) {
	r := run(t)
	for range 3 {
		status, answer := r.do("POST", "/api/conversations/c1/messages", `{"id":"m1","text":"hello"}`)
		if status != http.StatusAccepted || answer["event_id"] != "web:c1:m1" {
			t.Fatalf("got %d %v", status, answer)
		}
	}
	if n := len(r.accepted); n != 1 {
		t.Fatalf("%d messages were accepted, want 1", n)
	}
	in := r.accepted[0]
	want := channels.Target{Conversation: "web:c1", Chat: "c1", Direct: true, User: "web:local"}
	if in.Target != want || in.Sender.ID != "web:local" || !in.Addressed || in.Kind != channels.Message ||
		in.Text != "hello" || in.EventID != "web:c1:m1" || in.MessageID != in.EventID || in.At.IsZero() {
		t.Errorf("accepted %+v", in)
	}
}

func TestAMessageThatCouldNotBeStoredIsNotAcknowledged(t *testing.T) {
	r := run(t)
	r.refuse = errors.New("the disk is full: make room")
	status, answer := r.do("POST", "/api/conversations/c1/messages", `{"id":"m1","text":"hello"}`)
	if status != http.StatusServiceUnavailable || !strings.Contains(problemOf(answer), "make room") {
		t.Errorf("got %d %v", status, answer)
	}
	r.mu.Lock()
	r.refuse = nil
	r.mu.Unlock()
	if status, _ = r.do("POST", "/api/conversations/c1/messages", `{"id":"m1","text":"hello"}`); status != http.StatusAccepted {
		t.Errorf("the next try got %d", status)
	}
}

func TestWhatIsNoMessageIsRefusedWithTheReasonAndTheNextOneWorks(t *testing.T) {
	r := run(t)
	big := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"a message of 1 MB":        {`{"text":"` + big + `"}`, http.StatusRequestEntityTooLarge, "256 kB"},
		"a body of 3 MB":           {`{"text":"` + big + big + big + `"}`, http.StatusRequestEntityTooLarge, "256 kB"},
		"binary junk":              {"\x00\xff\xfe\x01", http.StatusBadRequest, "UTF-8"},
		"junk inside the text":     {"{\"text\":\"a\xffb\"}", http.StatusBadRequest, "UTF-8"},
		"control characters":       {`{"text":"PK\u0003\u0004\u0000"}`, http.StatusBadRequest, "control characters"},
		"an escape sequence":       {`{"text":"\u001b[2J"}`, http.StatusBadRequest, "control characters"},
		"no JSON":                  {`hello`, http.StatusBadRequest, "JSON"},
		"half a JSON":              {`{"text":"he`, http.StatusBadRequest, "JSON"},
		"the wrong type":           {`{"text":7}`, http.StatusBadRequest, "JSON"},
		"a list":                   {`[]`, http.StatusBadRequest, "JSON"},
		"no text":                  {`{"id":"x"}`, http.StatusBadRequest, "empty"},
		"blank text":               {`{"text":" \n\t"}`, http.StatusBadRequest, "empty"},
		"an id with a path in it":  {`{"id":"../x","text":"a"}`, http.StatusBadRequest, "id"},
		"an id of 65 characters":   {`{"id":"` + strings.Repeat("a", 65) + `","text":"a"}`, http.StatusBadRequest, "id"},
		"an id that ends the line": {`{"id":"a\nb","text":"a"}`, http.StatusBadRequest, "id"},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := r.do("POST", "/api/conversations/c1/messages", c.body)
			if status != c.status || !strings.Contains(problemOf(answer), c.says) {
				t.Errorf("got %d %v", status, answer)
			}
		})
	}
	if len(r.accepted) != 0 {
		t.Errorf("accepted %+v", r.accepted)
	}
	if status, _ := r.do("POST", "/api/conversations/c1/messages", `{"text":"tab\tand\nnewline 🦀"}`); status != http.StatusAccepted {
		t.Errorf("the next message got %d", status)
	}
}

func TestOnlyJSONIsTakenSoThatAFormOfAnotherSiteCanNotWrite(t *testing.T) {
	r := run(t)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
		resp, err := r.client.Post(r.url+"/api/conversations/c1/messages", kind, strings.NewReader(`{"text":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("%q got %d", kind, resp.StatusCode)
		}
	}
}

func TestConversationIDsThatCouldNameSomethingElseAreRefused(t *testing.T) {
	r := run(t)
	for _, id := range []string{"a:b", "a%2Fb", "a%20b", strings.Repeat("a", 65), "%E2%80%AE", "a*"} {
		if status, answer := r.do("GET", "/api/conversations/"+id+"/messages", ""); status != http.StatusBadRequest {
			t.Errorf("%s got %d %v", id, status, answer)
		}
	}
}

func TestAConversationIsCreatedWithARandomID(t *testing.T) {
	r := run(t)
	_, a := r.do("POST", "/api/conversations", "")
	_, b := r.do("POST", "/api/conversations", "")
	id, _ := a["id"].(string)
	if len(id) != 26 || a["id"] == b["id"] || !validID(id) {
		t.Errorf("got %v and %v", a, b)
	}
}

func TestStopSendsTheCommand(t *testing.T) {
	r := run(t)
	if status, _ := r.do("POST", "/api/conversations/c1/stop", ""); status != http.StatusAccepted {
		t.Fatalf("got %d", status)
	}
	if in := r.accepted[0]; in.Text != "/stop" || in.Target.Conversation != "web:c1" || !in.Addressed {
		t.Errorf("accepted %+v", in)
	}
}

func TestAClickArrivesWithItsDataOnce(t *testing.T) {
	r := run(t)
	for range 2 {
		status, answer := r.do("POST", "/api/conversations/c1/click", `{"id":"k1","message":"n-7","data":"approve:7"}`)
		if status != http.StatusAccepted {
			t.Fatalf("got %d %v", status, answer)
		}
	}
	if len(r.accepted) != 1 || r.accepted[0].Kind != channels.Click || r.accepted[0].Text != "approve:7" || r.accepted[0].MessageID != "n-7" {
		t.Errorf("accepted %+v", r.accepted)
	}
	if status, _ := r.do("POST", "/api/conversations/c1/click", `{"message":"n-7"}`); status != http.StatusBadRequest {
		t.Errorf("a click without data got %d", status)
	}
}

func TestTheTranscriptIsReadInWindows(t *testing.T) {
	r := run(t)
	for i := range 250 {
		r.add("c1", EntryUser, text(agentcore.RoleUser, fmt.Sprint("message ", i)), "")
	}
	positions := func(query string) (first, last, n int) {
		status, answer := r.do("GET", "/api/conversations/c1/messages"+query, "")
		if status != http.StatusOK || answer["tail"] != 250.0 {
			t.Fatalf("%s got %d %v", query, status, answer)
		}
		entries := answer["entries"].([]any)
		at := func(i int) int { return int(entries[i].(map[string]any)["position"].(float64)) }
		if len(entries) == 0 {
			return -1, -1, 0
		}
		return at(0), at(len(entries) - 1), len(entries)
	}
	for query, want := range map[string][3]int{
		"":                      {150, 249, 100},
		"?limit=10":             {240, 249, 10},
		"?before=240&limit=10":  {230, 239, 10},
		"?before=5&limit=10":    {0, 4, 5},
		"?before=0":             {-1, -1, 0},
		"?from=245":             {245, 249, 5},
		"?from=250":             {-1, -1, 0},
		"?from=9000":            {-1, -1, 0},
		"?from=0&limit=1000000": {0, 249, 250},
	} {
		first, last, n := positions(query)
		if [3]int{first, last, n} != want {
			t.Errorf("%q: got %d to %d (%d), want %v", query, first, last, n, want)
		}
	}
	for _, query := range []string{"?from=-1", "?from=x", "?limit=-5", "?before=1e9"} {
		if status, answer := r.do("GET", "/api/conversations/c1/messages"+query, ""); status != http.StatusBadRequest || problemOf(answer) == "" {
			t.Errorf("%q got %d", query, status)
		}
	}
}

func TestAWindowDoesNotBeginBetweenACallAndItsResult(t *testing.T) {
	r := run(t)
	r.add("c1", EntryUser, text(agentcore.RoleUser, "go"), "")
	r.add("c1", EntryAssistant, calling("", call("a", "x", "{}"), call("b", "y", "{}")), "")
	for _, id := range []string{"a", "b"} {
		m := text(agentcore.RoleToolResult, "done")
		m.ToolCallID = id
		r.add("c1", EntryToolResult, m, "")
	}
	_, answer := r.do("GET", "/api/conversations/c1/messages?limit=1", "")
	entries := answer["entries"].([]any)
	if first := entries[0].(map[string]any); len(entries) != 3 || first["kind"] != "assistant" {
		t.Errorf("got %v", entries)
	}
}

func TestAnUnknownConversationIsEmpty(t *testing.T) {
	r := run(t)
	r.add("c12", EntryUser, text(agentcore.RoleUser, "another's"), "")
	status, answer := r.do("GET", "/api/conversations/c1/messages", "")
	if status != http.StatusOK || len(answer["entries"].([]any)) != 0 || answer["tail"] != 0.0 || answer["running"] != false {
		t.Errorf("got %d %v", status, answer)
	}
}

func TestThePageGetsNoThinkingNoSignaturesAndNoBytesOfFiles(t *testing.T) {
	r := run(t)
	m := calling("visible", agentcore.ToolCall{ID: "a", Name: "x", Arguments: json.RawMessage(`{"cut`), Signature: "SIG"})
	m.Content = append(m.Content, agentcore.Thinking{Text: "SECRET THOUGHT", Signature: "SIG"},
		agentcore.Image{MIMEType: "image/png", Data: bytes.Repeat([]byte("A"), 1000)})
	m.Usage = agentcore.Usage{Input: 3, Output: 4}
	r.add("c1", EntryAssistant, m, "")
	_, answer := r.do("GET", "/api/conversations/c1/messages", "")
	data, _ := json.Marshal(answer)
	for _, bad := range []string{"SECRET", "SIG", "QUFB", "AAAA"} {
		if bytes.Contains(data, []byte(bad)) {
			t.Errorf("the page got %s: %s", bad, data)
		}
	}
	e := answer["entries"].([]any)[0].(map[string]any)
	calls := e["calls"].([]any)[0].(map[string]any)
	if e["text"] != "visible" || calls["arguments"] != `{"cut` || e["files"] == nil {
		t.Errorf("got %v", e)
	}
}

func TestLongOutputIsCutAndCanBeReadInFull(t *testing.T) {
	r := run(t)
	m := text(agentcore.RoleToolResult, strings.Repeat("é", 50_000))
	m.ToolCallID = "a"
	r.add("c1", EntryAssistant, calling("", call("a", "write_file", `{"path":"a.txt","content":"`+strings.Repeat("x", 100_000)+`"}`)), "")
	r.add("c1", EntryToolResult, m, "")
	_, answer := r.do("GET", "/api/conversations/c1/messages", "")
	entries := answer["entries"].([]any)
	call := entries[0].(map[string]any)["calls"].([]any)[0].(map[string]any)["arguments"].(map[string]any)
	if call["path"] != "a.txt" || len(call["content"].(string)) > 3000 {
		t.Errorf("arguments: %.200v", call)
	}
	result := entries[1].(map[string]any)
	if n := len(result["text"].(string)); n > maxOutput || int(result["cut"].(float64))+n != 100_000 || strings.Contains(result["text"].(string), "\ufffd") {
		t.Errorf("%d bytes and %v cut", n, result["cut"])
	}
	_, full := r.do("GET", "/api/conversations/c1/messages/1", "")
	if len(full["text"].(string)) != 100_000 || full["cut"] != nil {
		t.Errorf("the whole entry has %d bytes", len(full["text"].(string)))
	}
	if status, _ := r.do("GET", "/api/conversations/c1/messages/9", ""); status != http.StatusNotFound {
		t.Errorf("an entry that is not there got %d", status)
	}
}

func TestConversationsAreListedWithWhatTheyBeganWith(t *testing.T) {
	r := run(t)
	r.add("one", EntryUser, text(agentcore.RoleUser, "first  question\nwith more"), "")
	r.add("two", EntryAssistant, text(agentcore.RoleAssistant, "hello"), "")
	r.add("three", EntryUser, text(agentcore.RoleUser, strings.Repeat("ä", 200)), "")
	r.sessions["telegram:1"] = &botSession{}
	list := func(query string) ([]any, any) {
		_, answer := r.do("GET", "/api/conversations"+query, "")
		return answer["conversations"].([]any), answer["next"]
	}
	all, _ := list("")
	if len(all) != 3 {
		t.Fatalf("got %v", all)
	}
	title := func(i int) string { return all[i].(map[string]any)["title"].(string) }
	if got := []string{title(0)[:4], title(1), title(2)}; got[0] != "ää" || got[1] != "" || got[2] != "first question" || len([]rune(title(0))) != 80 {
		t.Errorf("titles: %q", got)
	}
	page, next := list("?limit=2")
	rest, end := list("?limit=2&after=" + fmt.Sprint(next))
	if len(page) != 2 || len(rest) != 1 || end != nil {
		t.Errorf("pages of %d and %d, then %v", len(page), len(rest), end)
	}
	r.reads = 0
	list("")
	if r.reads > 1 { // only the one that still has no title
		t.Errorf("known titles were read again: %d reads", r.reads)
	}
}

func TestUnknownAddressesAnswerInTheFormOfThePlace(t *testing.T) {
	r := run(t)
	for path, want := range map[string]int{
		"/api/nothing": 404, "/nothing": 404, "/assets/nothing.js": 404, "/assets/index.html": 404,
		"/assets/..%2f..%2fgo.mod": 404, "/api/conversations/c1/nothing": 404,
	} {
		if status, answer := r.do("GET", path, ""); status != want || problemOf(answer) == "" {
			t.Errorf("%s got %d %v", path, status, answer)
		}
	}
}

func TestThePageIsOneDocumentOfModestSizeThatLoadsNothingFromElsewhere(t *testing.T) {
	r := run(t)
	total := 0
	list, err := pageFiles.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range list {
		name := file.Name()
		data, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			t.Fatal(err)
		}
		total += len(data)
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
			if bytes.Contains(data, []byte(bad)) {
				t.Errorf("%s uses %s", name, bad)
			}
		}
		for _, address := range bytes.Split(data, []byte("https://"))[1:] {
			t.Errorf("%s names an address elsewhere: https://%.40s", name, address)
		}
	}
	if total > 120_000 {
		t.Errorf("the assets have %d bytes, at most 120,000 are allowed", total)
	}
	t.Logf("assets: %d bytes", total)
	for _, path := range []string{"/", "/c/abc"} {
		resp, err := r.client.Get(r.url + path)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !bytes.Contains(page, []byte("<!doctype html>")) {
			t.Errorf("%s got %d", path, resp.StatusCode)
		}
		req, _ := http.NewRequest(http.MethodGet, r.url+path, nil)
		req.Header.Set("If-None-Match", resp.Header.Get("ETag"))
		again, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		again.Body.Close()
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s asked again got %d", path, again.StatusCode)
		}
	}
}

func TestInfoTellsNameModelAndCommands(t *testing.T) {
	r := runWith(t, Config{Info: func() Info { return Info{Name: "Otto", Model: "demo/demo", Demo: true} }})
	if err := r.channel.RegisterCommands(t.Context(), []channels.Command{{Name: "stop", Description: "Stop"}}); err != nil {
		t.Fatal(err)
	}
	_, answer := r.do("GET", "/api/info", "")
	if answer["name"] != "Otto" || answer["model"] != "demo/demo" || answer["demo"] != true ||
		answer["commands"].([]any)[0].(map[string]any)["name"] != "stop" || answer["max_text"] != float64(maxText) {
		t.Errorf("got %v", answer)
	}
}

func TestAPersonBehindAProxyIsNotTheOneOnThisMachine(t *testing.T) {
	r := run(t)
	req, _ := http.NewRequest(http.MethodPost, r.url+"/api/conversations/c1/messages", strings.NewReader(`{"text":"a"}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Forwarded-For", "203.0.113.9")
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if in := r.next(0); in.Sender.ID != "web:remote" || in.Target.User != "web:remote" {
		t.Errorf("the sender is %+v", in.Sender)
	}
}
