package repair

import "strings"

// parser reads a section: calls in any of the known forms, one after the
// other, up to the end of the text.
type parser struct {
	*scanner
	known *toolset
	whole bool
	// strange is set once a call in explicit tags has a name that is no tool's.
	// It is read to its end, so that the calls beside it are rejected with it.
	strange bool
}

// calls returns the section's calls, or false when it is none.
func (p *parser) calls() ([]call, bool) {
	var all []call
	for {
		got, ok := p.block()
		if !ok {
			return nil, false
		}
		all = append(all, got...)
		p.space()
		if p.atEnd() {
			return all, len(all) > 0 && !p.strange
		}
	}
}

// block reads one form. Which one is known from how it begins.
func (p *parser) block() ([]call, bool) {
	c, _ := p.peek()
	switch {
	case c == '<':
		return p.tagged()
	case c == '[':
		return p.bracketed()
	case c == '{':
		return p.bareJSON()
	case p.whole:
		return p.harmonyText()
	default:
		return nil, false
	}
}

// The openings of forms in explicit tags and vendors' tokens.
const (
	tagToolCall = iota
	tagToolCalls
	tagFunctionCalls
	tagMinimax
	tagFunction
	tagInvoke
	tagSpacedCalls
	tagSpacedInvoke
	tagDSMLCalls
	tagDSMLCall
	tagDSMLFunctionCalls
	tagDSMLInvoke
	tagDeepSeek
	tagCallBegin
	tagKimiSections
	tagKimiSection
	tagHarmonyStart
	tagHarmonyChannel
	tagEnd // and all after it: tokens that end a message and say nothing
)

// namespace is before the names of Anthropic's elements.
const namespace = "antml:"

var openings = []string{
	tagToolCall:          "<tool_call>",
	tagToolCalls:         "<tool_calls>",
	tagFunctionCalls:     "<function_calls>",
	tagMinimax:           "<minimax:tool_call>",
	tagFunction:          "<function=",
	tagInvoke:            "<invoke ",
	tagSpacedCalls:       "<" + namespace + "function_calls>",
	tagSpacedInvoke:      "<" + namespace + "invoke ",
	tagDSMLCalls:         "<|dsml|tool_calls>",
	tagDSMLCall:          "<|dsml|tool_call>",
	tagDSMLFunctionCalls: "<|dsml|function_calls>",
	tagDSMLInvoke:        "<|dsml|invoke ",
	tagDeepSeek:          "<|tool_calls_begin|>",
	tagCallBegin:         "<|tool_call_begin|>",
	tagKimiSections:      "<|tool_calls_section_begin|>",
	tagKimiSection:       "<|tool_call_section_begin|>",
	tagHarmonyStart:      "<|start|>assistant",
	tagHarmonyChannel:    "<|channel|>",
	tagEnd:               "<|end_of_sentence|>",
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "</s>",
}

func (p *parser) tagged() ([]call, bool) {
	switch tag := p.one(openings...); tag {
	case tagToolCall:
		return p.toolCall()
	case tagToolCalls:
		return p.wrapped("</tool_calls>")
	case tagFunctionCalls:
		return p.wrapped("</function_calls>")
	case tagSpacedCalls:
		return p.wrapped("</" + namespace + "function_calls>")
	case tagMinimax:
		return p.wrapped("</minimax:tool_call>")
	case tagDSMLCalls:
		return p.wrapped("</|dsml|tool_calls>")
	case tagDSMLCall:
		return p.wrapped("</|dsml|tool_call>")
	case tagDSMLFunctionCalls:
		return p.wrapped("</|dsml|function_calls>")
	case tagFunction:
		return single(p.function(true))
	case tagInvoke:
		return single(p.invoke(plainInvoke))
	case tagSpacedInvoke:
		return single(p.invoke(spacedInvoke))
	case tagDSMLInvoke:
		return single(p.invoke(dsmlInvoke))
	case tagDeepSeek:
		return p.deepSeek()
	case tagCallBegin:
		return single(p.tokenCall())
	case tagKimiSections, tagKimiSection:
		return p.kimi()
	case tagHarmonyStart:
		if !p.word("<|channel|>") {
			return nil, false
		}
		return single(p.harmony())
	case tagHarmonyChannel:
		return single(p.harmony())
	case -1:
		return nil, false
	default:
		return nil, true
	}
}

