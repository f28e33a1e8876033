package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/providers"
)

func request(t *testing.T, model string, req *agentcore.Request) string {
	t.Helper()
	m, err := build(providers.Config{Name: "a", APIKeys: []string{"k"}}, model)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range req.Messages {
		if msg.Role == agentcore.RoleAssistant {
			msg.Model = m.info.Ref
		}
	}
	return string(m.encode(req).Bytes())
}

func user(text string) *agentcore.Message {
	return &agentcore.Message{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: text}}}
}

func TestThinkingIsAskedForAsTheModelTakesIt(t *testing.T) {
	warm := 0.7
	for _, c := range []struct {
		model string
		req   agentcore.Request
		has   []string
		lacks []string
	}{
		{"claude-sonnet-4-5", agentcore.Request{Thinking: agentcore.ThinkingLow, MaxTokens: 1000, Temperature: &warm},
			[]string{`"thinking":{"type":"enabled","budget_tokens":2048}`, `"max_tokens":3048`}, []string{"temperature"}},
		{"claude-sonnet-4-6", agentcore.Request{Thinking: agentcore.ThinkingHigh, MaxTokens: 1000},
			[]string{`"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`, `"max_tokens":1000`}, []string{"budget"}},
		{"claude-sonnet-4-5", agentcore.Request{Temperature: &warm}, []string{`"temperature":0.7`, `"max_tokens":8192`}, []string{`"thinking"`}},
		{"claude-opus-4-7", agentcore.Request{Temperature: &warm}, nil, []string{"temperature"}},
		{"claude-sonnet-4-5", agentcore.Request{MaxTokens: 1_000_000}, []string{`"max_tokens":64000`}, nil},
	} {
		c.req.Messages = []*agentcore.Message{user("q")}
		body := request(t, c.model, &c.req)
		for _, part := range c.has {
			if !strings.Contains(body, part) {
				t.Errorf("%s: %s is missing in %s", c.model, part, body)
			}
		}
		for _, part := range c.lacks {
			if strings.Contains(body, part) {
				t.Errorf("%s: %s is in %s", c.model, part, body)
			}
		}
	}
}

func TestThinkingDoesNotBeginInTheMiddleOfATurn(t *testing.T) {
	call := agentcore.ToolCall{ID: "c", Name: "f", Arguments: json.RawMessage(`{}`)}
	result := &agentcore.Message{Role: agentcore.RoleToolResult, ToolCallID: "c", Content: []agentcore.Block{agentcore.Text{Text: "r"}}}
	bare := &agentcore.Message{Role: agentcore.RoleAssistant, Stop: agentcore.StopToolUse, Content: []agentcore.Block{call}}
	thought := &agentcore.Message{Role: agentcore.RoleAssistant, Stop: agentcore.StopToolUse, Content: []agentcore.Block{agentcore.Thinking{Text: "hm", Signature: "s"}, call}}
	for want, messages := range map[bool][]*agentcore.Message{false: {user("q"), bare, result}, true: {user("q"), thought, result}} {
		body := request(t, "claude-sonnet-4-5", &agentcore.Request{Thinking: agentcore.ThinkingLow, Messages: messages})
		if strings.Contains(body, `"budget_tokens"`) != want {
			t.Errorf("want thinking %v: %s", want, body)
		}
	}
	if body := request(t, "claude-sonnet-4-5", &agentcore.Request{Thinking: agentcore.ThinkingLow, Messages: []*agentcore.Message{user("q"), bare, result, user("n")}}); !strings.Contains(body, "budget_tokens") {
		t.Errorf("a new turn may think: %s", body)
	}
}

func TestNoMoreThanFourPlacesAreMarkedForTheCache(t *testing.T) {
	var messages []*agentcore.Message
	for range 9 {
		messages = append(messages, user("q"), &agentcore.Message{Role: agentcore.RoleAssistant, Content: []agentcore.Block{agentcore.Text{Text: "a"}}})
	}
	body := request(t, "claude-sonnet-4-5", &agentcore.Request{System: "s", Tools: []agentcore.ToolSpec{{Name: "a"}, {Name: "b"}}, Messages: append(messages, user("n"))})
	if n := strings.Count(body, "cache_control"); n != 4 {
		t.Errorf("%d markers in %s", n, body)
	}
	if !strings.Contains(body, `"text":"n","cache_control"`) || strings.Count(body[:strings.Index(body, `"messages"`)], "cache_control") != 2 {
		t.Errorf("markers in the wrong places: %s", body)
	}
}

func TestCalledToolsAreNamedWhereNoneMayBeCalled(t *testing.T) {
	call := agentcore.ToolCall{ID: "c", Name: "f", Arguments: json.RawMessage(`{}`)}
	body := request(t, "claude-sonnet-4-5", &agentcore.Request{Messages: []*agentcore.Message{user("q"),
		{Role: agentcore.RoleAssistant, Stop: agentcore.StopToolUse, Content: []agentcore.Block{call}}}})
	if !strings.Contains(body, `"tool_choice":{"type":"none"}`) || !strings.Contains(body, `"tools":[{"name":"f",`) {
		t.Errorf("%s", body)
	}
	if body := request(t, "claude-sonnet-4-5", &agentcore.Request{Messages: []*agentcore.Message{user("q")}}); strings.Contains(body, "tool") {
		t.Errorf("%s", body)
	}
}

func TestARootUnionIsNotSent(t *testing.T) {
	got := string(inputSchema(agentcore.ToolSpec{Schema: json.RawMessage(`{"$schema":"x","anyOf":[{"required":["a"]}],"properties":{"a":{"type":"string"}}}`)}))
	if got != `{"properties":{"a":{"type":"string"}},"type":"object"}` {
		t.Errorf("%s", got)
	}
}
