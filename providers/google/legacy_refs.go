package google

import (
	"maps"
	"slices"
	"strings"
)

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
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
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
