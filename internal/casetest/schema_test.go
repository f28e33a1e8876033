package casetest

import (
	"encoding/json"
	"testing"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Schema runs cases of one tool's schema on the adapter, as it sends tools by
// itself and, for formats that have it, in strict mode.
func (runner) Schema(t *testing.T, c Case) {
	var in struct {
		Tool struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	decode(t, c.Input, &in)
	for _, strict := range []bool{false, true} {
		model, ok := newModel(t, c.Meta.Provider, providers.Config{Compat: providers.Compat{Strict: &strict, LegacyParameters: &strict}}, "m1")
		if !ok {
			missing(t, c)
			return
		}
		checkInvariants(t, c, toolsOf(t, model, agentcore.ToolSpec{Name: in.Tool.Name, Description: in.Tool.Description, Schema: in.Tool.Parameters}))
	}
}

// toolsOf returns the tools of a request's body.
func toolsOf(t *testing.T, model wireModel, tool agentcore.ToolSpec) []byte {
	t.Helper()
	var body struct{ Tools json.RawMessage }
	decode(t, model.Request(&agentcore.Request{Tools: []agentcore.ToolSpec{tool}}).Bytes(), &body)
	if len(body.Tools) == 0 {
		t.Fatal("the tool is not sent")
	}
	return body.Tools
}
