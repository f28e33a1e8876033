package modeltest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

// wire writes one format's events into a buffer.
type wire interface {
	begin(b []byte) []byte
	thinking(b []byte, delta string) []byte
	text(b []byte, delta string) []byte
	call(b []byte, index int, c Call) []byte
	arguments(b []byte, index int, delta string) []byte
	// blockEnd comes after each block.
	blockEnd(b []byte) []byte
	end(b []byte, stop string, u Usage) []byte
	fail(b []byte, text string) []byte
	// whole is the answer to a request that asked for no stream.
	whole(turn Turn, stop string, u Usage) any
}

// answer writes a turn in the request's format.
func answer(ctx context.Context, w http.ResponseWriter, req *Request, turn Turn) {
	turn.Calls = slices.Clone(turn.Calls) // a script may give the same turn to many
	for i := range turn.Calls {
		if turn.Calls[i].ID == "" {
			turn.Calls[i].ID = fmt.Sprintf("call_%d_%d", req.Number, i+1)
			if req.Format == Mistral {
				turn.Calls[i].ID = fmt.Sprintf("c%06d%02d", req.Number%1e6, (i+1)%100)
			}
		}
	}
	var format wire = &openAIWire{req: req, id: fmt.Sprintf("chatcmpl-%d", req.Number)}
	switch req.Format {
	case Anthropic:
		format = &anthropicWire{req: req, usage: turn.Usage}
	case Google:
		format = &googleWire{req: req}
	}
	stop, usage := turn.outcome(req)
	if !req.Stream {
		writeJSON(w, 200, format.whole(turn, stop, usage))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	s := &stream{ctx: ctx, w: w, control: http.NewResponseController(w), format: format, turn: turn}
	defer s.close()
	s.run(stop, usage)
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler) // an orderly end would look like a whole answer
	}
}

// outcome fills in what the turn leaves open.
func (t Turn) outcome(req *Request) (stop string, u Usage) {
	stop, u = t.Stop, t.Usage
	if stop == "" {
		stop = "stop"
		if len(t.Calls) > 0 {
			stop = "tool_calls"
		}
	}
	if u == (Usage{}) {
		u = Usage{Input: int64(len(req.Body)/4 + 1), Output: int64((len(t.Text)+len(t.Thinking))/4 + 1)}
	}
	return stop, u
}

// stream writes one answer, delta by delta.
type stream struct {
	ctx     context.Context
	w       http.ResponseWriter
	control *http.ResponseController
	format  wire
	turn    Turn
	buf     []byte
	deltas  int
	timer   *time.Timer
}

func (s *stream) close() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

func (s *stream) run(stop string, usage Usage) {
	s.buf = s.format.begin(s.buf)
	ok := s.turn.After > 0 || s.incident()
	ok = ok && s.block(s.turn.Thinking, s.turn.Chunk, s.format.thinking) && s.block(s.turn.Text, s.turn.Chunk, s.format.text)
	for i, c := range s.turn.Calls {
		if !ok {
			return
		}
		s.buf = s.format.call(s.buf, i, c)
		ok = s.block(c.Arguments, s.turn.Fragment, func(b []byte, delta string) []byte {
			return s.format.arguments(b, i, delta)
		})
		if ok && c.Arguments == "" {
			s.buf = s.format.blockEnd(s.buf)
		}
	}
	if ok && s.incident() { // planned for later than the last delta
		s.buf = s.format.end(s.buf, stop, usage)
		s.flush()
	}
}

// block sends a text in deltas of size characters, then the block's end.
func (s *stream) block(text string, size int, add func([]byte, string) []byte) bool {
	if text == "" {
		return true
	}
	for text != "" {
		n := cut(text, size)
		s.buf = add(s.buf, text[:n])
		text = text[n:]
		if !s.step() {
			return false
		}
	}
	s.buf = s.format.blockEnd(s.buf)
	return true
}

// cut returns the byte length of the first size characters; all for 0.
func cut(text string, size int) int {
	if size <= 0 {
		return len(text)
	}
	n := 0
	for ; size > 0 && n < len(text); size-- {
		_, w := utf8.DecodeRuneInString(text[n:])
		n += w
	}
	return n
}

// step sends what is ready and waits for the next delta.
func (s *stream) step() bool {
	s.deltas++
	if !s.flush() {
		return false
	}
	if s.deltas == s.turn.After && !s.incident() {
		return false
	}
	s.wait()
	return s.ctx.Err() == nil
}

// incident does what the turn has planned for this point, once; it returns
// false when the stream is over.
func (s *stream) incident() bool {
	t := s.turn
	s.turn.Hold, s.turn.Cut, s.turn.Stall, s.turn.StreamError = nil, false, false, ""
	if t.Hold != nil || t.Cut || t.Stall || t.StreamError != "" {
		s.flush()
	}
	switch {
	case t.Hold != nil:
		select {
		case <-t.Hold:
		case <-s.ctx.Done():
			return false
		}
	case t.Cut:
		panic(http.ErrAbortHandler)
	case t.Stall:
		<-s.ctx.Done()
		return false
	case t.StreamError != "":
		s.buf = s.format.fail(s.buf, t.StreamError)
		s.flush()
		return false
	}
	return true
}

func (s *stream) flush() bool {
	if len(s.buf) == 0 {
		return true
	}
	_, err := s.w.Write(s.buf)
	s.buf = s.buf[:0]
	return err == nil && s.control.Flush() == nil
}

func (s *stream) wait() {
	if s.turn.Pace <= 0 {
		return
	}
	if s.timer == nil {
		s.timer = time.NewTimer(s.turn.Pace)
	} else {
		s.timer.Reset(s.turn.Pace)
	}
	select {
	case <-s.timer.C:
	case <-s.ctx.Done():
	}
}
