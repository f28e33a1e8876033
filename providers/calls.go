package providers

import (
	"bytes"
	"encoding/json"
	"strings"

	"clawbot/agentcore"
)

// CallTable puts the fragments of tool calls together, whatever servers of Chat
// Completions, and of what is modelled on it, do to their index, id and name. It
// is used on the one goroutine that ranges.
type CallTable struct {
	// Out is where the calls are shown.
	Out *Emitter
	// Tools are those that the model was told of.
	Tools []agentcore.ToolSpec

	calls []*call
	last  *call
}

type call struct {
	part      *Part
	index     int64 // -1 if the server sends none
	id, name  string
	args      []byte
	signature string
}

// fragment is one element of tool_calls.
type fragment struct {
	index     int64
	id, name  string
	args      string
	signature string
}

// Deltas reads the value of tool_calls.
func (t *CallTable) Deltas(raw []byte) {
	p := NewDecoder(raw)
	if p.Is('{') { // one call instead of a list
		t.add(readFragment(&p))
		return
	}
	for p.Array(); p.More(); {
		if p.Is('{') {
			t.add(readFragment(&p))
		} else {
			p.Skip()
		}
	}
}

// Empty reports whether no call has begun.
func (t *CallTable) Empty() bool { return len(t.calls) == 0 }

// Legacy reads the function_call of old servers.
func (t *CallTable) Legacy(raw []byte) {
	p := NewDecoder(raw)
	if f := (fragment{index: 0}); p.Is('{') {
		f.readFunction(&p)
		t.add(f)
	}
}

func readFragment(p *Decoder) fragment {
	f := fragment{index: -1}
	var key []byte
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "index":
			if p.Is('0') {
				f.index = p.Int()
			} else {
				p.Skip()
			}
		case "id":
			if f.id = p.String(); f.id == "null" {
				f.id = ""
			}
		case "function":
			f.readFunction(p)
		case "name":
			f.name = p.String()
		case "arguments":
			f.args = readArguments(p)
		case "extra_content":
			f.signature = readSignature(p)
		default:
			p.Skip()
		}
	}
	return f
}

func (f *fragment) readFunction(p *Decoder) {
	var key []byte
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "name":
			f.name = p.String()
		case "arguments":
			f.args = readArguments(p)
		case "thought_signature":
			f.signature = p.String()
		default:
			p.Skip()
		}
	}
}

// readArguments reads a string, or the object that some servers have decoded
// already.
func readArguments(p *Decoder) string {
	switch {
	case p.Is('"'):
		return p.String()
	case p.Is('{'):
		return string(p.Raw())
	}
	p.Skip()
	return ""
}

func readSignature(p *Decoder) string {
	var key []byte
	out := ""
	for p.Object(); p.Key(&key); {
		if string(key) != "google" {
			p.Skip()
			continue
		}
		for p.Object(); p.Key(&key); {
			if string(key) == "thought_signature" {
				out = p.String()
			} else {
				p.Skip()
			}
		}
	}
	return out
}

func (t *CallTable) add(f fragment) {
	c := t.find(&f)
	if c == nil {
		c = &call{part: t.Out.Part(agentcore.StreamToolCall), index: f.index, id: f.id}
		t.calls = append(t.calls, c)
	}
	t.last = c
	t.named(c, f.name)
	if c.id == "" {
		c.id = f.id
	}
	if f.signature != "" {
		c.signature = f.signature
	}
	if !t.Out.Call(c.part, c.id, LocalName(t.Tools, c.name)) {
		return
	}
	if f.args != "" {
		c.args = append(c.args, f.args...)
		t.Out.Delta(c.part, f.args)
	}
}

// find returns the call that f goes on with, nil if it begins one.
func (t *CallTable) find(f *fragment) *call {
	if f.index < 0 {
		return t.findUnnumbered(f)
	}
	var c *call
	for _, other := range t.calls {
		if other.index == f.index {
			c = other // the latest of that index
		}
	}
	switch {
	case c == nil:
		return nil
	case f.name == "":
		return c
	case f.id != "" && c.id != "" && f.id != c.id && c.name != "":
		return nil // another id together with a name is another call
	case f.id == "" && c.whole() && strings.HasPrefix(f.args, "{"):
		return nil // no ids at all: a name and arguments after complete ones
	}
	return c
}

func (t *CallTable) findUnnumbered(f *fragment) *call {
	if f.id != "" {
		for _, c := range t.calls {
			if c.id == f.id {
				return c
			}
		}
		if f.name != "" || t.last == nil || t.last.id != "" && t.last.whole() {
			return nil
		}
		return t.last
	}
	if t.last == nil || f.name != "" && t.last.name != "" && (t.last.whole() || f.name != t.last.name && len(t.last.args) > 0) {
		return nil
	}
	return t.last
}

// whole reports whether the arguments so far are one complete object.
func (c *call) whole() bool {
	args := bytes.TrimSpace(c.args)
	return len(args) > 1 && args[0] == '{' && args[len(args)-1] == '}' && json.Valid(args)
}

// named takes a name: the first that is not empty, or the rest of one that was
// cut, if that makes a tool's name.
func (t *CallTable) named(c *call, name string) {
	switch {
	case name == "" || name == c.name:
	case c.name == "":
		c.name = name
	case len(c.args) == 0 && !t.isTool(c.name) && (len(t.Tools) == 0 || t.beginsTool(c.name+name)):
		c.name += name
	}
}

func (t *CallTable) isTool(name string) bool {
	for i := range t.Tools {
		if t.Tools[i].Name == name || WireName(t.Tools[i].Name) == name {
			return true
		}
	}
	return false
}

func (t *CallTable) beginsTool(name string) bool {
	for i := range t.Tools {
		if strings.HasPrefix(WireName(t.Tools[i].Name), name) {
			return true
		}
	}
	return false
}

// End settles what the deltas could not say. It comes before the emitter's Done.
func (t *CallTable) End() {
	for _, c := range t.calls {
		name := LocalName(t.Tools, c.name)
		if c.signature == "" && name == c.part.Name() {
			continue
		}
		if c.id == "" {
			c.id = t.Out.newID()
			t.Out.Call(c.part, c.id, "")
		}
		c.part.Replace = agentcore.ToolCall{ID: c.part.ID(), Name: name,
			Arguments: json.RawMessage(Clean(string(c.args))), Signature: c.signature}
	}
}
