package modeltest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The wire formats.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Google    = "google"
	Mistral   = "mistral"
)

// Request is a request as the server understood it, the same for all formats.
type Request struct {
	Number int // from 1, in the order of arrival
	Format string
	Path   string
	Header http.Header
	Body   json.RawMessage // as it came
	At     time.Time

	Model     string
	System    string
	Messages  []Message
	Tools     []Tool // those that may be called
	Stream    bool
	MaxTokens int64

	wantsUsage bool // OpenAI's stream_options.include_usage
}

// Message is one message. A tool's result is a message of role "tool" in every
// format.
type Message struct {
	Role       string // user, assistant, tool
	Text       string
	Thinking   string
	Calls      []Call
	Images     int
	ToolCallID string
	IsError    bool
}

// Tool is a tool as the model was told of it.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Last returns the last message; the zero value if there is none.
func (r *Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// LastUser returns the text of the last user message.
func (r *Request) LastUser() string {
	for _, v := range slices.Backward(r.Messages) {
		if v.Role == "user" {
			return v.Text
		}
	}
	return ""
}

// Result returns the text of the result of a tool call.
func (r *Request) Result(callID string) (string, bool) {
	for _, m := range r.Messages {
		if m.Role == "tool" && m.ToolCallID == callID {
			return m.Text, true
		}
	}
	return "", false
}

// Mentions tells whether any message contains text.
func (r *Request) Mentions(text string) bool {
	for _, m := range r.Messages {
		if strings.Contains(m.Text, text) {
			return true
		}
	}
	return false
}

// Requests returns what was asked so far, in order of arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// WaitRequest waits for the next request that no WaitRequest has returned yet.
func (s *Server) WaitRequest(ctx context.Context) (*Request, error) {
	for {
		s.mu.Lock()
		if s.seen < len(s.requests) {
			r := s.requests[s.seen]
			s.seen++
			s.mu.Unlock()
			return r, nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// note numbers a request and remembers it.
func (s *Server) note(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	r.Number = s.count
	if s.cfg.Lean {
		return
	}
	s.requests = append(s.requests, r)
	close(s.changed)
	s.changed = make(chan struct{})
}
