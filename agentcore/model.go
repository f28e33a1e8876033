package agentcore

import (
	"context"
	"encoding/json"
	"iter"
)

// Model streams one assistant message.
//
// Stream yields events until [StreamDone] or an error, which ends the stream;
// errors are *[Error] values, classified. Nothing is sent before the sequence
// is ranged over. Breaking out of the range or cancelling ctx closes the
// connection before Stream's iteration returns. A Model is safe for concurrent
// use; a sequence is used once.
type Model interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error]
}

// Describer is implemented by models that know what they are. Decorators pass
// it through.
type Describer interface {
	Info() ModelInfo
}

// ModelInfo describes a model. A zero number means unknown.
type ModelInfo struct {
	Ref       ModelRef
	Window    int64 // context window, tokens
	MaxOutput int64 // tokens
	Images    bool  // takes images
	Documents bool  // takes PDFs
	Thinking  bool
	// Price is what it costs now; nil when unknown.
	Price *Price
	// Prices are what it has cost and will cost, the oldest first; empty where
	// there is only Price. See [ModelInfo.PriceAt].
	Prices []Price
}

// Request is everything a model call depends on. Models must not change it or
// anything it points to.
type Request struct {
	// Session is a stable key of the conversation, a hint for prompt caches.
	Session  string
	System   string
	Messages []*Message
	// Tools may be empty while Messages hold tool calls; a format that then
	// wants the tools declared declares them from the calls.
	Tools []ToolSpec
	// ToolChoice is "" (auto), "none", "any", or a tool's name.
	ToolChoice  string
	MaxTokens   int64 // 0: the provider's default
	Temperature *float64
	Thinking    ThinkingLevel
}

// ToolSpec is what a model is told of a tool.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
}

// ThinkingLevel asks a model to reason before it answers.
type ThinkingLevel string

// The levels; the zero value is off.
const (
	ThinkingOff    ThinkingLevel = ""
	ThinkingLow    ThinkingLevel = "low"
	ThinkingMedium ThinkingLevel = "medium"
	ThinkingHigh   ThinkingLevel = "high"
)

// StreamEventType tells the events of a model's stream apart.
type StreamEventType uint8

const (
	// StreamText appends Delta to the text block at Index.
	StreamText StreamEventType = iota + 1
	// StreamThinking appends Delta to the thinking block at Index.
	StreamThinking
	// StreamToolCall opens the tool call at Index; ID and Name are set as far
	// as they are known, and a later StreamToolCall at the same Index fills in
	// what was missing.
	StreamToolCall
	// StreamArguments appends Delta to the arguments of the call at Index.
	StreamArguments
	// StreamBlockEnd finishes the block at Index. If Block is not nil, it
	// replaces what the deltas built (signatures arrive this way).
	StreamBlockEnd
	// StreamRestart throws away everything streamed so far: the call is being
	// retried.
	StreamRestart
	// StreamDone is the last event; Stop, Usage and Model are set.
	StreamDone
)

// StreamEvent is one step of a model's stream. It is passed by value so that a
// delta costs no allocation beyond its text.
type StreamEvent struct {
	Type StreamEventType
	// Index numbers content blocks from 0 in the order they should appear. A
	// block begins with the first event that names its index; indexes never
	// skip, and blocks may interleave.
	Index int
	Delta string

	ID, Name string // StreamToolCall

	Block Block // StreamBlockEnd

	Stop  StopReason // StreamDone
	Usage Usage      // StreamDone
	Model ModelRef   // StreamDone: who answered
}
