package openai

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"clawbot/agentcore"
	"clawbot/providers"
)

// replayed plays an answer and returns the reasoning_details with which it is
// sent back, as a list of anything.
func replayed(t *testing.T, deltas ...string) (thinking string, back any) {
	t.Helper()
	cfg := providers.Config{Name: "openrouter", Format: providers.FormatOpenAI, BaseURL: "https://openrouter.ai/api/v1", APIKeys: []string{"k"},
		HTTPClient: &http.Client{Transport: canned(chat("stop", deltas...))}}
	made, err := New(cfg, "m")
	if err != nil {
		t.Fatal(err)
	}
	m := made.(*Model)
	user := &agentcore.Message{ID: "u", Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: "hi"}}}
	var a agentcore.Assembler
	var said *agentcore.Message
	for ev, err := range m.Stream(t.Context(), &agentcore.Request{Messages: []*agentcore.Message{user}}) {
		if err != nil {
			t.Fatal(err)
		}
		if a.Add(ev); ev.Type == agentcore.StreamDone {
			said = a.Finish(ev)
		}
	}
	said.ID = "a"
	for _, b := range said.Content {
		if b, ok := b.(agentcore.Thinking); ok {
			thinking += b.Text
		}
	}
	var body struct {
		Messages []struct {
			Role             string
			Reasoning        *string
			ReasoningDetails any `json:"reasoning_details"`
		}
	}
	raw := m.Request(&agentcore.Request{Messages: []*agentcore.Message{user, said, user}}).Bytes()
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	for _, msg := range body.Messages {
		if msg.Role == "assistant" {
			if msg.Reasoning != nil && msg.ReasoningDetails != nil {
				t.Error("the thinking is sent back twice")
			}
			back = msg.ReasoningDetails
		}
	}
	return thinking, back
}

func TestReasoningDetailsAreJoinedAndSentBack(t *testing.T) {
	tests := []struct {
		name, thinking, want string
		deltas               []string
	}{
		{"text in pieces, signed at the end", "let me see", `[{"type":"reasoning.text","index":0,"text":"let me see","format":"f","signature":"sig"}]`, []string{
			`{"reasoning":"let ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"let ","format":"f","signature":null}]}`,
			`{"reasoning":"me see","reasoning_details":[{"type":"reasoning.text","index":0,"text":"me see","format":"f"}]}`,
			`{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"sig"}]}`,
			`{"content":"ok"}`,
		}},
		{"only encrypted", "", `[{"type":"reasoning.encrypted","id":"r1","index":0,"data":"abcd"}]`, []string{
			`{"reasoning_details":[{"type":"reasoning.encrypted","id":"r1","index":0,"data":"ab"}]}`,
			`{"content":"ok","reasoning_details":[{"type":"reasoning.encrypted","id":"r1","index":0,"data":"cd"}]}`,
		}},
		{"several details", "ab", `[{"type":"reasoning.summary","index":0,"summary":"a"},{"type":"reasoning.summary","index":1,"summary":"b"}]`, []string{
			`{"reasoning_details":[{"type":"reasoning.summary","index":0,"summary":"a"},{"type":"reasoning.summary","index":1,"summary":"b"}]}`,
			`{"content":"ok"}`,
		}},
		{"none", "so", `null`, []string{`{"reasoning":"so"}`, `{"content":"ok"}`}},
		{"nonsense", "", `null`, []string{`{"reasoning_details":"x"}`, `{"reasoning_details":[1]}`, `{"content":"ok"}`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			thinking, back := replayed(t, test.deltas...)
			var want any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if thinking != test.thinking || !reflect.DeepEqual(back, want) {
				t.Errorf("thinking %q, sent back %v; want %q, %v", thinking, back, test.thinking, want)
			}
		})
	}
}
