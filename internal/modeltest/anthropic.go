package modeltest

import (
	"encoding/json"
	"strconv"
	"strings"
)

type anthropicRequest struct {
	Model     string          `json:"model"`
	System    json.RawMessage `json:"system"`
	MaxTokens int64           `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// parseAnthropic reads a Messages request.
func parseAnthropic(req *Request) error {
	var in anthropicRequest
	if err := json.Unmarshal(req.Body, &in); err != nil {
		return &refusal{400, "The request body is not valid JSON: " + err.Error()}
	}
	req.Model, req.Stream, req.MaxTokens = in.Model, in.Stream, in.MaxTokens
	if in.MaxTokens <= 0 {
		return &refusal{400, "max_tokens: Field required"}
	}
	system, err := blocks(in.System)
	if err != nil {
		return &refusal{400, "system: " + err.Error()}
	}
	for _, b := range system {
		req.System = strings.TrimSpace(req.System + "\n\n" + b.Text)
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, Tool{t.Name, t.Description, t.Schema})
	}
	if in.ToolChoice.Type == "none" {
		req.Tools = nil
	}
	for i, m := range in.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return &refusal{400, "messages." + strconv.Itoa(i) + ".role: Input should be 'user' or 'assistant'"}
		}
		if err := req.addAnthropic(i, m.Role, m.Content); err != nil {
			return err
		}
	}
	if len(req.Messages) > 0 && req.Messages[0].Role != "user" {
		return &refusal{400, "messages: first message must use the \"user\" role"}
	}
	return req.check()
}

// addAnthropic adds one message; tool results become messages of their own.
func (r *Request) addAnthropic(i int, role string, content json.RawMessage) error {
	at := "messages." + strconv.Itoa(i)
	list, err := blocks(content)
	if err != nil {
		return &refusal{400, at + ".content: " + err.Error()}
	}
	if len(list) == 0 {
		return &refusal{400, at + ": all messages must have non-empty content"}
	}
	out := Message{Role: role}
	for j, b := range list {
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				return &refusal{400, at + ".content." + strconv.Itoa(j) + ": text content blocks must contain non-whitespace text"}
			}
			out.Text += b.Text
		case "thinking":
			out.Thinking += b.Thinking
		case "tool_use":
			out.Calls = append(out.Calls, Call{b.ID, b.Name, string(b.Input)})
		case "tool_result":
			if out.Text != "" || out.Images > 0 {
				return &refusal{400, at + ": tool_result blocks must come first in the content"}
			}
			inner, err := blocks(b.Content)
			if err != nil {
				return &refusal{400, at + ".content." + strconv.Itoa(j) + ".content: " + err.Error()}
			}
			result := Message{Role: "tool", ToolCallID: b.ToolUseID, IsError: b.IsError}
			for _, p := range inner {
				if p.Type == "text" {
					result.Text += p.Text
				} else {
					result.Images++
				}
			}
			r.Messages = append(r.Messages, result)
		case "image", "document":
			out.Images++
		}
	}
	if out.Text != "" || out.Images > 0 || len(out.Calls) > 0 || out.Thinking != "" {
		r.Messages = append(r.Messages, out)
	}
	return nil
}

// blocks reads a string or a list of content blocks.
func blocks(raw json.RawMessage) ([]anthropicBlock, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		if s == "" {
			return nil, err
		}
		return []anthropicBlock{{Type: "text", Text: s}}, err
	}
	var list []anthropicBlock
	err := json.Unmarshal(raw, &list)
	return list, err
}

// anthropicWire writes Messages events.
type anthropicWire struct {
	req   *Request
	usage Usage
	block int
	open  string // the type of the open block
}

func event(b []byte, name, data string) []byte {
	b = append(b, "event: "...)
	b = append(b, name...)
	b = append(b, "\ndata: "...)
	b = append(b, data...)
	return append(b, "\n\n"...)
}

func (a *anthropicWire) begin(b []byte) []byte {
	data, err := json.Marshal(map[string]any{"type": "message_start", "message": map[string]any{
		"id": "msg_" + strconv.Itoa(a.req.Number), "type": "message", "role": "assistant", "model": a.req.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": anthropicUsage(a.usage, 1),
	}})
	if err != nil {
		panic("modeltest: encode an event: " + err.Error())
	}
	return event(event(b, "message_start", string(data)), "ping", `{"type":"ping"}`)
}

func anthropicUsage(u Usage, output int64) map[string]any {
	return map[string]any{
		"input_tokens": max(u.Input-u.Cached, 0), "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": 0, "output_tokens": output,
	}
}

// start opens a block of a type unless one is open.
func (a *anthropicWire) start(b []byte, kind, content string) []byte {
	if a.open == kind {
		return b
	}
	a.open = kind
	return event(b, "content_block_start",
		`{"type":"content_block_start","index":`+strconv.Itoa(a.block)+`,"content_block":`+content+`}`)
}

func (a *anthropicWire) delta(b []byte, kind, field, value string) []byte {
	b = append(b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	b = strconv.AppendInt(b, int64(a.block), 10)
	b = append(b, `,"delta":{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","`...)
	b = append(b, field...)
	b = append(b, `":`...)
	b = appendJSON(b, value)
	return append(b, "}}\n\n"...)
}

func (a *anthropicWire) thinking(b []byte, delta string) []byte {
	b = a.start(b, "thinking", `{"type":"thinking","thinking":"","signature":""}`)
	return a.delta(b, "thinking_delta", "thinking", delta)
}

func (a *anthropicWire) text(b []byte, delta string) []byte {
	b = a.start(b, "text", `{"type":"text","text":""}`)
	return a.delta(b, "text_delta", "text", delta)
}

func (a *anthropicWire) call(b []byte, _ int, c Call) []byte {
	id, name := string(appendJSON(nil, c.ID)), string(appendJSON(nil, c.Name))
	return a.start(b, "tool_use", `{"type":"tool_use","id":`+id+`,"name":`+name+`,"input":{}}`)
}

func (a *anthropicWire) arguments(b []byte, _ int, delta string) []byte {
	return a.delta(b, "input_json_delta", "partial_json", delta)
}

func (a *anthropicWire) blockEnd(b []byte) []byte {
	if a.open == "thinking" {
		b = a.delta(b, "signature_delta", "signature", "c2lnbmF0dXJl")
	}
	b = event(b, "content_block_stop", `{"type":"content_block_stop","index":`+strconv.Itoa(a.block)+`}`)
	a.block, a.open = a.block+1, ""
	return b
}

var anthropicStops = map[string]string{
	"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal",
}

func anthropicStop(stop string) string {
	if s := anthropicStops[stop]; s != "" {
		return s
	}
	return stop
}

func (a *anthropicWire) end(b []byte, stop string, u Usage) []byte {
	data, err := json.Marshal(map[string]any{
		"type": "message_delta", "delta": map[string]any{"stop_reason": anthropicStop(stop), "stop_sequence": nil},
		"usage": anthropicUsage(u, u.Output),
	})
	if err != nil {
		panic("modeltest: encode an event: " + err.Error())
	}
	return event(event(b, "message_delta", string(data)), "message_stop", `{"type":"message_stop"}`)
}

func (a *anthropicWire) fail(b []byte, text string) []byte {
	return event(b, "error", `{"type":"error","error":{"type":"overloaded_error","message":`+string(appendJSON(nil, text))+`}}`)
}

func (a *anthropicWire) whole(turn Turn, stop string, u Usage) any {
	content := []any{}
	if turn.Thinking != "" {
		content = append(content, map[string]any{"type": "thinking", "thinking": turn.Thinking, "signature": "c2lnbmF0dXJl"})
	}
	if turn.Text != "" {
		content = append(content, map[string]any{"type": "text", "text": turn.Text})
	}
	for _, c := range turn.Calls {
		content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)})
	}
	return map[string]any{
		"id": "msg_" + strconv.Itoa(a.req.Number), "type": "message", "role": "assistant", "model": a.req.Model, "content": content,
		"stop_reason": anthropicStop(stop), "stop_sequence": nil, "usage": anthropicUsage(u, u.Output),
	}
}
