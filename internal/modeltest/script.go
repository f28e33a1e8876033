package modeltest

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Script decides what the model answers. It is called once per request, from
// the request's goroutine; ctx ends with the request.
type Script func(ctx context.Context, req *Request) Turn

// Turn is one answer. The zero value is an empty one.
type Turn struct {
	// Thinking is streamed before the text.
	Thinking string
	Text     string
	// Chunk is how many characters a delta has; 0 sends each block in one.
	Chunk int
	// FirstAfter is the wait before the first byte, Pace that between deltas.
	FirstAfter, Pace time.Duration
	Calls            []Call
	// Fragment is how many bytes of arguments a delta has; 0 sends all in one.
	Fragment int
	// Stop overrides why the model stopped, in OpenAI's words (stop, tool_calls,
	// length, content_filter); they are translated for Anthropic.
	Stop string
	// Usage is what the call cost; counted from the texts if zero.
	Usage Usage

	// Status answers with an HTTP error and Message instead of a stream.
	Status  int
	Message string
	// RetryAfter goes with Status, in whole seconds.
	RetryAfter time.Duration

	// After is the number of deltas after which one of the following happens.
	After int
	// Hold waits until the channel is closed, then goes on.
	Hold <-chan struct{}
	// Cut closes the connection.
	Cut bool
	// Stall sends nothing more until the client gives up or the server closes.
	Stall bool
	// StreamError sends an error event in the stream and ends it.
	StreamError string
}

// Call is a tool call that the model makes.
type Call struct {
	// ID is made up if empty.
	ID        string
	Name      string
	Arguments string // sent as it is
}

// Usage counts tokens; Input includes what came from the cache.
type Usage struct {
	Input, Output, Cached int64
}

// Say is a turn of plain text.
func Say(text string) Turn { return Turn{Text: text, Chunk: 8} }

// Use is a turn of one tool call.
func Use(name, arguments string) Turn {
	return Turn{Calls: []Call{{Name: name, Arguments: arguments}}, Fragment: 5}
}

// Turns is a script that answers the nth request with the nth turn, whoever
// asks. A request too many is answered with an error that says so.
func Turns(turns ...Turn) Script {
	var mu sync.Mutex
	next := 0
	return func(context.Context, *Request) Turn {
		mu.Lock()
		defer mu.Unlock()
		if next >= len(turns) {
			return Turn{Status: 400, Message: fmt.Sprintf("modeltest: the script has %d turns, and this is request %d", len(turns), next+1)}
		}
		next++
		return turns[next-1]
	}
}

// Always is a script that gives every request the same turn.
func Always(turn Turn) Script {
	return func(context.Context, *Request) Turn { return turn }
}
