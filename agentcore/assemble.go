package agentcore

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// maxBlocks bounds the blocks of one assistant message, so that a wild index
// in a stream costs nothing. Events beyond it are dropped.
const maxBlocks = 4096

// Assembler builds an assistant message from the events of a model's stream.
// Each delta costs O(delta); texts are made into strings once. The zero value
// is ready. It is not safe for concurrent use.
type Assembler struct {
	blocks []partialBlock
	// dropped counts the calls that Finish removed.
	dropped int
}

type partialBlock struct {
	kind     StreamEventType // StreamText, StreamThinking, StreamToolCall; 0: not begun
	text     []byte          // of text or thinking, or the arguments of a call; its memory is used again
	id, name string
	final    Block // what StreamBlockEnd said
}

// maxKeptText is how large a buffer may be that waits for the next message.
const maxKeptText = 16 << 10

// Reset forgets everything that was added.
func (a *Assembler) Reset() {
	for i := range a.blocks {
		text := a.blocks[i].text
		if cap(text) > maxKeptText {
			text = nil
		}
		a.blocks[i] = partialBlock{text: text[:0]}
	}
	a.blocks = a.blocks[:0]
	a.dropped = 0
}

// Add takes one event. StreamRestart starts over; StreamDone is given to
// [Assembler.Finish] instead and ignored here, as is an event that does not
// fit its block.
func (a *Assembler) Add(ev StreamEvent) {
	switch ev.Type {
	case StreamText, StreamThinking:
		if b := a.at(ev.Index, ev.Type); b != nil {
			b.write(ev.Delta)
		}
	case StreamToolCall:
		if b := a.at(ev.Index, StreamToolCall); b != nil {
			if b.id == "" {
				b.id = ev.ID
			}
			if b.name == "" {
				b.name = ev.Name
			}
		}
	case StreamArguments:
		if b := a.at(ev.Index, StreamToolCall); b != nil {
			b.write(ev.Delta)
		}
	case StreamBlockEnd:
		a.end(ev)
	case StreamRestart:
		a.Reset()
	}
}

func (b *partialBlock) write(delta string) {
	if b.text == nil {
		b.text = make([]byte, 0, max(len(delta), 64)) // most deltas are a word
	}
	b.text = append(b.text, delta...)
}

// at returns the block at index if it takes events of kind, beginning it when
// it is new.
func (a *Assembler) at(index int, kind StreamEventType) *partialBlock {
	if index < 0 || index >= maxBlocks {
		return nil
	}
	a.grow(index)
	b := &a.blocks[index]
	if b.kind == 0 {
		b.kind = kind
	}
	if b.kind != kind || b.final != nil {
		return nil
	}
	return b
}

// grow makes room for a block at index.
func (a *Assembler) grow(index int) {
	for index >= len(a.blocks) {
		if n := len(a.blocks); n < cap(a.blocks) {
			a.blocks = a.blocks[:n+1] // with the buffer of the message before
		} else {
			a.blocks = append(a.blocks, partialBlock{})
		}
	}
}

func (a *Assembler) end(ev StreamEvent) {
	final := value(ev.Block)
	if final == nil || ev.Index < 0 || ev.Index >= maxBlocks {
		return
	}
	a.grow(ev.Index)
	a.blocks[ev.Index].final = final
}

// Partial returns what has been streamed so far as an assistant message that
// ended with stop because of err. Its tool calls, which will never run, are
// left out.
func (a *Assembler) Partial(stop StopReason, err *Error) *Message {
	content, _ := a.content()
	return &Message{Role: RoleAssistant, Content: withoutCalls(content), Stop: stop, Error: err}
}

