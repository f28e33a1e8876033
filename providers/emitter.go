package providers

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"clawbot/agentcore"
)

// maxAnswer bounds the text, thinking and arguments of one answer, in bytes. No
// vendor lets a model write an eighth of that; a model that never ends is cut
// off before it fills a chat.
const maxAnswer = 1 << 20

// maxParts bounds the blocks of one answer.
const maxParts = 1024

// Emitter yields a format's stream as [agentcore.StreamEvent] values. It gives
// blocks their index when they first have something to say, so that indexes
// never skip; joins characters that were split between deltas; gives calls an
// id where the server sent none, or one that the transcript already has; and
// bounds the answer. It is used on the one goroutine that ranges.
//
// Its methods report whether to go on: false once the consumer has stopped or
// an error was yielded.
type Emitter struct {
	// NewID makes the ids that the server left out; [NewCallID] if nil.
	NewID func() string

	client *Client
	req    *agentcore.Request
	yield  func(agentcore.StreamEvent, error) bool
	over   bool
	parts  []*Part
	next   int
	size   int
	calls  int
}

// Part is a block being streamed.
type Part struct {
	Kind agentcore.StreamEventType // StreamText, StreamThinking or StreamToolCall
	// Replace, if set before End, takes the place of what the deltas built.
	Replace agentcore.Block

	index    int // -1 until it has an event
	id, name string
	fixed    string // the id that is used, if the server's can't be
	join     Joiner
	ended    bool
}

// NewEmitter returns an emitter of the answer to req.
func NewEmitter(c *Client, req *agentcore.Request, yield func(agentcore.StreamEvent, error) bool) *Emitter {
	return &Emitter{client: c, req: req, yield: yield}
}

// Part begins a block, which shows nothing until it has a delta.
func (e *Emitter) Part(kind agentcore.StreamEventType) *Part {
	p := &Part{Kind: kind, index: -1}
	e.parts = append(e.parts, p)
	return p
}

// Calls returns how many tool calls were begun.
func (e *Emitter) Calls() int { return e.calls }

// Over reports that nothing more can be yielded.
func (e *Emitter) Over() bool { return e.over }

func (e *Emitter) emit(ev agentcore.StreamEvent) bool {
	if !e.over && !e.yield(ev, nil) {
		e.over = true
	}
	return !e.over
}

// Fail yields err, which ends the stream.
func (e *Emitter) Fail(err error) bool {
	if !e.over {
		e.over = true
		e.yield(agentcore.StreamEvent{}, err)
	}
	return false
}

// Delta appends delta to the text, the thinking or the arguments of p. Deltas
// of a part that has ended are dropped.
func (e *Emitter) Delta(p *Part, delta string) bool {
	if delta == "" || p.ended {
		return !e.over
	}
	if e.size += len(delta); e.size > maxAnswer || len(e.parts) > maxParts {
		return e.Fail(e.client.TooLong())
	}
	if delta = p.join.Next(delta); delta == "" {
		return !e.over
	}
	return e.delta(p, delta)
}

func (e *Emitter) delta(p *Part, delta string) bool {
	kind := p.Kind
	if kind == agentcore.StreamToolCall {
		if p.index < 0 && !e.Call(p, "", "") {
			return false
		}
		kind = agentcore.StreamArguments
	} else if p.index < 0 {
		p.index = e.next
		e.next++
	}
	return e.emit(agentcore.StreamEvent{Type: kind, Index: p.index, Delta: delta})
}

// Call begins the tool call p, or fills in its id or name; the first that is
// not empty stays.
func (e *Emitter) Call(p *Part, id, name string) bool {
	ev := agentcore.StreamEvent{Type: agentcore.StreamToolCall}
	if p.id == "" && id != "" {
		p.id, ev.ID = id, e.unique(p, id)
	}
	if p.name == "" && name != "" {
		p.name, ev.Name = name, name
	}
	if len(e.parts) > maxParts {
		return e.Fail(e.client.TooLong())
	}
	if p.index < 0 {
		p.index = e.next
		e.next++
		e.calls++
	} else if ev.ID == "" && ev.Name == "" {
		return !e.over
	}
	ev.Index = p.index
	return e.emit(ev)
}

// unique returns id, or another if a call of the transcript or of this answer
// has it already.
func (e *Emitter) unique(p *Part, id string) string {
	taken := false
	for _, other := range e.parts {
		taken = taken || other != p && (other.fixed == id || other.fixed == "" && other.id == id)
	}
	for i := 0; i < len(e.req.Messages) && !taken; i++ {
		if m := e.req.Messages[i]; m.Role == agentcore.RoleAssistant {
			for _, b := range m.Content {
				c, ok := b.(agentcore.ToolCall)
				taken = taken || ok && c.ID == id
			}
		}
	}
	if taken {
		p.fixed = e.newID()
		return p.fixed
	}
	return id
}

func (e *Emitter) newID() string {
	if e.NewID != nil {
		return e.NewID()
	}
	return NewCallID()
}

// ID returns the id that the call p has in the transcript.
func (p *Part) ID() string {
	if p.fixed != "" {
		return p.fixed
	}
	return p.id
}

// Name returns the name of the call p.
func (p *Part) Name() string { return p.name }

// NewCallID returns a new id for a tool call that came without one.
func NewCallID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return "call_" + hex.EncodeToString(b[:])
}

// MadeUp reports whether id is one of [NewCallID]'s, which no server knows.
func MadeUp(id string) bool {
	rest, ok := strings.CutPrefix(id, "call_")
	_, err := hex.DecodeString(rest)
	return ok && len(rest) == 24 && err == nil
}

// End finishes p. A call without an id gets one.
func (e *Emitter) End(p *Part) bool {
	if p.ended {
		return !e.over
	}
	p.ended = true
	if rest := p.join.Flush(); rest != "" && !e.delta(p, rest) {
		return false
	}
	if p.Kind == agentcore.StreamToolCall && p.id == "" {
		if !e.Call(p, e.newID(), "") {
			return false
		}
	}
	if p.index < 0 {
		if p.Replace == nil {
			return !e.over
		}
		p.index = e.next
		e.next++
	}
	return e.emit(agentcore.StreamEvent{Type: agentcore.StreamBlockEnd, Index: p.index, Block: p.Replace})
}

// Done ends every open part and then the stream.
func (e *Emitter) Done(stop agentcore.StopReason, usage agentcore.Usage) bool {
	for _, p := range e.parts {
		if !e.End(p) {
			return false
		}
	}
	done := e.emit(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: stop, Usage: usage, Model: e.client.info.Ref})
	e.over = true
	return done
}
