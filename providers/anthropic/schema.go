package anthropic

import (
	"bytes"
	"encoding/json"

	"clawbot/agentcore"
	"clawbot/providers"
)

// inputSchema returns a tool's schema as the API takes it: the root must be an
// object, and may not be a union.
func inputSchema(t agentcore.ToolSpec) []byte {
	raw := providers.Schema(t)
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil {
		return providers.Schema(agentcore.ToolSpec{})
	}
	changed := false
	for _, key := range []string{"anyOf", "oneOf", "allOf", "$schema", "$id"} {
		if _, ok := root[key]; ok {
			delete(root, key)
			changed = true
		}
	}
	if string(bytes.TrimSpace(root["type"])) != `"object"` {
		root["type"] = json.RawMessage(`"object"`)
		changed = true
	}
	if !changed {
		var out bytes.Buffer
		if json.Compact(&out, raw) == nil {
			return out.Bytes()
		}
	}
	return providers.AppendJSON(nil, root)
}
