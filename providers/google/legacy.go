package google

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// legacySchema returns a tool's schema for `parameters`, which takes a subset of
// OpenAPI and refuses the whole request for one keyword that it does not know.
// It is nil for a tool that takes no arguments, for an object without properties
// is refused too.
func legacySchema(t agentcore.ToolSpec) []byte {
	decoder := json.NewDecoder(bytes.NewReader(providers.Schema(t)))
	decoder.UseNumber()
	var root map[string]any
	if decoder.Decode(&root) != nil {
		return nil
	}
	s := sanitizer{root: root}
	out := s.node(root, 0)
	if properties, _ := out["properties"].(map[string]any); len(properties) == 0 {
		return nil
	}
	for _, key := range []string{"anyOf", "nullable"} {
		delete(out, key)
	}
	out["type"] = "object"
	return providers.AppendJSON(nil, out)
}

// sanitizer turns JSON Schema into the subset.
type sanitizer struct {
	root  map[string]any
	nodes int
}

// Bounds of a schema: what is beyond is taken to be a string.
const (
	maxSchemaDepth = 24
	maxSchemaNodes = 4096
)

// kept are the keywords that mean the same in both.
var kept = []string{
	"title", "description", "nullable", "minItems", "maxItems", "minProperties", "maxProperties",
	"minLength", "maxLength", "minimum", "maximum", "propertyOrdering",
}

// formats are those that the API knows, by type.
var formats = map[string][]string{
	"string": {"date-time", "enum"}, "integer": {"int32", "int64"}, "number": {"float", "double"},
}

func (s *sanitizer) node(v any, depth int) map[string]any {
	in, ok := v.(map[string]any)
	if s.nodes++; !ok || depth > maxSchemaDepth || s.nodes > maxSchemaNodes {
		return map[string]any{"type": "string"}
	}
	in = maps.Clone(s.merged(s.resolved(in, depth), depth)) // a copy, which types changes
	out := map[string]any{}
	for _, key := range kept {
		if value, ok := in[key]; ok && fits(key, value) {
			out[key] = value
		}
	}
	if pattern, ok := in["pattern"].(string); ok {
		out["pattern"] = pattern
	}
	s.types(in, out)
	s.union(in, out, depth)
	s.values(in, out)
	s.members(in, out, depth)
	if format, ok := in["format"].(string); ok && slices.Contains(formats[typeOf(out)], format) {
		out["format"] = format
	}
	s.bounds(in, out)
	return out
}

// fits reports whether a keyword's value is of the kind that the API reads.
func fits(key string, value any) bool {
	switch value.(type) {
	case string:
		return key == "title" || key == "description"
	case bool:
		return key == "nullable"
	case json.Number:
		return strings.HasPrefix(key, "m")
	case []any:
		return key == "propertyOrdering"
	}
	return false
}

func typeOf(node map[string]any) string {
	name, _ := node["type"].(string)
	return name
}

// members keeps what an object and an array consist of.
func (s *sanitizer) members(in, out map[string]any, depth int) {
	switch typeOf(out) {
	case "object":
		given, _ := in["properties"].(map[string]any)
		if len(given) == 0 {
			return
		}
		properties := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(given)) { // the bound on nodes falls on the same ones each time
			properties[name] = s.node(given[name], depth+1)
		}
		out["properties"] = properties
		required, _ := in["required"].([]any)
		if names, _ := existing(providers.AppendJSON(nil, required), properties); len(names) > 0 {
			out["required"] = names
		}
	case "array":
		items := in["items"]
		if tuple, ok := in["prefixItems"].([]any); ok && items == nil {
			items = tuple
		}
		if tuple, ok := items.([]any); ok {
			items = map[string]any{"anyOf": tuple}
		}
		out["items"] = s.node(items, depth+1)
	}
}

// bounds makes exclusive bounds inclusive, for there are no others.
func (s *sanitizer) bounds(in, out map[string]any) {
	for key, of := range map[string]struct {
		as   string
		step int64
	}{"exclusiveMinimum": {"minimum", 1}, "exclusiveMaximum": {"maximum", -1}} {
		n, ok := in[key].(json.Number)
		if _, has := out[of.as]; !ok || has {
			continue
		}
		if whole, err := n.Int64(); err == nil && typeOf(out) == "integer" {
			out[of.as] = whole + of.step
		} else {
			out[of.as] = n
		}
	}
}
