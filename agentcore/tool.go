package agentcore

import (
	"context"
	"encoding/json"
)

// Tool is something the model can do. It is a value: build it once and share
// it between loops, but do not change it after.
type Tool struct {
	Name        string // what the model calls; [A-Za-z0-9_-]{1,64}
	Label       string // what people see; Name when empty
	Description string // prose for the model
	// Schema is the JSON Schema (draft 4 to 2020-12) of the arguments, an
	// object. It is compiled once, on first use.
	Schema json.RawMessage
	Mode   ExecutionMode
	// Idempotent says that running the same call twice is the same as running
	// it once, so that a call interrupted by a crash may be repeated.
	Idempotent bool
	// PrepareArguments, if set, rewrites the raw arguments before validation.
	// Events and the transcript keep the original.
	PrepareArguments func(args json.RawMessage) (json.RawMessage, error)
	// Execute runs the call. It must return soon after ctx is cancelled. An
	// error becomes an error result that the model reads; a panic likewise.
	// update reports progress from any goroutine, never blocks, and is ignored
	// once Execute has returned; the latest report wins.
	Execute func(ctx context.Context, call Call, update func(Update)) (Result, error)
}

// ExecutionMode says whether a tool may run beside others of its batch.
type ExecutionMode uint8

const (
	// Parallel tools run at once.
	Parallel ExecutionMode = iota
	// Sequential makes the whole batch that contains the tool run one by one.
	Sequential
)

// Call is one invocation of a tool, its arguments validated and coerced.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

// Update is progress of a running tool: what there is so far, not a delta.
type Update struct {
	Content []Block
	Details json.RawMessage
}

// Result is what a tool returns. Content is for the model, Details for people
// and programs.
type Result struct {
	Content []Block
	Details json.RawMessage
	IsError bool
	// Terminate ends the run after the batch if every result of it says so.
	Terminate bool
}

// TextResult returns a result of one text block.
func TextResult(text string) Result { return Result{Content: []Block{Text{Text: text}}} }
