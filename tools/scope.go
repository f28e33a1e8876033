package tools

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"clawbot/agentcore"
)

// ExecuteFunc runs a call; see [agentcore.Tool]. [ScopeOf] tells it where it
// runs.
type ExecuteFunc func(ctx context.Context, call agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error)

// Scope is where a call runs: for whom, and in which workspace. The gateway
// puts it into the context of every call.
type Scope struct {
	Session string
	Agent   string
	// Sender is the lowest-ranked person whose message is in the run.
	Sender string
	// Role is "owner" or the sender's role.
	Role string
	// Workspace is what file tools may touch. The gateway opens and closes it.
	Workspace *os.Root
	// Dir is the workspace's absolute path, for processes.
	Dir string
	// Conversation is nil where there is nobody to talk to.
	Conversation Conversation
	// Memory and History are the person's own; nil where nobody is known.
	Memory  Memory
	History History
}

// Conversation is what a tool may do to the chat it runs in.
type Conversation interface {
	// SendFile sends a file to the chat.
	SendFile(ctx context.Context, name, mimeType string, r io.Reader) error
	// Schedule sets, lists or cancels reminders and recurring tasks: spec is a
	// [ScheduleRequest], the answer a [ScheduleAnswer]. An error says why nothing
	// was changed, for the model.
	Schedule(ctx context.Context, spec json.RawMessage) (json.RawMessage, error)
}

// ErrNoWorkspace is returned by file tools that run without a workspace.
var ErrNoWorkspace = errors.New("this conversation has no workspace")

type scopeKey struct{}

// WithScope returns a context that carries the scope.
func WithScope(ctx context.Context, s *Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeOf returns the scope of a call; an empty one outside of a run.
func ScopeOf(ctx context.Context) *Scope {
	if s, ok := ctx.Value(scopeKey{}).(*Scope); ok {
		return s
	}
	return &Scope{}
}
