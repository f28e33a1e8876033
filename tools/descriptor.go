package tools

import (
	"encoding/json"

	"clawbot/agentcore"
)

// Descriptor says what a tool is, apart from what runs it.
type Descriptor struct {
	Name         string // [A-Za-z0-9_-]{1,64}
	Title        string
	Description  string // prose for the model
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	Owner        Owner
	// Executor is nil for a tool that is only described; such a tool must be
	// hidden.
	Executor     *Executor
	Availability *Availability // nil: always
	Annotations  map[string]string
	SortKey      string // default: Name
}

// OwnerKind tells the kinds of owners and executors apart.
type OwnerKind string

// The kinds.
const (
	Core    OwnerKind = "core"
	Plugin  OwnerKind = "plugin"
	Channel OwnerKind = "channel"
	MCP     OwnerKind = "mcp"
)

// Owner is who brought a tool. ID is the plugin's, channel's or server's id;
// empty for core.
type Owner struct {
	Kind OwnerKind `json:"kind"`
	ID   string    `json:"id,omitempty"`
}

// String returns "core" or "kind:id".
func (o Owner) String() string {
	if o.ID == "" {
		return string(o.Kind)
	}
	return string(o.Kind) + ":" + o.ID
}

// Executor names what runs a tool: the owner's id and its own name for it.
type Executor struct {
	Kind OwnerKind
	ID   string
	Name string
}

// Tool is a descriptor with the means to run it.
type Tool struct {
	Descriptor
	// Label is what people see; default Title, then Name.
	Label      string
	Mode       agentcore.ExecutionMode
	Idempotent bool
	Prepare    func(args json.RawMessage) (json.RawMessage, error)
	Execute    ExecuteFunc
	// Judge decides which calls a person must approve; nil leaves it to the
	// configuration alone. Execute must refuse what Judge would not let pass.
	Judge JudgeFunc
	// Telling picks the argument worth showing to people in one line.
	Telling func(args json.RawMessage) string
}
