package agentcore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Unknown is a block of a type that this version does not know, kept so that a
// transcript written by a newer version survives being read and written by an
// older one. Nothing shows it and no model is sent it.
type Unknown struct {
	Type string
	Raw  json.RawMessage // the whole block, its type included
}

func (Unknown) isBlock() {}

// The JSON form of a message. Field names are those of the wire formats people
// know; zero fields are left out.
type messageJSON[B any] struct {
	ID         string          `json:"id,omitempty"`
	Role       Role            `json:"role"`
	Content    []B             `json:"content"`
	Time       time.Time       `json:"time,omitzero"`
	Model      ModelRef        `json:"model,omitzero"`
	Stop       StopReason      `json:"stop,omitempty"`
	Error      *errorJSON      `json:"error,omitempty"`
	Usage      Usage           `json:"usage,omitzero"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
	Details    json.RawMessage `json:"details,omitempty"`
}

type errorJSON struct {
	Class        ErrorClass `json:"class,omitempty"`
	Message      string     `json:"message"`
	User         string     `json:"user,omitempty"`
	Status       int        `json:"status,omitempty"`
	RetryAfterMS int64      `json:"retryAfterMs,omitempty"`
	Retryable    bool       `json:"retryable,omitempty"`
}

type blockJSON struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"` // text, document
	Thinking  string          `json:"thinking,omitempty"`
	Redacted  bool            `json:"redacted,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// ArgumentsBase64 holds arguments that are not even UTF-8.
	ArgumentsBase64 []byte `json:"argumentsBase64,omitempty"`
	MIMEType        string `json:"mimeType,omitempty"`
	Data            []byte `json:"data,omitempty"` // base64
	Ref             string `json:"ref,omitempty"`
	Signature       string `json:"signature,omitempty"`
}

// MarshalJSON encodes m with a type tag on each block: text, thinking, image,
// document or toolCall. A call's arguments are embedded as JSON where that
// keeps them byte for byte, and are otherwise a string that holds the model's
// text, so that malformed arguments survive too. The cause of Error is not
// kept beyond its text.
func (m *Message) MarshalJSON() ([]byte, error) {
	out := messageJSON[any]{
		ID: m.ID, Role: m.Role, Content: make([]any, 0, len(m.Content)), Time: m.Time,
		Model: m.Model, Stop: m.Stop, Usage: m.Usage,
		ToolCallID: m.ToolCallID, ToolName: m.ToolName, IsError: m.IsError, Details: m.Details,
	}
	for i, b := range m.Content {
		form, err := formOf(b)
		if err != nil {
			return nil, fmt.Errorf("encode message %s: block %d: %w", m.ID, i, err)
		}
		out.Content = append(out.Content, form)
	}
	if e := m.Error; e != nil {
		out.Error = &errorJSON{e.Class, e.Error(), e.User, e.Status, e.RetryAfter.Milliseconds(), e.Retryable}
	}
	if len(m.Details) > 0 && !json.Valid(m.Details) {
		out.Details, _ = json.Marshal(string(m.Details)) // a string always encodes
	}
	return encode(out)
}

// UnmarshalJSON decodes what MarshalJSON wrote. Blocks of unknown types become
// [Unknown]; unknown fields are ignored.
func (m *Message) UnmarshalJSON(data []byte) error {
	var in messageJSON[json.RawMessage]
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	*m = Message{
		ID: in.ID, Role: in.Role, Time: in.Time, Model: in.Model, Stop: in.Stop, Usage: in.Usage,
		ToolCallID: in.ToolCallID, ToolName: in.ToolName, IsError: in.IsError, Details: in.Details,
	}
	if e := in.Error; e != nil {
		m.Error = &Error{Class: e.Class, Message: e.Message, User: e.User, Status: e.Status,
			RetryAfter: time.Duration(e.RetryAfterMS) * time.Millisecond, Retryable: e.Retryable}
	}
	if len(in.Content) > 0 {
		m.Content = make([]Block, 0, len(in.Content))
	}
	for i, raw := range in.Content {
		b, err := decodeBlock(raw)
		if err != nil {
			return fmt.Errorf("decode message %s: block %d: %w", in.ID, i, err)
		}
		m.Content = append(m.Content, b)
	}
	return nil
}

// formOf returns what encoding/json is to make of a block.
func formOf(b Block) (any, error) {
	switch b := value(b).(type) {
	case Text:
		return &blockJSON{Type: "text", Text: &b.Text, Signature: b.Signature}, nil
	case Thinking:
		return &blockJSON{Type: "thinking", Thinking: b.Text, Redacted: b.Redacted, Signature: b.Signature}, nil
	case Image:
		return &blockJSON{Type: "image", MIMEType: b.MIMEType, Data: b.Data, Ref: b.Ref}, nil
	case Document:
		out := &blockJSON{Type: "document", Name: b.Name, MIMEType: b.MIMEType, Data: b.Data, Ref: b.Ref}
		if b.Text != "" {
			out.Text = &b.Text
		}
		return out, nil
	case ToolCall:
		out := &blockJSON{Type: "toolCall", ID: b.ID, Name: b.Name, Signature: b.Signature}
		switch {
		case len(b.Arguments) == 0:
		case !utf8.Valid(b.Arguments):
			out.ArgumentsBase64 = b.Arguments
		case embeddable(b.Arguments):
			out.Arguments = b.Arguments
		default:
			text, err := encode(string(b.Arguments))
			if err != nil {
				return nil, err
			}
			out.Arguments = text
		}
		return out, nil
	case Unknown:
		return b.Raw, nil
	case nil:
		return nil, fmt.Errorf("the block is nil")
	default:
		return nil, fmt.Errorf("blocks of type %T have no JSON form", b)
	}
}

func decodeBlock(raw json.RawMessage) (Block, error) {
	var in blockJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		// A newer type may give a known field another shape.
		var tag struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &tag) != nil || tag.Type == "" || knownBlock(tag.Type) {
			return nil, err
		}
		in.Type = tag.Type
	}
	switch in.Type {
	case "text":
		t := Text{Signature: in.Signature}
		if in.Text != nil {
			t.Text = *in.Text
		}
		return t, nil
	case "thinking":
		return Thinking{Text: in.Thinking, Signature: in.Signature, Redacted: in.Redacted}, nil
	case "image":
		return Image{MIMEType: in.MIMEType, Data: in.Data, Ref: in.Ref}, nil
	case "document":
		d := Document{Name: in.Name, MIMEType: in.MIMEType, Data: in.Data, Ref: in.Ref}
		if in.Text != nil {
			d.Text = *in.Text
		}
		return d, nil
	case "toolCall":
		args, err := decodeArguments(in)
		return ToolCall{ID: in.ID, Name: in.Name, Arguments: args, Signature: in.Signature}, err
	case "":
		return nil, fmt.Errorf("the block has no type")
	default:
		return Unknown{Type: in.Type, Raw: bytes.Clone(raw)}, nil
	}
}

func knownBlock(tag string) bool {
	switch tag {
	case "text", "thinking", "image", "document", "toolCall":
		return true
	}
	return false
}

func decodeArguments(in blockJSON) (json.RawMessage, error) {
	switch {
	case len(in.ArgumentsBase64) > 0:
		return in.ArgumentsBase64, nil
	case len(in.Arguments) > 0 && in.Arguments[0] == '"':
		var text string
		if err := json.Unmarshal(in.Arguments, &text); err != nil {
			return nil, err
		}
		return json.RawMessage(text), nil
	default:
		return in.Arguments, nil
	}
}

// embeddable reports whether raw comes out of encoding/json as it went in: an
// object or array, valid, without insignificant white space and without the
// characters that json.Marshal escapes for HTML.
func embeddable(raw json.RawMessage) bool {
	if raw[0] != '{' && raw[0] != '[' {
		return false
	}
	if bytes.ContainsAny(raw, "<>&\u2028\u2029") {
		return false
	}
	var compact bytes.Buffer
	return json.Compact(&compact, raw) == nil && compact.Len() == len(raw)
}

// encode is json.Marshal without the escaping of HTML.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// value returns the block that b points to, so that the rest of the package
// meets each type in one form only. A nil pointer becomes nil.
func value(b Block) Block {
	switch p := b.(type) {
	case *Text:
		return deref(p)
	case *Thinking:
		return deref(p)
	case *Image:
		return deref(p)
	case *Document:
		return deref(p)
	case *ToolCall:
		return deref(p)
	case *Unknown:
		return deref(p)
	}
	return b
}

func deref[B Block](p *B) Block {
	if p == nil {
		return nil
	}
	return *p
}