// Finish returns the message that the StreamDone event done ends, and decides
// what dispatches: the message has tool calls if and only if its Stop is
// StopToolUse. A stop with nothing but complete calls is a tool use, because
// servers send that; calls of a message that ended for any other reason are
// removed. An end with neither text nor calls has Stop StopError and an error
// of class ErrEmpty.
//
// Calls without an id, or with one that an earlier call of the message has,
// get another; empty arguments become {}.
func (a *Assembler) Finish(done StreamEvent) *Message {
	content, calls := a.content()
	m := &Message{Role: RoleAssistant, Content: content, Stop: done.Stop, Usage: done.Usage, Model: done.Model}
	if m.Stop == "" {
		m.Stop = StopEnd
	}
	switch {
	case m.Stop == StopToolUse && calls == 0:
		m.Stop = StopEnd
	case m.Stop == StopEnd && calls > 0 && complete(content):
		m.Stop = StopToolUse
	}
	if m.Stop == StopToolUse {
		identify(content)
		return m
	}
	if m.Stop == StopError || m.Stop == StopAborted {
		m.Error = &Error{Class: ErrBadResponse, Message: "the model's answer failed without saying why"}
	}
	if calls > 0 {
		a.dropped = calls
		m.Content = withoutCalls(content)
	}
	if m.Stop == StopEnd && !hasText(m.Content) {
		m.Stop = StopError
		m.Error = &Error{Class: ErrEmpty, Retryable: true, Message: "the model ended its turn with neither text nor a tool call",
			User: "The model gave an empty answer. Please try again, or say it differently."}
		if calls > 0 {
			m.Error.Message = "the model ended its turn with a tool call that is not complete JSON"
		}
	}
	return m
}

// content makes the blocks, without those that hold nothing, and counts calls.
func (a *Assembler) content() (content []Block, calls int) {
	content = make([]Block, 0, len(a.blocks))
	for i := range a.blocks {
		b := &a.blocks[i]
		switch {
		case b.final != nil:
			call, ok := b.final.(ToolCall)
			if !ok {
				content = append(content, b.final)
				continue
			}
			call.Arguments = unquoted(call.Arguments)
			content = append(content, call)
			calls++
		case b.kind == StreamText && len(b.text) > 0:
			content = append(content, Text{Text: string(b.text)})
		case b.kind == StreamThinking && len(b.text) > 0:
			content = append(content, Thinking{Text: string(b.text)})
		case b.kind == StreamToolCall:
			content = append(content, ToolCall{ID: b.id, Name: b.name, Arguments: unquoted(append(json.RawMessage(nil), b.text...))})
			calls++
		}
	}
	return content, calls
}

// unquoted undoes arguments that a server has encoded twice: a JSON string that
// holds an object. Whatever else they are, they stay.
func unquoted(args json.RawMessage) json.RawMessage {
	if text := bytes.TrimSpace(args); len(text) > 0 && text[0] == '"' {
		var inner string
		if json.Unmarshal(text, &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") && json.Valid([]byte(inner)) {
			return json.RawMessage(inner)
		}
	}
	return args
}

// complete reports whether every call has a name and arguments that are one
// JSON object, or none at all.
func complete(content []Block) bool {
	for _, b := range content {
		call, ok := b.(ToolCall)
		if !ok {
			continue
		}
		args := bytes.TrimSpace(call.Arguments)
		if call.Name == "" || len(args) > 0 && (args[0] != '{' || !json.Valid(args)) {
			return false
		}
	}
	return true
}

// identify gives every call an id of its own and arguments.
func identify(content []Block) {
	for i, b := range content {
		call, ok := b.(ToolCall)
		if !ok {
			continue
		}
		changed := false
		if len(bytes.TrimSpace(call.Arguments)) == 0 {
			call.Arguments, changed = json.RawMessage("{}"), true
		}
		if base := call.ID; base == "" || hasCall(content[:i], base) {
			if base == "" {
				base = "call"
			}
			for n := i; call.ID == "" || hasCall(content, call.ID); n++ {
				call.ID = base + "_" + strconv.Itoa(n)
			}
			changed = true
		}
		if changed {
			content[i] = call
		}
	}
}

func hasCall(content []Block, id string) bool {
	for _, b := range content {
		if call, ok := b.(ToolCall); ok && call.ID == id {
			return true
		}
	}
	return false
}

func hasText(content []Block) bool {
	for _, b := range content {
		if t, ok := b.(Text); ok && strings.TrimSpace(t.Text) != "" {
			return true
		}
	}
	return false
}

func withoutCalls(content []Block) []Block {
	kept := make([]Block, 0, len(content))
	for _, b := range content {
		if _, ok := b.(ToolCall); !ok {
			kept = append(kept, b)
		}
	}
	return kept
}
