package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"

	"clawbot/agentcore"
	"clawbot/providers"
)

// looseSchema returns a tool's schema as it is, with the root that the API
// wants.
func looseSchema(t agentcore.ToolSpec) []byte {
	raw := providers.Schema(t)
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil {
		return providers.Schema(agentcore.ToolSpec{})
	}
	_, hasProperties := root["properties"]
	if string(bytes.TrimSpace(root["type"])) == `"object"` && hasProperties {
		var out bytes.Buffer
		if json.Compact(&out, raw) == nil {
			return out.Bytes()
		}
	}
	root["type"] = json.RawMessage(`"object"`)
	if !hasProperties {
		root["properties"] = json.RawMessage(`{}`)
	}
	return providers.AppendJSON(nil, root)
}

// strictSchema returns a tool's schema closed for strict mode: every object has
// additionalProperties false and requires all its properties, and what was
// optional may be null instead. It reports false for a schema that strict mode
// cannot express; the tool is then sent as it is, not strict.
func strictSchema(t agentcore.ToolSpec) ([]byte, bool) {
	dec := json.NewDecoder(bytes.NewReader(providers.Schema(t)))
	dec.UseNumber()
	var root map[string]any
	if dec.Decode(&root) != nil {
		return nil, false
	}
	if _, ok := root["type"]; !ok {
		root["type"] = "object"
	}
	if !closeSchema(root, 0) || root["type"] != "object" {
		return nil, false
	}
	return providers.AppendJSON(nil, root), true
}

// openKeywords make an object whose names are not known beforehand.
var openKeywords = []string{"patternProperties", "propertyNames", "unevaluatedProperties", "allOf", "oneOf", "not",
	"if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies", "prefixItems", "contains"}

func closeSchema(node map[string]any, depth int) bool {
	if depth > 32 {
		return false
	}
	for _, keyword := range openKeywords {
		if _, ok := node[keyword]; ok {
			return false
		}
	}
	delete(node, "$schema")
	delete(node, "$id")
	delete(node, "default")
	for _, keyword := range []string{"$defs", "definitions"} {
		if !closeMap(node[keyword], depth) {
			return false
		}
	}
	switch items := node["items"].(type) {
	case nil:
	case map[string]any:
		if !closeSchema(items, depth+1) {
			return false
		}
	default:
		return false
	}
	if members, ok := node["anyOf"].([]any); ok {
		for _, member := range members {
			m, ok := member.(map[string]any)
			if !ok || !closeSchema(m, depth+1) {
				return false
			}
		}
	}
	if isObject(node) {
		return closeObject(node, depth)
	}
	// A node that says nothing of its type accepts anything, which strict mode
	// has no word for.
	_, typed := node["type"]
	return typed || node["anyOf"] != nil || node["enum"] != nil || node["$ref"] != nil || node["const"] != nil
}

func closeMap(v any, depth int) bool {
	defs, _ := v.(map[string]any)
	for _, d := range defs {
		m, ok := d.(map[string]any)
		if !ok || !closeSchema(m, depth+1) {
			return false
		}
	}
	return true
}

func isObject(node map[string]any) bool {
	switch t := node["type"].(type) {
	case string:
		return t == "object"
	case []any:
		return slices.Contains(t, any("object"))
	}
	return node["properties"] != nil
}

func closeObject(node map[string]any, depth int) bool {
	if extra, ok := node["additionalProperties"]; ok && extra != false {
		return false
	}
	if _, ok := node["type"]; !ok {
		node["type"] = "object"
	}
	properties, _ := node["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	required, _ := node["required"].([]any)
	names := make([]string, 0, len(properties))
	for name, p := range properties {
		property, ok := p.(map[string]any)
		if !ok || !closeSchema(property, depth+1) {
			return false
		}
		if !slices.Contains(required, any(name)) {
			properties[name] = nullable(property)
		}
		names = append(names, name)
	}
	sort.Strings(names)
	node["properties"], node["required"], node["additionalProperties"] = properties, names, false
	return true
}

// nullable returns a schema that also takes null.
func nullable(node map[string]any) map[string]any {
	if enum, ok := node["enum"].([]any); ok && !slices.Contains(enum, nil) {
		node["enum"] = append(enum, nil)
	}
	switch t := node["type"].(type) {
	case string:
		if t != "null" {
			node["type"] = []any{t, "null"}
		}
		return node
	case []any:
		if !slices.Contains(t, any("null")) {
			node["type"] = append(t, "null")
		}
		return node
	}
	if members, ok := node["anyOf"].([]any); ok {
		node["anyOf"] = append(members, map[string]any{"type": "null"})
		return node
	}
	return map[string]any{"anyOf": []any{node, map[string]any{"type": "null"}}}
}
