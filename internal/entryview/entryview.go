// Package entryview is how the pages get the entries of a transcript: without
// what only models read (thinking, signatures), without bytes of files, and
// bounded. The chat page and the operator's page share it, in Go and, as JSON,
// in the browser.
package entryview

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"clawbot/agentcore"
)

const (
	// MaxOutput is how much of a tool's output a page gets unasked, in bytes.
	MaxOutput = 16 << 10
	// maxArgument bounds one text among large arguments.
	maxArgument = 2 << 10
)

// Kind says what an entry of a transcript is.
type Kind string

// The kinds of entries.
const (
	User       Kind = "user"
	Assistant  Kind = "assistant"
	ToolResult Kind = "tool_result"
	// Summary stands for everything before it; an empty one began a new
	// conversation.
	Summary Kind = "summary"
	// Note is shown, but is no part of the model's conversation.
	Note Kind = "note"
)

// Entry is a transcript entry as a page gets it.
type Entry struct {
	Position int64     `json:"position"` // -1 unknown
	Kind     Kind      `json:"kind"`
	ID       string    `json:"id,omitempty"`
	EventID  string    `json:"event_id,omitempty"`
	At       time.Time `json:"at"`
	Text     string    `json:"text,omitempty"`
	// Cut is how many bytes of the text were left out.
	Cut   int      `json:"cut,omitempty"`
	Files []string `json:"files,omitempty"`
	// Note is, of a note, what it tells.
	Note string `json:"note,omitempty"`

	// Of assistant messages.
	Calls []Call           `json:"calls,omitempty"`
	Stop  string           `json:"stop,omitempty"`
	Error string           `json:"error,omitempty"`
	Model string           `json:"model,omitempty"`
	Usage *agentcore.Usage `json:"usage,omitempty"`

	// Of tool results.
	Call    string          `json:"call,omitempty"`
	Name    string          `json:"name,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Call is a tool call in an assistant message.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Of returns a message for a page; its position is not known. limit bounds tool
// output and arguments, in bytes; 0 is no bound.
func Of(m *agentcore.Message, limit int) Entry {
	if m == nil {
		return Entry{Position: -1}
	}
	v := Entry{Position: -1, ID: m.ID, At: m.Time, Text: m.Text(), Stop: string(m.Stop)}
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Image:
			v.Files = append(v.Files, "image ("+b.MIMEType+")")
		case agentcore.Document:
			v.Files = append(v.Files, b.Name)
		case agentcore.ToolCall:
			v.Calls = append(v.Calls, Call{ID: b.ID, Name: b.Name, Arguments: Arguments(b.Arguments, limit)})
		}
	}
	switch m.Role {
	case agentcore.RoleUser:
		v.Kind = User
	case agentcore.RoleToolResult:
		v.Kind = ToolResult
		v.Call, v.Name, v.IsError = m.ToolCallID, m.ToolName, m.IsError
		if limit == 0 || len(m.Details) <= limit {
			v.Details = m.Details
		}
		v.Text, v.Cut = cut(v.Text, limit)
	default:
		v.Kind = Assistant
		v.Model = m.Model.String()
		if m.Usage != (agentcore.Usage{}) {
			v.Usage = &m.Usage
		}
		if m.Error != nil {
			v.Error = m.Error.UserMessage()
		}
	}
	return v
}

// Arguments returns arguments that are valid JSON: what a model sent need
// not be. Long texts in large arguments are shortened.
func Arguments(args json.RawMessage, limit int) json.RawMessage {
	if len(args) == 0 {
		return nil
	}
	if !json.Valid(args) {
		text, _ := cut(string(args), limit)
		return quote(text)
	}
	if limit == 0 || len(args) <= limit {
		return args
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(args, &object) != nil {
		text, _ := cut(string(args), limit)
		return quote(text)
	}
	for key, value := range object {
		if len(value) <= maxArgument {
			continue
		}
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		head, more := cut(s, maxArgument)
		object[key] = quote(fmt.Sprintf("%s… (%d more bytes)", head, more))
	}
	short, err := json.Marshal(object)
	if err != nil || len(short) > 4*limit {
		text, _ := cut(string(args), limit)
		return quote(text)
	}
	return short
}

// cut shortens s to about limit bytes, at a character; 0 is no bound.
func cut(s string, limit int) (head string, more int) {
	if limit == 0 || len(s) <= limit {
		return s, 0
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit], len(s) - limit
}

func quote(s string) json.RawMessage {
	data, err := json.Marshal(strings.ToValidUTF8(s, "�"))
	if err != nil {
		return json.RawMessage(`""`)
	}
	return data
}
