package repair

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"iter"

	"clawbot/agentcore"
)

// Wrap returns a model that turns calls written as text by inner into tool
// calls. It passes on what inner says of itself. Without tools in a request it
// does nothing.
func Wrap(inner agentcore.Model) agentcore.Model { return &model{inner} }

type model struct{ inner agentcore.Model }

var _ agentcore.Describer = (*model)(nil)

// Info describes the inner model.
func (m *model) Info() agentcore.ModelInfo {
	if d, ok := m.inner.(agentcore.Describer); ok {
		return d.Info()
	}
	return agentcore.ModelInfo{}
}

// Stream streams inner's answer, its text filtered.
func (m *model) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	if len(req.Tools) == 0 || req.ToolChoice == "none" {
		return m.inner.Stream(ctx, req)
	}
	return func(yield func(agentcore.StreamEvent, error) bool) {
		s := &stream{yield: yield, known: newToolset(req.Tools)}
		s.reset()
		defer func() { s.filter.close() }()
		for ev, err := range m.inner.Stream(ctx, req) {
			if err != nil {
				if s.letGo() {
					yield(ev, err)
				}
				return
			}
			if !s.event(ev) {
				return
			}
		}
	}
}

// stream is one answer passing through. Its methods return false when the
// consumer has stopped.
type stream struct {
	yield  func(agentcore.StreamEvent, error) bool
	known  *toolset
	filter *filter
	// text is the index of the block whose text the filter has; -1 if none.
	text int
	// queue has the events that came after held text, in order.
	queue []agentcore.StreamEvent
	next  int  // the first index that was not shown
	calls bool // the model made a call in the proper way
	// shown is how much of the text block's text was shown, in bytes; hidden
	// says that the rest never will be.
	shown  int
	hidden bool
}

func (s *stream) reset() {
	if s.filter != nil {
		s.filter.close()
	}
	s.filter = newFilter(s.known)
	s.text, s.queue, s.next, s.calls, s.shown, s.hidden = -1, nil, 0, false, 0, false
}

func (s *stream) event(ev agentcore.StreamEvent) bool {
	switch ev.Type {
	case agentcore.StreamText:
		return s.add(ev)
	case agentcore.StreamRestart:
		s.reset()
		return s.yield(ev, nil)
	case agentcore.StreamDone:
		return s.done(ev)
	case agentcore.StreamToolCall:
		s.calls = true
	}
	if s.filter.holds() {
		s.queue = append(s.queue, ev)
		return true
	}
	return s.emit(ev)
}

// add filters a text delta. Text of another block can't continue a section:
// what the earlier block still held is let go first.
func (s *stream) add(ev agentcore.StreamEvent) bool {
	if ev.Index != s.text {
		if s.filter.holds() && !s.letGo() {
			return false
		}
		s.text, s.shown = ev.Index, 0
	}
	if ev.Delta = s.filter.add(ev.Delta); ev.Delta == "" {
		return true
	}
	s.shown += len(ev.Delta)
	if !s.emit(ev) {
		return false
	}
	return s.filter.holds() || s.emitQueue()
}

// letGo shows everything that is held, in order.
func (s *stream) letGo() bool {
	if text := s.filter.flush(); text != "" && s.text >= 0 {
		s.shown += len(text)
		if !s.emit(agentcore.StreamEvent{Type: agentcore.StreamText, Index: s.text, Delta: text}) {
			return false
		}
	}
	return s.emitQueue()
}

func (s *stream) emitQueue() bool {
	queue := s.queue
	s.queue = nil
	for _, ev := range queue {
		if !s.emit(ev) {
			return false
		}
	}
	return true
}

// emit passes an event on. A finished text block loses what stays hidden.
func (s *stream) emit(ev agentcore.StreamEvent) bool {
	if text, ok := ev.Block.(agentcore.Text); ok && ev.Index == s.text && (s.hidden || s.filter.dropping) && s.shown < len(text.Text) {
		if s.shown == 0 && text.Signature == "" {
			return true // the block was never begun
		}
		text.Text = text.Text[:s.shown]
		ev.Block = text
	}
	s.next = max(s.next, ev.Index+1)
	return s.yield(ev, nil)
}

// done promotes what is held or lets it go, and ends the stream.
func (s *stream) done(ev agentcore.StreamEvent) bool {
	if ev.Stop == agentcore.StopLength && s.filter.section != nil && s.filter.section.named {
		s.filter.close() // a call that was cut is neither run nor shown
		s.hidden = true
	}
	if ev.Stop != agentcore.StopEnd || s.calls {
		return s.letGo() && s.yield(ev, nil)
	}
	calls, text := s.filter.end()
	s.hidden = s.hidden || len(calls) > 0
	if text != "" && s.text >= 0 {
		s.shown += len(text)
		if !s.emit(agentcore.StreamEvent{Type: agentcore.StreamText, Index: s.text, Delta: text}) {
			return false
		}
	}
	if !s.emitQueue() {
		return false
	}
	for _, c := range calls {
		if !s.promote(c) {
			return false
		}
	}
	if len(calls) > 0 {
		ev.Stop = agentcore.StopToolUse
	}
	return s.yield(ev, nil)
}

func (s *stream) promote(c call) bool {
	i := s.next
	id := newCallID()
	return s.emit(agentcore.StreamEvent{Type: agentcore.StreamToolCall, Index: i, ID: id, Name: c.name}) &&
		s.emit(agentcore.StreamEvent{Type: agentcore.StreamArguments, Index: i, Delta: string(c.args)}) &&
		s.emit(agentcore.StreamEvent{Type: agentcore.StreamBlockEnd, Index: i})
}

func newCallID() string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	return "call_" + hex.EncodeToString(random[:])
}
