package agentcore

import "encoding/json"

// Block is one piece of a message's content: [Text], [Thinking], [Image],
// [Document] or [ToolCall].
type Block interface{ isBlock() }

// Text is visible text, usually Markdown.
type Text struct {
	Text string
	// Signature is opaque vendor data to be returned with the block to the
	// model that wrote it.
	Signature string
}

// Thinking is what a model reasoned before it answered. It is not shown.
type Thinking struct {
	Text      string
	Signature string
	// Redacted thinking has no readable text; Signature carries the vendor's
	// encrypted form.
	Redacted bool
}

// Image is a picture from a user or a tool. Data may be empty while Ref names a
// blob that holds the bytes; whoever calls the model resolves it first.
type Image struct {
	MIMEType string
	Data     []byte
	Ref      string
}

// Document is a file that a model may take natively (a PDF). Data and Ref are
// as in [Image].
type Document struct {
	Name     string
	MIMEType string
	Data     []byte
	Ref      string
	// Text is shown in the document's place to a model that does not take it, or
	// when Data is not there.
	Text string
}

// ToolCall asks for a tool to be run.
type ToolCall struct {
	// ID pairs the call with its result. It is unique within a transcript.
	ID   string
	Name string
	// Arguments is what the model sent, unchanged: usually a JSON object, so
	// integers keep all their digits. It is not valid JSON when the model's
	// text was cut or malformed; such a call is never executed.
	Arguments json.RawMessage
	// Signature is opaque vendor data (Gemini's thought signature).
	Signature string
}

func (Text) isBlock()     {}
func (Thinking) isBlock() {}
func (Image) isBlock()    {}
func (Document) isBlock() {}
func (ToolCall) isBlock() {}
