package openai

import (
	"cmp"
	"slices"
	"strconv"

	"clawbot/agentcore"
	"clawbot/providers"
)

// encodeResponses makes the body of a Responses request, what stays the same
// from turn to turn first. Nothing is stored at the vendor's: reasoning comes
// back encrypted and is sent again.
func (m *Model) encodeResponses(req *agentcore.Request) providers.Body {
	head := make([]byte, 0, 512+len(req.System))
	head = append(head, `{"model":`...)
	head = providers.AppendString(head, m.name)
	head = append(head, `,"stream":true,"store":false`...)
	if m.traits.Thinking == "effort" {
		head = append(head, `,"include":["reasoning.encrypted_content"]`...)
		if req.Thinking != agentcore.ThinkingOff {
			head = append(append(append(head, `,"reasoning":{"effort":"`...), string(req.Thinking)...), `"}`...)
		}
	}
	if req.MaxTokens > 0 {
		limit := max(req.MaxTokens, 16) // the API's least
		if m.info.MaxOutput > 0 {
			limit = min(limit, m.info.MaxOutput)
		}
		head = strconv.AppendInt(append(head, `,"max_output_tokens":`...), limit, 10)
	}
	if req.Temperature != nil && m.traits.Temperature {
		head = strconv.AppendFloat(append(head, `,"temperature":`...), *req.Temperature, 'g', -1, 64)
	}
	if m.traits.CacheKey && req.Session != "" {
		head = append(head, `,"prompt_cache_key":`...)
		head = providers.AppendString(head, providers.WireID(req.Session, 64))
	}
	if system := providers.Clean(req.System); !providers.IsBlank(system) {
		head = append(head, `,"instructions":`...)
		head = providers.AppendString(head, system)
	}
	body := providers.Body{head}
	if len(req.Tools) > 0 {
		body = append(body, m.tools.Get(req.Tools, m.appendResponsesTools), m.responsesToolChoice(req.ToolChoice))
	}
	body = append(body, []byte(`,"input":[`))
	return append(m.appendInput(body, req.Messages), []byte(`]}`))
}

func (m *Model) appendResponsesTools(tools []agentcore.ToolSpec) []byte {
	sorted := slices.SortedStableFunc(slices.Values(tools), func(a, b agentcore.ToolSpec) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Description, b.Description))
	})
	dst := []byte(`,"tools":[`)
	for i, t := range sorted {
		if i > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		dst = m.appendFunction(dst, t)
		dst = slices.Insert(dst, start+1, []byte(`"type":"function",`)...)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func (m *Model) responsesToolChoice(choice string) []byte {
	switch choice {
	case "", "none", "any":
		return m.chatToolChoice(choice)
	}
	dst := []byte(`,"tool_choice":{"type":"function","name":`)
	return append(providers.AppendString(dst, providers.WireName(choice)), '}')
}
