package modeltest

import (
	"encoding/json"
	"strconv"
	"strings"
)

type openAIRequest struct {
	Model         string          `json:"model"`
	Messages      []openAIMessage `json:"messages"`
	Stream        bool            `json:"stream"`
	MaxTokens     int64           `json:"max_tokens"`
	MaxCompletion int64           `json:"max_completion_tokens"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type openAIMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Reasoning  string          `json:"reasoning_content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type openAIPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// parseOpenAI reads a Chat Completions request.
func parseOpenAI(req *Request) error {
	var in openAIRequest
	if err := json.Unmarshal(req.Body, &in); err != nil {
		return &refusal{400, "We could not parse the JSON body of your request: " + err.Error()}
	}
	req.Model, req.Stream, req.wantsUsage = in.Model, in.Stream, in.StreamOptions.IncludeUsage
	req.MaxTokens = max(in.MaxTokens, in.MaxCompletion)
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	for i, m := range in.Messages {
		text, images, err := openAIContent(m.Content)
		if err != nil {
			return &refusal{400, "Invalid type for 'messages[" + strconv.Itoa(i) + "].content': " + err.Error()}
		}
		switch m.Role {
		case "system", "developer":
			req.System = strings.TrimSpace(req.System + "\n\n" + text)
			continue
		case "user", "assistant", "tool":
		default:
			return &refusal{400, "Invalid value: '" + m.Role + "'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'."}
		}
		out := Message{Role: m.Role, Text: text, Thinking: m.Reasoning, Images: images, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			out.Calls = append(out.Calls, Call{c.ID, c.Function.Name, c.Function.Arguments})
		}
		req.Messages = append(req.Messages, out)
	}
	return req.check()
}

// openAIContent reads a string, null or a list of parts.
func openAIContent(raw json.RawMessage) (text string, images int, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", 0, nil
	}
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, 0, err
	}
	var parts []openAIPart
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", 0, err
	}
	for _, p := range parts {
		if p.Type == "text" {
			text += p.Text
		} else {
			images++
		}
	}
	return text, images, nil
}

// openAIWire writes chat.completion.chunk events.
type openAIWire struct {
	req *Request
	id  string
}

func (o *openAIWire) open(b []byte) []byte {
	b = append(b, `data: {"id":"`...)
	b = append(b, o.id...)
	b = append(b, `","object":"chat.completion.chunk","created":1760000000,"model":`...)
	b = appendJSON(b, o.req.Model)
	return append(b, `,"choices":[`...)
}

func (o *openAIWire) delta(b []byte, field, value string) []byte {
	b = o.open(b)
	b = append(b, `{"index":0,"delta":{"`...)
	b = append(b, field...)
	b = append(b, `":`...)
	b = appendJSON(b, value)
	return append(b, "},\"finish_reason\":null}]}\n\n"...)
}

func (o *openAIWire) begin(b []byte) []byte {
	return append(o.open(b), "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n"...)
}

func (o *openAIWire) thinking(b []byte, delta string) []byte {
	return o.delta(b, "reasoning_content", delta)
}
func (o *openAIWire) text(b []byte, delta string) []byte { return o.delta(b, "content", delta) }
func (o *openAIWire) blockEnd(b []byte) []byte           { return b }

func (o *openAIWire) call(b []byte, index int, c Call) []byte {
	b = append(o.open(b), `{"index":0,"delta":{"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, `,"id":`...)
	b = appendJSON(b, c.ID)
	b = append(b, `,"type":"function","function":{"name":`...)
	b = appendJSON(b, c.Name)
	return append(b, ",\"arguments\":\"\"}}]},\"finish_reason\":null}]}\n\n"...)
}

func (o *openAIWire) arguments(b []byte, index int, delta string) []byte {
	b = append(o.open(b), `{"index":0,"delta":{"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, `,"function":{"arguments":`...)
	b = appendJSON(b, delta)
	return append(b, "}}]},\"finish_reason\":null}]}\n\n"...)
}

func (o *openAIWire) end(b []byte, stop string, u Usage) []byte {
	b = append(o.open(b), `{"index":0,"delta":{},"finish_reason":`...)
	b = append(appendJSON(b, stop), "}]}\n\n"...)
	if o.req.wantsUsage {
		b = o.open(b)
		b = append(b, `],"usage":`...)
		data, _ := json.Marshal(openAIUsage(u))
		b = append(append(b, data...), "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

func openAIUsage(u Usage) map[string]any {
	return map[string]any{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.Cached},
	}
}

func (o *openAIWire) fail(b []byte, text string) []byte {
	b = append(b, `data: {"error":{"type":"server_error","message":`...)
	return append(appendJSON(b, text), "}}\n\n"...)
}

func (o *openAIWire) whole(turn Turn, stop string, u Usage) any {
	message := map[string]any{"role": "assistant", "content": turn.Text}
	if turn.Thinking != "" {
		message["reasoning_content"] = turn.Thinking
	}
	var calls []map[string]any
	for _, c := range turn.Calls {
		calls = append(calls, map[string]any{
			"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return map[string]any{
		"id": o.id, "object": "chat.completion", "created": 1760000000, "model": o.req.Model, "usage": openAIUsage(u),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": stop}},
	}
}

// appendJSON appends a string as JSON.
func appendJSON(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain { // most deltas, and load runs send very many
		return append(append(append(b, '"'), s...), '"')
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic("modeltest: encode a string: " + err.Error())
	}
	return append(b, data...)
}
