package repair

import "encoding/json"

// deepSeek reads what follows the token that begins DeepSeek's calls.
func (p *parser) deepSeek() ([]call, bool) {
	var all []call
	for {
		p.space()
		switch p.one("<|tool_call_begin|>", "<|tool_calls_end|>") {
		case 0:
		case 1:
			return all, len(all) > 0
		default:
			return nil, false
		}
		c, ok := p.tokenCall()
		if !ok {
			return nil, false
		}
		all = append(all, c)
	}
}

// kimi reads what follows the token that begins Kimi's calls.
func (p *parser) kimi() ([]call, bool) {
	var all []call
	for {
		p.space()
		switch p.one("<|tool_call_begin|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>") {
		case 0:
		case 1, 2:
			return all, len(all) > 0
		default:
			return nil, false
		}
		c, ok := p.tokenCall()
		if !ok {
			return nil, false
		}
		all = append(all, c)
	}
}

// tokenCall reads one call between begin and end tokens. DeepSeek V3 writes
// "function", the separator, the name and a fenced object; V3.1 the name, the
// separator and the object; Kimi the name with a counter, another separator
// and the object.
func (p *parser) tokenCall() (call, bool) {
	p.space()
	written := p.name(".:")
	p.space()
	fenced := false
	switch p.one("<|tool_sep|>", "<|tool_call_argument_begin|>") {
	case 0:
		if written == "function" {
			written, fenced = p.name(".:"), true
		}
	case 1:
	default:
		return call{}, false
	}
	name, ok := p.tagName(written)
	if !ok {
		return call{}, false
	}
	p.space()
	if fenced {
		if !p.word("```json") {
			return call{}, false
		}
		p.space()
	}
	args, ok := p.object()
	if !ok {
		return call{}, false
	}
	p.space()
	if fenced {
		if !p.word("```") {
			return call{}, false
		}
		p.space()
	}
	return call{name, args}, p.word("<|tool_call_end|>")
}

// mistral reads what follows [TOOL_CALLS]: an array of calls, or a name and its
// arguments, in newer models with [ARGS] between them, and [CALL_ID] before.
func (p *parser) mistral() ([]call, bool) {
	p.space()
	if c, _ := p.peek(); c == '[' || c == '{' {
		return p.jsonCalls(true)
	}
	name, ok := p.tagName(p.name("."))
	if !ok {
		return nil, false
	}
	p.blanks()
	which := p.one("[CALL_ID]", "[ARGS]")
	if which == 0 {
		p.name("")
		which = p.one("[ARGS]")
	}
	if c, _ := p.peek(); which < 0 && c == '[' {
		return nil, false
	}
	p.space()
	args, ok := p.object()
	return single(call{name, args}, ok)
}

// harmony reads what follows <|channel|>.
func (p *parser) harmony() (call, bool) {
	p.space()
	if p.one("commentary", "analysis", "final") < 0 {
		return call{}, false
	}
	return p.harmonyCall()
}

// harmonyText reads Harmony's form whose channel tokens a server took away.
func (p *parser) harmonyText() ([]call, bool) {
	if p.one("commentary", "analysis", "final") < 0 {
		return nil, false
	}
	return single(p.harmonyCall())
}

func (p *parser) harmonyCall() (call, bool) {
	before := p.at
	p.space()
	if p.at == before || !p.word("to=") {
		return call{}, false
	}
	name, ok := p.resolved(p.name("."))
	if !ok {
		return call{}, false
	}
	p.space()
	for {
		which := p.one("code", "json", "<|constrain|>", "<|message|>")
		if which < 0 {
			break
		}
		p.space()
	}
	args, ok := p.object()
	if !ok {
		return call{}, false
	}
	mark := p.at
	p.space()
	if c, more := p.peek(); !more || c != '<' {
		p.at = mark
		return call{name, args}, true
	}
	if mark = p.at; p.one("<|call|>") < 0 {
		p.at = mark // another block or an end token
	}
	return call{name, args}, true
}

// bareJSON reads an object or array of calls that stands alone, or, on a line
// of its own after prose, is closed by </tool_call> although nothing opened it.
func (p *parser) bareJSON() ([]call, bool) {
	got, ok := p.jsonCalls(false)
	if !ok {
		return nil, false
	}
	mark := p.at
	p.space()
	if c, more := p.peek(); more && c == '<' {
		return got, p.word("</tool_call>")
	}
	p.at = mark
	return got, p.whole
}

// jsonCalls reads an object or array of calls. Outside of a tag an object must
// have arguments to be one.
func (p *parser) jsonCalls(inTag bool) ([]call, bool) {
	if c, _ := p.peek(); c == '{' && !p.opensCall() {
		return nil, false
	}
	raw, ok := p.balanced()
	if !ok {
		return nil, false
	}
	return p.decode(raw, inTag, 0)
}

// opensCall looks at the first key of an object, so that an answer in JSON is
// known for what it is at once. It leaves the position before the object if it
// may be a call.
func (p *parser) opensCall() bool {
	start := p.at
	p.at++
	p.space()
	if p.one(`"name"`, `"function"`, `"tool_calls"`, `"type"`, `"id"`, `"tool"`,
		`"arguments"`, `"args"`, `"input"`, `"parameters"`) < 0 {
		return false
	}
	p.at = start
	return true
}

// maxNesting bounds how deep calls may be wrapped in objects and lists.
const maxNesting = 4

// decode turns JSON into calls; one bad entry of a list rejects all.
func (p *parser) decode(raw json.RawMessage, inTag bool, depth int) ([]call, bool) {
	if depth > maxNesting {
		return nil, false
	}
	if raw[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil, false
		}
		return p.decodeList(list, inTag, depth)
	}
	var object struct {
		Name       json.RawMessage   `json:"name"`
		Function   json.RawMessage   `json:"function"`
		ToolCalls  []json.RawMessage `json:"tool_calls"`
		Arguments  json.RawMessage   `json:"arguments"`
		Args       json.RawMessage   `json:"args"`
		Input      json.RawMessage   `json:"input"`
		Parameters json.RawMessage   `json:"parameters"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return nil, false
	}
	if len(object.ToolCalls) > 0 {
		return p.decodeList(object.ToolCalls, inTag, depth)
	}
	if len(object.Function) > 0 && object.Function[0] == '{' {
		return p.decode(object.Function, inTag, depth+1)
	}
	var written string
	if json.Unmarshal(object.Name, &written) != nil {
		return nil, false
	}
	name, ok := p.resolved(written)
	if !ok && inTag {
		name, ok = p.tagName(written)
	}
	if !ok {
		return nil, false
	}
	for _, args := range []json.RawMessage{object.Arguments, object.Args, object.Input, object.Parameters} {
		if len(args) > 0 {
			args, ok := argumentObject(args)
			return single(call{name, args}, ok)
		}
	}
	return single(call{name, json.RawMessage("{}")}, inTag)
}

func (p *parser) decodeList(list []json.RawMessage, inTag bool, depth int) ([]call, bool) {
	var all []call
	for _, raw := range list {
		if len(raw) == 0 || raw[0] != '{' {
			return nil, false
		}
		got, ok := p.decode(raw, inTag, depth+1)
		if !ok {
			return nil, false
		}
		all = append(all, got...)
	}
	return all, len(all) > 0
}

// argumentObject takes an object, or a string that holds one.
func argumentObject(raw json.RawMessage) (json.RawMessage, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return nil, false
	}
	return raw, true
}
