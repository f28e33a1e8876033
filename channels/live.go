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
	// Error is set on a run_end that did not end well.
	Error string `json:"error,omitempty"`
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
