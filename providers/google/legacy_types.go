package google

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"clawbot/providers"
)

// types settles on one type; several become a union, and null becomes nullable.
func (s *sanitizer) types(in, out map[string]any) {
	var names []string
	switch t := in["type"].(type) {
	case string:
		names = []string{t}
	case []any:
		for _, v := range t {
			if name, ok := v.(string); ok {
				names = append(names, name)
			}
		}
	}
	if slices.Contains(names, "null") {
		out["nullable"] = true
		names = slices.DeleteFunc(names, func(n string) bool { return n == "null" })
		if len(names) == 0 {
			names = []string{"string"}
		}
	}
	known := []string{"string", "number", "integer", "boolean", "array", "object"}
	names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(known, n) })
	switch {
	case len(names) > 1 && in["anyOf"] == nil && in["oneOf"] == nil:
		var each []any
		for _, name := range names {
			branch := map[string]any{"type": name}
			for _, key := range []string{"items", "properties", "required", "enum"} {
				if value, ok := in[key]; ok && (key == "items") == (name == "array") && (key == "enum" || name != "string") {
					branch[key] = value
				}
			}
			each = append(each, branch)
		}
		in["anyOf"] = each
		for _, key := range []string{"items", "properties", "required", "enum"} {
			delete(in, key)
		}
	case len(names) > 0:
		out["type"] = names[0]
	case in["properties"] != nil:
		out["type"] = "object"
	case in["items"] != nil || in["prefixItems"] != nil:
		out["type"] = "array"
	case in["anyOf"] == nil && in["oneOf"] == nil && in["enum"] == nil && in["const"] == nil:
		out["type"] = "string"
	}
}

// union makes anyOf and oneOf one anyOf without null; of one member, that member.
func (s *sanitizer) union(in, out map[string]any, depth int) {
	members, ok := in["anyOf"].([]any)
	if !ok {
		if members, ok = in["oneOf"].([]any); !ok {
			return
		}
	}
	var each []any
	for _, v := range members {
		branch, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if branch["type"] == "null" {
			out["nullable"] = true
			continue
		}
		if branch["type"] == nil && in["type"] != nil {
			branch = maps.Clone(branch)
			branch["type"] = in["type"]
		}
		each = append(each, s.node(branch, depth+1))
	}
	switch len(each) {
	case 0:
	case 1:
		if only, ok := each[0].(map[string]any); ok {
			for key, value := range only {
				if _, own := out[key]; !own || key == "type" {
					out[key] = value
				}
			}
		}
		return
	default:
		if typeOf(out) == "object" && in["properties"] != nil {
			return // conditions between properties are beyond the subset
		}
		out["anyOf"] = each
		delete(out, "type")
		return
	}
	if typeOf(out) == "" {
		out["type"] = "string"
	}
}

// values turns const and enum into an enum of strings, the only kind there is;
// other values are told in the description.
func (s *sanitizer) values(in, out map[string]any) {
	values, ok := in["enum"].([]any)
	if c, has := in["const"]; has {
		values, ok = []any{c}, true
	}
	if !ok || len(values) == 0 || out["anyOf"] != nil {
		return
	}
	var words []any
	var others []string
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			out["nullable"] = true
		case string:
			if v != "" {
				words = append(words, v) // an empty one is refused
			}
		default:
			others = append(others, string(providers.AppendJSON(nil, v)))
		}
	}
	switch {
	case len(others) == 0 && len(words) > 0:
		out["type"], out["enum"] = "string", words
	case len(others) > 0:
		for _, w := range words {
			others = append(others, string(providers.AppendJSON(nil, w)))
		}
		description, _ := out["description"].(string)
		out["description"] = strings.TrimSpace(fmt.Sprintf("%s One of: %s.", description, strings.Join(others, ", ")))
		if typeOf(out) == "" {
			out["type"] = kindOf(values[0])
		}
	case typeOf(out) == "":
		out["type"] = "string"
	}
}

func kindOf(v any) string {
	switch v := v.(type) {
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	}
	return "string"
}
