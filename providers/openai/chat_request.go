package openai

import (
	"strconv"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// encodeChat makes the body of a Chat Completions request, what stays the same
// from turn to turn first.
func (m *Model) encodeChat(req *agentcore.Request) providers.Body {
	head := make([]byte, 0, 512+len(req.System))
	head = append(head, `{"model":`...)
	head = providers.AppendString(head, m.name)
	head = append(head, `,"stream":true`...)
	if m.traits.StreamUsage {
		head = append(head, `,"stream_options":{"include_usage":true}`...)
	}
	if req.MaxTokens > 0 {
		limit := req.MaxTokens
		if m.info.MaxOutput > 0 {
			limit = min(limit, m.info.MaxOutput)
		}
		head = append(providers.AppendString(append(head, ','), m.traits.MaxTokensField), ':')
		head = strconv.AppendInt(head, limit, 10)
	}
	if req.Temperature != nil && m.traits.Temperature {
		head = append(head, `,"temperature":`...)
		head = strconv.AppendFloat(head, *req.Temperature, 'g', -1, 64)
	}
	head = m.appendThinking(head, req)
	if m.traits.CacheKey && req.Session != "" {
		head = append(head, `,"prompt_cache_key":`...)
		head = providers.AppendString(head, providers.WireID(req.Session, 64))
	}
	body := providers.Body{head}
	if len(req.Tools) > 0 {
		body = append(body, m.tools.Get(req.Tools, m.appendChatTools), m.chatToolChoice(req.ToolChoice))
	}
	body = append(body, []byte(`,"messages":[`))
	return append(m.appendChatMessages(body, req), []byte(`]}`))
}

// appendThinking asks for thinking in the vendor's way.
func (m *Model) appendThinking(dst []byte, req *agentcore.Request) []byte {
	on, level := req.Thinking != agentcore.ThinkingOff, string(req.Thinking)
	switch {
	case m.traits.Thinking == "enable_thinking":
		return strconv.AppendBool(append(dst, `,"enable_thinking":`...), on)
	case !on:
	case m.traits.Thinking == "effort":
		if name := providers.BareModel(m.name); len(req.Tools) > 0 &&
			(strings.HasPrefix(name, "gpt-5.4-mini") || strings.HasPrefix(name, "gpt-5.5")) {
			return dst // refused there together with tools
		}
		return append(append(append(dst, `,"reasoning_effort":"`...), level...), '"')
	case m.traits.Thinking == "reasoning":
		return append(append(append(dst, `,"reasoning":{"effort":"`...), level...), `"}`...)
	case m.traits.Thinking == "reasoning_enabled":
		return append(dst, `,"reasoning":{"enabled":true}`...)
	case m.traits.Thinking == "type":
		return append(dst, `,"thinking":{"type":"enabled"}`...)
	case m.traits.Thinking == "template":
		return append(dst, `,"chat_template_kwargs":{"enable_thinking":true}`...)
	}
	return dst
}

func (m *Model) chatToolChoice(choice string) []byte {
	switch choice {
	case "":
		return nil
	case "none":
		return []byte(`,"tool_choice":"none"`)
	case "any":
		return []byte(`,"tool_choice":"required"`)
	}
	dst := []byte(`,"tool_choice":{"type":"function","function":{"name":`)
	return append(providers.AppendString(dst, providers.WireName(choice)), `}}`...)
}

func (m *Model) appendChatTools(tools []agentcore.ToolSpec) []byte {
	dst := []byte(`,"tools":[`)
	for i, t := range tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"function","function":`...)
		dst = m.appendFunction(dst, t)
		dst = append(dst, `}}`...)
	}
	dst = append(dst, ']')
	if m.traits.ToolStream {
		dst = append(dst, `,"tool_stream":true`...)
	}
	return dst
}

// appendFunction encodes a tool without its closing brace.
func (m *Model) appendFunction(dst []byte, t agentcore.ToolSpec) []byte {
	dst = append(dst, `{"name":`...)
	dst = providers.AppendString(dst, providers.WireName(t.Name))
	if t.Description != "" {
		dst = append(dst, `,"description":`...)
		dst = providers.AppendString(dst, t.Description)
	}
	schema, strict := looseSchema(t), false
	if m.traits.Strict {
		if closed, ok := strictSchema(t); ok {
			schema, strict = closed, true
		}
	}
	dst = append(append(dst, `,"parameters":`...), schema...)
	if m.traits.Strict || m.info.Ref.Format == providers.FormatResponses {
		dst = strconv.AppendBool(append(dst, `,"strict":`...), strict)
	}
	return dst
}
