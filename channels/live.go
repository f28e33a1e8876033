package channels

import (
	"encoding/json"
	"time"
)

// LiveTopic is the topic on which a session's live events are published.
func LiveTopic(session string) string { return "live:" + session }

// LiveEvent is one step of a run as shown while it happens, JSON on the bus.
// Live events are hints: whoever misses some (Seq skips, or Offset does not
// match what it has) reads the transcript again from Position.
type LiveEvent struct {
	// Type is one of: accepted, run_start, message, text, thinking, text_reset,
	// tool_start, tool_update, tool_end, approval, notice, run_end, reset.
	Type string    `json:"type"`
	Run  string    `json:"run,omitempty"`
	Seq  int64     `json:"seq"` // counts within the run, from 1
	At   time.Time `json:"at"`

	// Position is the transcript's tail after a message was appended.
	Position int64 `json:"position,omitempty"`
	// Message is the finished message (message), as agentcore encodes it.
	Message json.RawMessage `json:"message,omitempty"`
	// Text is a delta at byte Offset of the open assistant message's text, or
	// a notice's Markdown, or why the run ended (run_end).
	Text   string `json:"text,omitempty"`
	Offset int    `json:"offset,omitempty"`

	Call *LiveCall `json:"call,omitempty"`
	// Approval is set on an approval. It belongs to no run's sequence, and may
	// come again while it is pending.
	Approval *LiveApproval `json:"approval,omitempty"`
	// Error is set on a run_end that did not end well.
	Error string `json:"error,omitempty"`
}

// LiveApproval is a call that waits, or waited, for a person. A decision is a
// click ([Inbound] of kind Click) with the data "approve:ID", "deny:ID" or
// "always:ID", or the command /approve ID, /deny ID, /approve ID always.
type LiveApproval struct {
	ID      string    `json:"id"`
	Tool    string    `json:"tool"`
	Label   string    `json:"label"`
	Show    string    `json:"show"`            // exactly what would happen, plain text
	Where   string    `json:"where,omitempty"` // the directory
	Reason  string    `json:"reason,omitempty"`
	Always  bool      `json:"always,omitempty"` // may be allowed for good
	Expires time.Time `json:"expires"`
	// State is pending, approve, always, deny, expired or withdrawn.
	State   string `json:"state"`
	Decider string `json:"decider,omitempty"`
}

// LiveCall is a tool call as shown.
type LiveCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Label     string          `json:"label,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Output    string          `json:"output,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	MS        int64           `json:"ms,omitempty"`
}
