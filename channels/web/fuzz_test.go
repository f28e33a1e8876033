package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"clawbot/agentcore"
	"clawbot/internal/entryview"
)

func FuzzWhatIsPostedIsAcceptedAsTextOrRefusedWithAReason(f *testing.F) {
	for _, seed := range []string{`{"text":"hello"}`, `{"id":"a","text":"b"}`, `{"text":"\u0000"}`, `{"text":"\ud800"}`, "\xff", `{"text":`, `null`, `7`, `{"TEXT":"x"}`} {
		f.Add(seed, "c1")
	}
	f.Fuzz(func(t *testing.T, body, conversation string) {
		b := newBot(t)
		c, err := New(Config{Transcripts: b})
		if err != nil {
			t.Fatal(err)
		}
		c.host = b
		req := httptest.NewRequest(http.MethodPost, "/api/conversations/x/messages", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.SetPathValue("id", conversation)
		w := httptest.NewRecorder()
		if err := c.postMessage(w, req); err != nil {
			c.fail(w, req, err)
		}
		c.end()
		var answer map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("not JSON: %q", w.Body)
		}
		switch {
		case w.Code == http.StatusAccepted && len(b.accepted) == 1:
			in := b.accepted[0]
			if !utf8.ValidString(in.Text) || strings.TrimSpace(in.Text) == "" || hasControls(in.Text) || !validID(in.Target.Chat) || in.Target.Conversation != prefix+conversation {
				t.Errorf("accepted %+v", in)
			}
		case w.Code >= 400 && w.Code < 500 && len(b.accepted) == 0 && problemOf(answer) != "":
		default:
			t.Errorf("%q got %d %s with %d accepted", body, w.Code, w.Body, len(b.accepted))
		}
	})
}

func FuzzEveryMessageCanBeShown(f *testing.F) {
	f.Add("text", `{"a":1}`, "out", 10)
	f.Add("\xff\xfe", `{"a":"`+strings.Repeat("é", 3000)+`"}`, strings.Repeat("ß", 50), 7)
	f.Add("", `{"cut`, "\x00", 0)
	f.Fuzz(func(t *testing.T, text, args, output string, limit int) {
		m := &agentcore.Message{Role: agentcore.RoleAssistant, Content: []agentcore.Block{
			agentcore.Text{Text: text}, agentcore.ToolCall{ID: text, Name: output, Arguments: json.RawMessage(args)}}}
		r := &agentcore.Message{Role: agentcore.RoleToolResult, ToolCallID: text, Content: []agentcore.Block{agentcore.Text{Text: output}}}
		limit = max(limit, 0) % 100_000
		for _, m := range []*agentcore.Message{m, r} {
			v := entryview.Of(m, limit)
			if _, err := json.Marshal(v); err != nil {
				t.Errorf("can't be encoded: %v", err)
			}
			if len(v.Text)+v.Cut != len(m.Text()) {
				t.Errorf("%d bytes and %d cut of %d", len(v.Text), v.Cut, len(m.Text()))
			}
		}
	})
}
