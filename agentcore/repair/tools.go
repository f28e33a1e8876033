package repair

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"clawbot/agentcore"
)

// maxName bounds a tool's name in text, in bytes.
const maxName = 120

// call is a promoted call.
type call struct {
	name string
	args json.RawMessage
}

// toolset is the tools of one request, by name.
type toolset struct {
	tools map[string]agentcore.ToolSpec
	// folded maps names in lower case, with _ for -, to the name; "" where two
	// names fold alike.
	folded map[string]string
}

func newToolset(specs []agentcore.ToolSpec) *toolset {
	t := &toolset{make(map[string]agentcore.ToolSpec, len(specs)), make(map[string]string, len(specs))}
	for _, spec := range specs {
		t.tools[spec.Name] = spec
		key := fold(spec.Name)
		if _, taken := t.folded[key]; taken {
			t.folded[key] = ""
		} else {
			t.folded[key] = spec.Name
		}
	}
	return t
}

func fold(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "-", "_")
}

// resolve finds the tool that a model means by name: the exact one, or the one
// that is left when a namespace, a counter and the case are taken away.
func (t *toolset) resolve(name string) (string, bool) {
	name = strings.TrimSpace(name)
	if _, ok := t.tools[name]; ok {
		return name, true
	}
	if head, counter, ok := strings.Cut(name, ":"); ok && strings.Trim(counter, "0123456789") == "" {
		name = head
	}
	for _, namespace := range []string{"functions.", "tools.", "functions/", "tools/"} {
		name = strings.TrimPrefix(name, namespace)
	}
	if _, ok := t.tools[name]; ok {
		return name, true
	}
	found := t.folded[fold(name)]
	return found, found != ""
}

// parameter is a value that was written without a type.
type parameter struct {
	key, value string
	// text forces a string, whatever the schema says.
	text bool
}

// typed makes an argument object of parameters, each typed by the tool's
// schema: JSON where the schema wants something else than a string and the
// value is JSON, a string otherwise. A key that occurs twice is refused.
func (t *toolset) typed(tool string, parameters []parameter) (json.RawMessage, bool) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	// A schema that can't be read gives no types: everything is a string.
	_ = json.Unmarshal(t.tools[tool].Schema, &schema)
	out := []byte{'{'}
	seen := make(map[string]bool, len(parameters))
	for _, p := range parameters {
		if p.key == "" || seen[p.key] {
			return nil, false
		}
		seen[p.key] = true
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, quote(p.key)...), ':')
		if value := []byte(strings.TrimSpace(p.value)); !p.text && !wantsString(schema.Properties[p.key]) && json.Valid(value) {
			out = append(out, value...)
		} else {
			out = append(out, quote(p.value)...)
		}
	}
	return append(out, '}'), true
}

// wantsString reports whether a property may be a string, or has no type at
// all.
func wantsString(property json.RawMessage) bool {
	var node struct {
		Type  json.RawMessage   `json:"type"`
		Enum  []json.RawMessage `json:"enum"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
	}
	if json.Unmarshal(property, &node) != nil {
		return true
	}
	var one string
	var several []string
	switch {
	case json.Unmarshal(node.Type, &one) == nil:
		return one == "string"
	case json.Unmarshal(node.Type, &several) == nil:
		return slices.Contains(several, "string")
	case len(node.AnyOf)+len(node.OneOf) > 0:
		return slices.ContainsFunc(slices.Concat(node.AnyOf, node.OneOf), wantsString)
	case len(node.Enum) > 0:
		return bytes.HasPrefix(bytes.TrimSpace(node.Enum[0]), []byte{'"'})
	default:
		return true
	}
}

func quote(s string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string always encodes
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
}
