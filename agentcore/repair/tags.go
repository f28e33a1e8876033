package repair

import "strings"

// function reads <function=name> after its "=": parameters and the closing
// tag.
func (p *parser) function(closed bool) (call, bool) {
	written, ok := p.until('>', maxName)
	if !ok {
		return call{}, false
	}
	name, ok := p.tagName(strings.Trim(written, `"'`))
	if !ok {
		return call{}, false
	}
	return p.parameters(name, closed)
}

// parameters reads <parameter=key>value</parameter> blocks up to </function>,
// which may be missing at the end of the text unless closed is set.
func (p *parser) parameters(name string, closed bool) (call, bool) {
	var list []parameter
	for {
		p.space()
		if !closed && len(list) > 0 && p.atEnd() {
			break
		}
		mark := p.at
		which := p.one("<parameter=", "</function>")
		if which == 1 {
			break
		}
		if which < 0 {
			if !closed && len(list) > 0 {
				p.at = mark // the next call, perhaps
				break
			}
			return call{}, false
		}
		key, ok := p.until('>', maxName)
		if !ok {
			return call{}, false
		}
		value, ok := p.value("</parameter>", !closed, "<parameter=", "</function>")
		if !ok {
			return call{}, false
		}
		list = append(list, parameter{key: strings.Trim(key, `"'`), value: trimBreaks(value)})
	}
	args, ok := p.known.typed(name, list)
	return call{name, args}, ok
}

// value reads up to the closing tag, and past it. A closing tag closes only
// where one of the next words follows it, or the end where that may be: a value
// may contain the tag itself.
func (p *parser) value(closing string, atEnd bool, next ...string) (string, bool) {
	start := p.at
	for {
		c, ok := p.peek()
		if !ok {
			return "", false
		}
		if c != '<' {
			p.at++
			continue
		}
		end := p.at
		if !p.word(closing) {
			if p.at == end {
				p.at++
			}
			continue
		}
		after := p.at
		p.space()
		if atEnd && p.atEnd() || p.one(next...) >= 0 {
			p.at = after
			return string(p.text[start:end]), true
		}
		p.at = after
	}
}

// invokeForm is the spelling of one vendor's invoke elements.
type invokeForm struct {
	parameter, endParameter, end string
	entities                     bool // values have XML entities
}

var (
	plainInvoke  = invokeForm{parameter: "<parameter ", endParameter: "</parameter>", end: "</invoke>"}
	spacedInvoke = invokeForm{parameter: "<" + namespace + "parameter ", endParameter: "</" + namespace + "parameter>", end: "</" + namespace + "invoke>"}
	dsmlInvoke   = invokeForm{parameter: "<|dsml|parameter ", endParameter: "</|dsml|parameter>", end: "</|dsml|invoke>", entities: true}
)

var unescapeXML = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&amp;", "&")

// invoke reads an invoke element after its name: the name attribute, then
// parameters, then the closing tag.
func (p *parser) invoke(form invokeForm) (call, bool) {
	attributes, ok := p.until('>', 2*maxName)
	if !ok {
		return call{}, false
	}
	name, ok := p.tagName(attribute(attributes, "name"))
	if !ok {
		return call{}, false
	}
	var list []parameter
	for {
		p.space()
		switch p.one(form.parameter, form.end) {
		case 0:
		case 1:
			args, ok := p.known.typed(name, list)
			return call{name, args}, ok
		default:
			return call{}, false
		}
		attributes, ok := p.until('>', 2*maxName)
		if !ok {
			return call{}, false
		}
		value, ok := p.value(form.endParameter, false, form.parameter, form.end)
		if !ok {
			return call{}, false
		}
		if form.entities {
			value = unescapeXML.Replace(value)
		}
		list = append(list, parameter{
			key: attribute(attributes, "name"), value: trimBreaks(value), text: attribute(attributes, "string") == "true",
		})
	}
}

// attribute returns the value of a quoted attribute in the text of a tag.
func attribute(text, name string) string {
	_, rest, ok := strings.Cut(" "+text, " "+name+"=")
	if !ok || rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	value, _, ok := strings.Cut(rest[1:], rest[:1])
	if !ok {
		return ""
	}
	return value
}

// glm reads the inside of a GLM call: the name, then pairs of arg_key and
// arg_value, then </tool_call>.
func (p *parser) glm() (call, bool) {
	name, ok := p.tagName(p.name("."))
	if !ok {
		return call{}, false
	}
	var list []parameter
	for {
		p.space()
		switch p.one("<arg_key>", "</tool_call>") {
		case 0:
		case 1:
			args, ok := p.known.typed(name, list)
			return call{name, args}, ok
		default:
			return call{}, false
		}
		key, ok := p.until('<', maxName)
		if !ok || !p.word("/arg_key>") {
			return call{}, false
		}
		// GLM now and then closes the key twice.
		for p.space(); ; p.space() {
			which := p.one("<arg_value>", "</arg_key>")
			if which == 0 {
				break
			}
			if which < 0 {
				return call{}, false
			}
		}
		value, ok := p.value("</arg_value>", false, "<arg_key>", "</tool_call>")
		if !ok {
			return call{}, false
		}
		list = append(list, parameter{key: strings.TrimSpace(key), value: trimBreaks(value)})
	}
}
