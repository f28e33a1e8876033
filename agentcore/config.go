package agentcore

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// Config is what a [Loop] runs with. Model is required; the zero value of
// everything else works. Hooks run on the goroutine that ranges over the run,
// one at a time; a hook that panics or fails ends the run with a typed error,
// or turns into an error result where it concerns one tool call.
type Config struct {
	Model    Model
	System   string
	Messages []*Message // the transcript before the run; not changed
	Tools    []*Tool
	// Session is passed to the model as Request.Session.
	Session     string
	MaxTokens   int64
	Temperature *float64
	Thinking    ThinkingLevel

	// MaxIterations bounds the model calls that may use tools; 0 means no
	// bound. When it is reached the run ends with an error of class ErrLimit,
	// after one call without tools that gives an account of what was done,
	// unless NoLimitSummary is set.
	MaxIterations  int
	NoLimitSummary bool
	// Timeout bounds the run; 0 means no bound. The clock stands still inside
	// [PauseTimeout].
	Timeout time.Duration
	// ToolExecution Sequential makes every batch sequential.
	ToolExecution ExecutionMode
	// MaxParallelTools bounds the tools that run at once; 0 means 8.
	MaxParallelTools int
	// MaxResultBytes bounds the text of one tool result that the model is
	// shown: of a longer one, head and tail are kept. 0 means 256 kB.
	MaxResultBytes int
	// LoopGuard ends the run, with an account of what was done, after this
	// many calls in a row that repeat an earlier call of the run and its
	// result; half way there the model is told. Asking for a tool that does
	// not exist counts whatever the arguments. 0 means 10, less than 0 never.
	LoopGuard int
	// Schemas keeps the tools' compiled schemas. Give loops that share tools
	// the same one; the default is one per loop.
	Schemas *Schemas
	// ContinueOnLength asks once for a continuation of a text that was cut by
	// max tokens.
	ContinueOnLength bool

	// ConvertToLLM turns the transcript into what the model sees. The default
	// keeps user, assistant and toolResult messages.
	ConvertToLLM func(messages []*Message) []*Message
	// TransformContext may replace the messages of one model call.
	TransformContext func(ctx context.Context, messages []*Message) ([]*Message, error)
	// BeforeToolCall runs after validation. It may block the call or replace
	// its arguments, which are then validated again.
	BeforeToolCall func(ctx context.Context, call Call) (BeforeResult, error)
	// AfterToolCall runs after every call that reached its tool.
	AfterToolCall func(ctx context.Context, call Call, result Result) (AfterResult, error)
	// ResolveDeferredTool finds a tool that was not declared. Nil, nil means
	// there is none; what it finds is visible to later turns.
	ResolveDeferredTool func(ctx context.Context, name string) (*Tool, error)
	// SteeringMessages returns messages to be seen by the next model call of
	// this run. It is polled before the first call, after every turn, between
	// the calls of a sequential batch, and last before the run ends. It is not
	// polled when no further call can be made, so nothing taken is ever lost.
	SteeringMessages func(ctx context.Context) ([]*Message, error)
	// FollowUpMessages returns messages for a run that would otherwise end.
	FollowUpMessages func(ctx context.Context) ([]*Message, error)
	// PrepareNextTurn may change the model, the context or the thinking level.
	PrepareNextTurn func(ctx context.Context, turn Turn) (*NextTurn, error)
	// ShouldStopAfterTurn ends the run when it returns true; steering is not
	// polled then and stays queued. It is not asked while a message that was
	// taken during a sequential batch has yet to be shown to the model.
	ShouldStopAfterTurn func(ctx context.Context, turn Turn) (bool, error)

	// NewID makes message ids; the default makes ULIDs.
	NewID  func() string
	Logger *slog.Logger // default: discard
}

// BeforeResult is what [Config.BeforeToolCall] decides.
type BeforeResult struct {
	Block  bool
	Reason string // shown to the model; default "Tool execution was blocked"
	// Arguments, if not nil, replace the call's arguments.
	Arguments json.RawMessage
}

// AfterResult overrides parts of a result; nil fields keep what was there.
type AfterResult struct {
	Content   *[]Block
	Details   *json.RawMessage
	IsError   *bool
	Terminate *bool
	// StopAfterBatch ends the run once the batch is done; pending messages
	// stay queued.
	StopAfterBatch bool
}

// Turn is a finished turn as hooks see it.
type Turn struct {
	Iteration int // model calls so far in this run
	Message   *Message
	Results   []*Message
	Messages  []*Message // the whole transcript; read only
}

// NextTurn replaces parts of the context from the next turn on; nil fields keep
// what was there.
type NextTurn struct {
	Model    Model
	System   *string
	Messages []*Message
	Tools    []*Tool
	Thinking *ThinkingLevel
}
