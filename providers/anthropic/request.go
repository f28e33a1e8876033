package anthropic

import (
	"strconv"

	"clawbot/agentcore"
	"clawbot/providers"
)

// defaultMaxTokens is sent when nobody says anything, for the API wants a
// number; every model of the vendor allows it.
const defaultMaxTokens = 8192

// cacheMarker is put into a block before its last brace.
const cacheMarker = `,"cache_control":{"type":"ephemeral"}}`

// thinkingBudget is what a level means for models that want a number.
var thinkingBudget = map[agentcore.ThinkingLevel]int64{
	agentcore.ThinkingLow:    2048,
	agentcore.ThinkingMedium: 8192,
	agentcore.ThinkingHigh:   24576,
}

// encode makes the body of a request. What stays the same from turn to turn
// comes first.
func (m *Model) encode(req *agentcore.Request) providers.Body {
	steps := providers.Transform(req.Messages, m.info.Ref)
	thinking := req.Thinking != agentcore.ThinkingOff && m.traits.Thinking != "none" && m.mayThink(steps)

	head := make([]byte, 0, 512+len(req.System))
	head = append(head, `{"model":`...)
	head = providers.AppendString(head, m.name)
	head = m.appendLimits(head, req, thinking)
	head = append(head, `,"stream":true`...)
	tools, choice := req.Tools, req.ToolChoice
	if len(tools) == 0 { // the API wants to know the tools that were called
		tools, choice = providers.Called(steps), "none"
	}
	if len(tools) > 0 {
		head = appendToolChoice(head, choice, thinking)
	}
	if system := providers.Clean(req.System); !providers.IsBlank(system) {
		head = append(head, `,"system":[{"type":"text","text":`...)
		head = m.mark(append(providers.AppendString(head, system), '}'))
		head = append(head, ']')
	}
	body := providers.Body{head}
	if len(tools) > 0 {
		body = append(body, m.tools.Get(tools, m.appendTools))
	}
	body = append(body, []byte(`,"messages":[`))
	body = m.appendMessages(body, steps)
	return append(body, []byte(`]}`))
}

// mark turns the block that b ends with into one to cache up to.
func (m *Model) mark(b []byte) []byte {
	if !m.traits.CacheControl {
		return b
	}
	return append(b[:len(b)-1], cacheMarker...)
}

func (m *Model) appendLimits(dst []byte, req *agentcore.Request, thinking bool) []byte {
	limit := req.MaxTokens
	if limit <= 0 {
		limit = defaultMaxTokens
	}
	adaptive := m.traits.Thinking == "adaptive"
	if thinking && !adaptive {
		budget := thinkingBudget[req.Thinking]
		total := limit + budget
		if out := m.info.MaxOutput; out > 0 && total > out {
			total = out
			budget = min(budget, out-min(limit, out/2))
		}
		budget = max(1024, budget) // the API's least
		limit = max(total, budget+1)
		dst = append(dst, `,"thinking":{"type":"enabled","budget_tokens":`...)
		dst = append(strconv.AppendInt(dst, budget, 10), '}')
	} else if m.info.MaxOutput > 0 {
		limit = min(limit, m.info.MaxOutput)
	}
	if thinking && adaptive {
		dst = append(dst, `,"thinking":{"type":"adaptive"},"output_config":{"effort":`...)
		dst = append(providers.AppendString(dst, string(req.Thinking)), '}')
	}
	dst = append(dst, `,"max_tokens":`...)
	dst = strconv.AppendInt(dst, limit, 10)
	if req.Temperature != nil && !thinking && m.traits.Temperature {
		dst = append(dst, `,"temperature":`...)
		dst = strconv.AppendFloat(dst, min(*req.Temperature, 1), 'g', -1, 64)
	}
	return dst
}

// mayThink reports whether the turn that is going on was begun with thinking:
// the API refuses to begin with it between a call and its result.
func (m *Model) mayThink(steps []providers.Step) bool {
	for i := len(steps) - 1; i >= 0 && steps[i].Role != agentcore.RoleUser; i-- {
		if steps[i].Role != agentcore.RoleAssistant {
			continue
		}
		parts := steps[i].Parts(false)
		if len(parts) == 0 {
			continue
		}
		if t, ok := parts[0].(agentcore.Thinking); !ok || t.Signature == "" {
			return false
		}
	}
	return true
}

func appendToolChoice(dst []byte, choice string, thinking bool) []byte {
	switch choice {
	case "":
		return dst
	case "none":
		return append(dst, `,"tool_choice":{"type":"none"}`...)
	}
	if thinking { // a forced choice is refused then
		return dst
	}
	if choice == "any" {
		return append(dst, `,"tool_choice":{"type":"any"}`...)
	}
	dst = append(dst, `,"tool_choice":{"type":"tool","name":`...)
	return append(providers.AppendString(dst, providers.WireName(choice)), '}')
}

func (m *Model) appendTools(tools []agentcore.ToolSpec) []byte {
	dst := []byte(`,"tools":[`)
	for i, t := range tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = providers.AppendString(dst, providers.WireName(t.Name))
		if t.Description != "" {
			dst = append(dst, `,"description":`...)
			dst = providers.AppendString(dst, t.Description)
		}
		dst = append(dst, `,"input_schema":`...)
		dst = append(dst, inputSchema(t)...)
		if m.traits.EagerInputStreaming {
			dst = append(dst, `,"eager_input_streaming":true`...)
		}
		dst = append(dst, '}')
	}
	return append(m.mark(dst), ']')
}
