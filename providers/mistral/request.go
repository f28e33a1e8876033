package mistral

import (
	"bytes"
	"encoding/json"
	"strconv"

	"clawbot/agentcore"
	"clawbot/providers"
)

// words are the names of the fields that are spelled in two ways.
type words struct {
	maxTokens, toolChoice, toolCalls, toolCallID, imageURL, promptMode, effort, cacheKey, streamOptions string
}

var (
	snake = words{`"max_tokens"`, `"tool_choice"`, `"tool_calls"`, `"tool_call_id"`, `"image_url"`, `"prompt_mode"`,
		`"reasoning_effort"`, `"prompt_cache_key"`, `"stream_options":{"include_usage":true}`}
	camel = words{`"maxTokens"`, `"toolChoice"`, `"toolCalls"`, `"toolCallId"`, `"imageUrl"`, `"promptMode"`,
		`"reasoningEffort"`, `"promptCacheKey"`, `"streamOptions":{"includeUsage":true}`}
)

// encode makes the body of a request, what stays the same from turn to turn
// first.
func (m *Model) encode(req *agentcore.Request) providers.Body {
	head := make([]byte, 0, 512+len(req.System))
	head = append(head, `{"model":`...)
	head = providers.AppendString(head, m.name)
	head = append(head, `,"stream":true`...)
	if m.traits.StreamUsage {
		head = append(append(head, ','), m.words.streamOptions...)
	}
	if req.MaxTokens > 0 {
		limit := req.MaxTokens
		if m.info.MaxOutput > 0 {
			limit = min(limit, m.info.MaxOutput)
		}
		head = m.field(head, m.words.maxTokens)
		head = strconv.AppendInt(head, limit, 10)
	}
	if req.Temperature != nil && m.traits.Temperature {
		head = m.field(head, `"temperature"`)
		head = strconv.AppendFloat(head, min(*req.Temperature, 1.5), 'g', -1, 64) // more is refused
	}
	head = m.appendThinking(head, req.Thinking)
	if m.traits.CacheKey && req.Session != "" {
		head = providers.AppendString(m.field(head, m.words.cacheKey), providers.WireID(req.Session, 64))
	}
	body := providers.Body{head}
	if len(req.Tools) > 0 {
		body = append(body, m.tools.Get(req.Tools, m.appendTools), m.toolChoice(req.ToolChoice))
	}
	body = append(body, []byte(`,"messages":[`))
	return append(m.appendMessages(body, req), []byte(`]}`))
}

// field begins a field whose quoted name is name.
func (m *Model) field(dst []byte, name string) []byte {
	return append(append(append(dst, ','), name...), ':')
}

// appendThinking asks for thinking, of which there is one degree.
func (m *Model) appendThinking(dst []byte, level agentcore.ThinkingLevel) []byte {
	switch {
	case level == agentcore.ThinkingOff:
	case m.traits.Thinking == "prompt_mode":
		return append(m.field(dst, m.words.promptMode), `"reasoning"`...)
	case m.traits.Thinking == "effort":
		return append(m.field(dst, m.words.effort), `"high"`...)
	}
	return dst
}

func (m *Model) toolChoice(choice string) []byte {
	switch choice {
	case "":
		return nil
	case "none", "any":
		return append(m.field(nil, m.words.toolChoice), `"`+choice+`"`...)
	}
	dst := append(m.field(nil, m.words.toolChoice), `{"type":"function","function":{"name":`...)
	return append(providers.AppendString(dst, providers.WireName(choice)), `}}`...)
}

func (m *Model) appendTools(tools []agentcore.ToolSpec) []byte {
	dst := []byte(`,"tools":[`)
	for i, t := range tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"function","function":{"name":`...)
		dst = providers.AppendString(dst, providers.WireName(t.Name))
		if t.Description != "" {
			dst = append(dst, `,"description":`...)
			dst = providers.AppendString(dst, t.Description)
		}
		dst = append(append(dst, `,"parameters":`...), schema(t)...)
		dst = append(dst, `}}`...)
	}
	return append(dst, ']')
}

// schema returns a tool's schema; its root must be an object.
func schema(t agentcore.ToolSpec) []byte {
	raw := providers.Schema(t)
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil {
		return providers.Schema(agentcore.ToolSpec{})
	}
	var out bytes.Buffer
	if string(bytes.TrimSpace(root["type"])) == `"object"` && json.Compact(&out, raw) == nil {
		return out.Bytes()
	}
	root["type"] = json.RawMessage(`"object"`)
	return providers.AppendJSON(nil, root)
}