// wrapped reads an envelope: calls of any tagged form or of JSON, and the
// closing tag.
func (p *parser) wrapped(closing string) ([]call, bool) {
	var all []call
	for {
		p.space()
		c, _ := p.peek()
		if c == '{' || c == '[' {
			got, ok := p.jsonCalls(true)
			if !ok {
				return nil, false
			}
			all = append(all, got...)
			continue
		}
		words := []string{closing, openings[tagFunction], openings[tagInvoke], openings[tagDSMLInvoke], openings[tagToolCall], openings[tagSpacedInvoke]}
		var got []call
		var ok bool
		switch p.one(words...) {
		case 0:
			return all, len(all) > 0
		case 1:
			got, ok = single(p.function(true))
		case 2:
			got, ok = single(p.invoke(plainInvoke))
		case 3:
			got, ok = single(p.invoke(dsmlInvoke))
		case 4:
			got, ok = p.toolCall()
		case 5:
			got, ok = single(p.invoke(spacedInvoke))
		}
		if !ok {
			return nil, false
		}
		all = append(all, got...)
	}
}

// toolCall reads what stands between <tool_call> and </tool_call>: Hermes' JSON,
// Qwen's <function=…>, or GLM's name with keys and values.
func (p *parser) toolCall() ([]call, bool) {
	p.space()
	c, _ := p.peek()
	var got []call
	var ok bool
	switch {
	case c == '{' || c == '[':
		got, ok = p.jsonCalls(true)
	case c == '<' && p.word(openings[tagFunction]):
		got, ok = single(p.function(true))
	case isNameByte(c):
		return single(p.glm())
	}
	if !ok {
		return nil, false
	}
	p.space()
	return got, p.word("</tool_call>")
}

// bracketed reads Mistral's [TOOL_CALLS] and the bare forms [tool:name] and
// [name], and a JSON array of calls.
func (p *parser) bracketed() ([]call, bool) {
	if !p.whole {
		if !p.word("[TOOL_CALLS]") {
			return nil, false
		}
		return p.mistral()
	}
	start := p.at
	switch p.one("[TOOL_CALLS]", "[tool:", "[") {
	case 0:
		return p.mistral()
	case 1:
		name, ok := p.resolved(p.name(""))
		if !ok || !p.word("]") {
			return nil, false
		}
		p.space()
		return single(p.bracketArguments(name, false))
	}
	if c, ok := p.peek(); ok && !isNameByte(c) {
		p.at = start
		return p.bareJSON()
	}
	name, ok := p.resolved(p.name(""))
	if !ok || !p.word("]") {
		return nil, false
	}
	p.blanks()
	if p.one("\n", "\r\n") < 0 {
		return nil, false
	}
	p.space()
	return single(p.bracketArguments(name, true))
}

// bracketArguments reads what follows [name]: a JSON object with an optional
// closing marker, or tagged parameters.
func (p *parser) bracketArguments(name string, closed bool) (call, bool) {
	if c, _ := p.peek(); c == '<' {
		return p.parameters(name, closed)
	}
	args, ok := p.object()
	if !ok {
		return call{}, false
	}
	after := p.at
	p.space()
	if c, more := p.peek(); more && c == '[' {
		mark := p.at
		if p.one("[END_TOOL_REQUEST]", "[/"+name+"]") >= 0 {
			return call{name, args}, true
		}
		p.at = mark // the next call, perhaps
		return call{name, args}, true
	}
	p.at = after
	return call{name, args}, true
}

// resolved turns what a model wrote into a tool's name.
func (p *parser) resolved(name string) (string, bool) {
	found, ok := p.known.resolve(name)
	p.named = p.named || ok
	return found, ok
}

// tagName is resolved for a name in explicit tags, which may be a stranger's.
func (p *parser) tagName(name string) (string, bool) {
	if found, ok := p.resolved(name); ok {
		return found, true
	}
	p.strange = true
	return name, name != ""
}

// until reads up to the byte c and past it.
func (p *parser) until(c byte, most int) (string, bool) {
	start := p.at
	for p.at-start <= most {
		got, ok := p.peek()
		if !ok {
			return "", false
		}
		p.at++
		if got == c {
			return string(p.text[start : p.at-1]), true
		}
	}
	return "", false
}

func single(c call, ok bool) ([]call, bool) {
	if !ok {
		return nil, false
	}
	return []call{c}, true
}

// trimBreaks takes one line break from either end.
func trimBreaks(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}
