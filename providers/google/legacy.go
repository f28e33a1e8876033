package google

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// resolved follows a reference within the schema; a circle ends with the bound
// of depth.
func (s *sanitizer) resolved(in map[string]any, depth int) map[string]any {
	for range maxSchemaDepth - depth + 1 {
		ref, ok := in["$ref"].(string)
		if !ok {
			return in
		}
		target, ok := s.lookup(ref)
		if !ok {
			break
		}
		next := maps.Clone(target)
		for key, value := range in {
			if key != "$ref" {
				next[key] = value
			}
		}
		in = next
	}
	next := maps.Clone(in)
	delete(next, "$ref")
	return next
}

func (s *sanitizer) lookup(ref string) (map[string]any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	var at any = s.root
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		node, ok := at.(map[string]any)
		if step == "" {
			continue
		}
		if !ok {
			return nil, false
		}
		at = node[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	node, ok := at.(map[string]any)
	return node, ok
}

// merged takes the members of allOf into one schema.
func (s *sanitizer) merged(in map[string]any, depth int) map[string]any {
	all, ok := in["allOf"].([]any)
	if !ok {
		return in
	}
	out := maps.Clone(in)
	delete(out, "allOf")
	for _, v := range all {
		part, ok := v.(map[string]any)
		if s.nodes++; !ok || s.nodes > maxSchemaNodes || depth > maxSchemaDepth {
			continue
		}
		for key, value := range s.merged(s.resolved(part, depth), depth+1) {
			switch before := out[key].(type) {
			case nil:
				out[key] = value
			case map[string]any: // properties
				if more, ok := value.(map[string]any); ok && key == "properties" {
					both := maps.Clone(before)
					maps.Copy(both, more)
					out[key] = both
				}
			case []any: // required
				if more, ok := value.([]any); ok && key == "required" {
					out[key] = append(slices.Clone(before), more...)
				}
			}
		}
	}
	return out
}

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
