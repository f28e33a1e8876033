package agentcore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAMessageSurvivesEncoding(t *testing.T) {
	m := &agentcore.Message{
		ID: "01J", Role: agentcore.RoleAssistant, Time: time.Date(2026, 5, 1, 2, 3, 4, 5, time.UTC),
		Model: agentcore.ModelRef{Provider: "p", Format: "anthropic", ID: "m"}, Stop: agentcore.StopError,
		Error: &agentcore.Error{Class: agentcore.ErrRateLimited, Message: "slow down", User: "wait", Status: 429, RetryAfter: 1500 * time.Millisecond, Retryable: true},
		Usage: agentcore.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
		Content: []agentcore.Block{
			agentcore.Text{Text: "a <b> & \u2028 é", Signature: "s"}, agentcore.Text{},
			agentcore.Thinking{Text: "hm", Signature: "sig"}, agentcore.Thinking{Redacted: true, Signature: "enc"},
			agentcore.Image{MIMEType: "image/png", Data: []byte{0, 1, 255}}, agentcore.Image{Ref: "blob:1"},
			agentcore.Document{Name: "a.pdf", MIMEType: "application/pdf", Data: []byte("%PDF")},
			agentcore.ToolCall{ID: "c", Name: "n", Arguments: json.RawMessage(`{"n":12345678901234567890}`), Signature: "g"},
		},
	}
	result := &agentcore.Message{ID: "r", Role: agentcore.RoleToolResult, ToolCallID: "c", ToolName: "n", IsError: true, Details: json.RawMessage(`{"code":1}`)}
	for _, want := range []*agentcore.Message{m, result, {Role: "custom"}} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := new(agentcore.Message)
		if err := json.Unmarshal(data, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestArgumentsSurviveByteForByte(t *testing.T) {
	for _, args := range []string{
		`{}`, `{"a":1}`, ` {"a" : 1}`, "{\n\t\"a\": 1.0e5\n}", `{"a":"<&>"}`, "{\"a\":\"\u2028\"}", `[1]`, `"text"`, `5`, `null`,
		`{"a":`, `{"a":1}{"b":2}`, `not json`, "{\"a\":\"\xff\"}", "\x00", "", `{"a":1,"a":2}`, strings.Repeat("[", 20_000),
	} {
		m := &agentcore.Message{Role: agentcore.RoleAssistant, Content: []agentcore.Block{agentcore.ToolCall{ID: "c", Arguments: json.RawMessage(args)}}}
		data, err := json.Marshal(m)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		var got agentcore.Message
		if err := json.Unmarshal(data, &got); err != nil || string(got.ToolCalls()[0].Arguments) != args {
			t.Errorf("%q became %q (%v)", args, got.ToolCalls(), err)
		}
	}
}

func TestReadableArgumentsAreEmbedded(t *testing.T) {
	m := &agentcore.Message{Role: agentcore.RoleAssistant, Content: []agentcore.Block{agentcore.ToolCall{ID: "c", Name: "n", Arguments: json.RawMessage(`{"a":1}`)}}}
	data, err := json.Marshal(m)
	want := `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{"a":1}}]}`
	if err != nil || string(data) != want {
		t.Errorf("got %s, want %s (%v)", data, want, err)
	}
}

func TestABlockOfTheFutureIsKept(t *testing.T) {
	in := `{"role":"user","content":[{"type":"audio","data":{"codec":"opus"},"text":5},{"type":"text","text":"hi","new":1}],"newField":true}`
	var m agentcore.Message
	if err := json.Unmarshal([]byte(in), &m); err != nil {
		t.Fatal(err)
	}
	if m.Text() != "hi" {
		t.Errorf("the text is %q", m.Text())
	}
	out, err := json.Marshal(&m)
	if err != nil || !bytes.Contains(out, []byte(`{"type":"audio","data":{"codec":"opus"},"text":5}`)) {
		t.Errorf("got %s (%v)", out, err)
	}
}

func TestABrokenMessageIsAnErrorThatSaysWhere(t *testing.T) {
	for in, want := range map[string]string{
		`{"role":5}`: "decode message", `{"role":"user","content":[{}]}`: "block 0",
		`{"role":"user","content":[{"type":"text","text":5}]}`:                    "block 0",
		`{"role":"user","content":[{"type":"text","text":"a"},"x"],"id":"m7"}`:    "message m7: block 1",
		`{"role":"user","content":[{"type":"image","data":"not base64 at all"}]}`: "block 0",
	} {
		if err := json.Unmarshal([]byte(in), new(agentcore.Message)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
	}
	m := &agentcore.Message{Content: []agentcore.Block{nil}}
	if _, err := json.Marshal(m); err == nil {
		t.Error("a nil block was encoded")
	}
}

func TestAPlainErrorKeepsItsText(t *testing.T) {
	m := &agentcore.Message{Role: agentcore.RoleAssistant, Stop: agentcore.StopError, Error: &agentcore.Error{Err: errors.New("cause")}}
	data, err := json.Marshal(m)
	if err != nil || !bytes.Contains(data, []byte(`"message":"cause"`)) {
		t.Errorf("got %s (%v)", data, err)
	}
}

func TestDetailsThatAreNoJSONAreKeptAsText(t *testing.T) {
	m := &agentcore.Message{Role: agentcore.RoleToolResult, Details: json.RawMessage(`{broken`)}
	data, err := json.Marshal(m)
	if err != nil || !bytes.Contains(data, []byte(`"details":"{broken"`)) {
		t.Errorf("got %s (%v)", data, err)
	}
}

func FuzzMessageJSON(f *testing.F) {
	f.Add([]byte(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{"a":1}},{"type":"x"}],"error":{"message":"m"}}`))
	f.Add([]byte(`{"role":"user","content":[{"type":"image","data":"AAE=","mimeType":"image/png"}],"time":"2026-01-02T03:04:05Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first agentcore.Message
		if json.Unmarshal(data, &first) != nil {
			return
		}
		encoded, err := json.Marshal(&first)
		if err != nil {
			t.Fatalf("%s was read but can't be written: %v", data, err)
		}
		var second agentcore.Message
		if err := json.Unmarshal(encoded, &second); err != nil {
			t.Fatalf("%s can't be read again: %v", encoded, err)
		}
		again, err := json.Marshal(&second)
		if err != nil || !bytes.Equal(again, encoded) {
			t.Fatalf("%s became %s (%v)", encoded, again, err)
		}
	})
}
