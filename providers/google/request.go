package google

import (
	"strconv"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// thinkingBudget is what a level means in tokens.
var thinkingBudget = map[agentcore.ThinkingLevel]int64{
	agentcore.ThinkingLow:    2048,
	agentcore.ThinkingMedium: 8192,
	agentcore.ThinkingHigh:   24576,
}

// unasked is what a model that can't be kept from thinking is given for it.
const unasked = 2048

// encode makes the body of a request. What stays the same from turn to turn
// comes first.
func (m *Model) encode(req *agentcore.Request) providers.Body {
	steps := providers.Transform(req.Messages, m.info.Ref)
	tools, choice := req.Tools, req.ToolChoice
	if len(tools) == 0 { // a model that sees calls but no tools calls all the same, which is an error
		tools, choice = providers.Called(steps), "none"
	}
	head := make([]byte, 0, 512+len(req.System))
	head = append(head, '{')
	if system := providers.Clean(req.System); !providers.IsBlank(system) {
		head = append(head, `"systemInstruction":{"parts":[{"text":`...)
		head = append(providers.AppendString(head, system), `}]},`...)
	}
	body := providers.Body{head}
	if len(tools) > 0 {
		body = append(body, m.tools.Get(tools, m.appendTools), toolConfig(choice))
	}
	body = append(body, m.generationConfig(req), []byte(`"contents":[`))
	return append(m.appendContents(body, steps), []byte(`]}`))
}

func toolConfig(choice string) []byte {
	var mode string
	switch choice {
	case "":
		return nil
	case "none":
		mode = `"NONE"`
	case "any":
		mode = `"ANY"`
	default:
		mode = string(append(providers.AppendString([]byte(`"ANY","allowedFunctionNames":[`), wireName(choice)), ']'))
	}
	return []byte(`"toolConfig":{"functionCallingConfig":{"mode":` + mode + `}},`)
}

// generationConfig encodes limits. What a model thinks counts against its
// maximum of tokens, so room for that is added.
func (m *Model) generationConfig(req *agentcore.Request) []byte {
	thinking, room := m.thinkingConfig(req.Thinking)
	var dst []byte
	if req.MaxTokens > 0 {
		limit := req.MaxTokens + room
		if out := m.info.MaxOutput; out > 0 {
			limit = min(limit, out)
		}
		dst = strconv.AppendInt(append(dst, `,"maxOutputTokens":`...), limit, 10)
	}
	if req.Temperature != nil && m.traits.Temperature {
		dst = append(dst, `,"temperature":`...)
		dst = strconv.AppendFloat(dst, *req.Temperature, 'g', -1, 64)
	}
	if thinking != "" {
		dst = append(append(append(dst, `,"thinkingConfig":{`...), thinking...), '}')
	}
	if len(dst) == 0 {
		return nil
	}
	return append(append([]byte(`"generationConfig":{`), dst[1:]...), `},`...)
}

// thinkingConfig returns the members of thinkingConfig, and how many tokens the
// model may think. Off is said only to models that would think otherwise.
func (m *Model) thinkingConfig(level agentcore.ThinkingLevel) (members string, room int64) {
	name := providers.BareModel(m.info.Ref.ID)
	pro := strings.Contains(name, "-pro")
	on := level != agentcore.ThinkingOff
	switch {
	case m.traits.Thinking == "none":
		return "", 0
	case m.traits.Thinking == "level" && on:
		word := string(level)
		if level == agentcore.ThinkingMedium && strings.HasPrefix(name, "gemini-3-pro") {
			word = "high" // it knows only low and high
		}
		return `"includeThoughts":true,"thinkingLevel":"` + word + `"`, thinkingBudget[level]
	case m.traits.Thinking == "level" && pro:
		return `"thinkingLevel":"low"`, unasked
	case m.traits.Thinking == "level":
		return `"thinkingLevel":"minimal"`, unasked
	case on:
		budget := thinkingBudget[level]
		return `"includeThoughts":true,"thinkingBudget":` + strconv.FormatInt(budget, 10), budget
	case !strings.HasPrefix(name, "gemini-2.5"):
		return "", 0
	case pro: // can't be kept from it; this is its least
		return `"thinkingBudget":128`, 128
	}
	return `"thinkingBudget":0`, 0
}

func (m *Model) appendTools(tools []agentcore.ToolSpec) []byte {
	dst := []byte(`"tools":[{"functionDeclarations":[`)
	for i, t := range tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = providers.AppendString(dst, wireName(t.Name))
		description := t.Description
		if description == "" {
			description = t.Name // Vertex AI refuses a tool without one
		}
		dst = append(dst, `,"description":`...)
		dst = providers.AppendString(dst, description)
		if m.traits.LegacyParameters {
			if schema := legacySchema(t); schema != nil {
				dst = append(append(dst, `,"parameters":`...), schema...)
			}
		} else if schema := jsonSchema(t); schema != nil {
			dst = append(append(dst, `,"parametersJsonSchema":`...), schema...)
		}
		dst = append(dst, '}')
	}
	return append(dst, `]}],`...)
}

// wireName returns name as the API accepts it, which also wants a letter or an
// underscore first.
func wireName(name string) string {
	wire := providers.WireName(name)
	if c := wire[0]; c >= '0' && c <= '9' || c == '-' {
		return providers.WireName("_" + wire)
	}
	return wire
}

// localName maps a name that the model used back to the tool it was told of.
// Models put the module of their training before it at times.
func localName(tools []agentcore.ToolSpec, name string) string {
	for _, as := range []string{name, strings.TrimPrefix(strings.TrimPrefix(name, "default_api."), "default_api:")} {
		for i := range tools {
			if tools[i].Name == as || wireName(tools[i].Name) == as {
				return tools[i].Name
			}
		}
	}
	return name
}
