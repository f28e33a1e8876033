package mistral

import (
	"strconv"

	"clawbot/agentcore"
	"clawbot/providers"
)

// idTable gives the calls of one transcript their ids on the wire: nine
// alphanumerics, each call its own. A call keeps its id if it can; the first to
// come has it. The same transcript gives the same ids, and so does its prefix.
type idTable struct {
	wires map[string]string // of the latest call of an id
	taken map[string]bool
}

// begin gives the calls of an assistant's step their ids, and reports whether
// all of them got the usual one.
func (t *idTable) begin(s *providers.Step) (usual bool) {
	usual = true
	if s.NoCalls {
		return usual
	}
	content := s.Message.Content
	for i, b := range content {
		call, ok := b.(agentcore.ToolCall)
		if !ok || called(content[:i], call.ID) {
			continue
		}
		if t.wires == nil {
			t.wires, t.taken = map[string]string{}, map[string]bool{}
		}
		wire := providers.ShortID(call.ID)
		for n := 2; t.taken[wire]; n++ {
			wire = providers.ShortID(call.ID + "#" + strconv.Itoa(n))
			usual = false
		}
		t.wires[call.ID], t.taken[wire] = wire, true
	}
	return usual
}

// called reports whether a call among blocks has id; the second of one message
// is not sent.
func called(blocks []agentcore.Block, id string) bool {
	for _, b := range blocks {
		if c, ok := b.(agentcore.ToolCall); ok && c.ID == id {
			return true
		}
	}
	return false
}

// usual reports whether id has the wire id that it would have anywhere.
func (t *idTable) usual(id string) bool { return t.wires[id] == providers.ShortID(id) }

// wire returns the wire id of the latest call with this id.
func (t *idTable) wire(id string) string { return t.wires[id] }
