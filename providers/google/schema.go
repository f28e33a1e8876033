package google

import (
	"bytes"
	"encoding/json"
	"slices"

	"clawbot/agentcore"
	"clawbot/providers"
)

// jsonSchema returns a tool's schema for parametersJsonSchema: an object, and
// without required members that it does not have. It is nil for a tool that
// takes no arguments.
func jsonSchema(t agentcore.ToolSpec) []byte {
	raw := providers.Schema(t)
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil {
		return nil
	}
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(root["properties"], &properties) // what is no object has no members
	if len(properties) == 0 && !openEnded(root) {
		return nil
	}
	changed := false
	for _, key := range []string{"$schema", "$id"} {
		if _, ok := root[key]; ok {
			delete(root, key)
			changed = true
		}
	}
	if string(bytes.TrimSpace(root["type"])) != `"object"` {
		root["type"] = json.RawMessage(`"object"`)
		changed = true
	}
	if kept, ghosts := existing(root["required"], properties); ghosts {
		changed = true
		if delete(root, "required"); len(kept) > 0 {
			root["required"] = providers.AppendJSON(nil, kept)
		}
	}
	if !changed {
		var out bytes.Buffer
		if json.Compact(&out, raw) == nil {
			return out.Bytes()
		}
	}
	return providers.AppendJSON(nil, root)
}

// openEnded reports whether a schema without properties takes members all the
// same.
func openEnded(root map[string]json.RawMessage) bool {
	for _, key := range []string{"anyOf", "oneOf", "allOf", "$ref", "patternProperties"} {
		if _, ok := root[key]; ok {
			return true
		}
	}
	more := bytes.TrimSpace(root["additionalProperties"])
	return len(more) > 0 && string(more) != "false"
}

// existing returns the names of required that are properties, and whether there
// were others.
func existing[V any](required json.RawMessage, properties map[string]V) (kept []string, ghosts bool) {
	if len(required) == 0 {
		return nil, false
	}
	var names []string
	if json.Unmarshal(required, &names) != nil {
		return nil, true
	}
	for _, name := range names {
		if _, ok := properties[name]; ok && !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept, len(kept) != len(names) || len(kept) == 0
}
