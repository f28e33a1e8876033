package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"clawbot/agentcore"
)

const (
	// maxOutput is how much of a tool's output a page gets unasked, in bytes.
	maxOutput = 16 << 10
	// maxArgument bounds one text among large arguments.
	maxArgument = 2 << 10
)

// entryView is a transcript entry as the page gets it: without what only
// models read (thinking, signatures) and without bytes of files.
type entryView struct {
	Position int64     `json:"position"`
	Kind     EntryKind `json:"kind"`
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
	Calls []callView       `json:"calls,omitempty"`
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

// callView is a tool call in an assistant message.
type callView struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// viewEntry returns e for the page. limit bounds tool output and arguments; 0
// is no bound.
func viewEntry(e *Entry, limit int) entryView {
	v := viewMessage(e.Message, limit)
	v.Position, v.Kind, v.EventID, v.Note = e.Position, e.Kind, e.EventID, e.Note
	if !e.At.IsZero() {
		v.At = e.At
	}
	return v
}

// viewMessage returns a message for the page; its position is not known.
func viewMessage(m *agentcore.Message, limit int) entryView {
	if m == nil {
		return entryView{Position: -1}
	}
	v := entryView{Position: -1, ID: m.ID, At: m.Time, Text: m.Text(), Stop: string(m.Stop)}
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Image:
			v.Files = append(v.Files, "image ("+b.MIMEType+")")
		case agentcore.Document:
			v.Files = append(v.Files, b.Name)
		case agentcore.ToolCall:
			v.Calls = append(v.Calls, callView{ID: b.ID, Name: b.Name, Arguments: viewArguments(b.Arguments, limit)})
		}
	}
	switch m.Role {
	case agentcore.RoleUser:
		v.Kind = EntryUser
	case agentcore.RoleToolResult:
		v.Kind = EntryToolResult
		v.Call, v.Name, v.IsError = m.ToolCallID, m.ToolName, m.IsError
		if limit == 0 || len(m.Details) <= limit {
			v.Details = m.Details
		}
		v.Text, v.Cut = cut(v.Text, limit)
	default:
		v.Kind = EntryAssistant
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

// viewArguments returns arguments that are valid JSON: what a model sent need
// not be. Long texts in large arguments are shortened.
func viewArguments(args json.RawMessage, limit int) json.RawMessage {
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
