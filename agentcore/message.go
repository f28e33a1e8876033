package agentcore

import (
	"encoding/json"
	"time"
)

// Role says who a message is from.
type Role string

// The roles a model is shown. A program may keep messages of other roles in
// its transcript; the default [Config.ConvertToLLM] leaves them out.
const (
	RoleUser       Role = "user"
	RoleAssistant  Role = "assistant"
	RoleToolResult Role = "toolResult"
)

// Message is one entry of a transcript. A finished message is immutable: it is
// shared by pointer between the loop, its hooks, stores and provider caches, so
// change a copy.
type Message struct {
	// ID is unique, and sortable by creation where [Config.NewID] makes it so.
	// Providers key their encoding caches by it.
	ID      string
	Role    Role
	Content []Block
	Time    time.Time

	// Of assistant messages.

	// Model names what wrote the message; signatures and ids are replayed to
	// the same model only.
	Model ModelRef
	Stop  StopReason
	// Error is set when Stop is StopError or StopAborted.
	Error *Error
	Usage Usage

	// Of tool results.

	ToolCallID string
	ToolName   string
	IsError    bool
	// Details is for people and programs; the model never sees it.
	Details json.RawMessage
}

// Text returns the text blocks of m joined by newlines.
func (m *Message) Text() string {
	var out []byte
	n := 0
	for _, b := range m.Content {
		if t, ok := b.(Text); ok {
			if n > 0 {
				out = append(out, '\n')
			}
			out = append(out, t.Text...)
			n++
		}
	}
	return string(out)
}

// ToolCalls returns the tool calls of m in order.
func (m *Message) ToolCalls() []ToolCall {
	var calls []ToolCall
	for _, b := range m.Content {
		if c, ok := b.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// ModelRef identifies a model as configured: the provider's name in the
// configuration, the wire format it speaks, and the vendor's model id.
type ModelRef struct {
	Provider string `json:"provider,omitempty"`
	Format   string `json:"format,omitempty"`
	ID       string `json:"id,omitempty"`
}

// String returns "provider/model".
func (r ModelRef) String() string {
	if r.Provider == "" {
		return r.ID
	}
	return r.Provider + "/" + r.ID
}

// StopReason says why an assistant message ended.
type StopReason string

// Only a message that ended with StopToolUse dispatches its tool calls.
const (
	StopEnd     StopReason = "stop"
	StopToolUse StopReason = "toolUse"
	StopLength  StopReason = "length" // cut by max tokens
	StopPause   StopReason = "pause"  // the vendor asks to be called again to go on
	StopRefusal StopReason = "refusal"
	StopError   StopReason = "error"
	StopAborted StopReason = "aborted"
)

// Usage counts tokens of one model call. Input excludes what the cache served
// or stored.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"` // thinking included
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
	// Cost is what that cost, in billionths of a US dollar; 0 where it cost
	// nothing or nobody has counted.
	Cost int64 `json:"cost,omitempty"`
}

// Total is the size of the context after the call.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Cost + v.Cost}
}
