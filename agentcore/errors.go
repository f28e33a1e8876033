package agentcore

import (
	"errors"
	"time"
)

// ErrorClass says what a caller can do about an error.
type ErrorClass string

// The classes. Providers classify vendor errors; the loop adds its own limits.
const (
	ErrUnknown         ErrorClass = ""
	ErrNetwork         ErrorClass = "network"          // connection refused, reset, DNS, TLS, proxy, idle timeout
	ErrRateLimited     ErrorClass = "rate_limited"     // 429
	ErrOverloaded      ErrorClass = "overloaded"       // 5xx, 529, overloaded in the stream
	ErrAuth            ErrorClass = "auth"             // 401, 403: a key is missing, blank or wrong
	ErrQuota           ErrorClass = "quota"            // paid quota or credit is spent
	ErrContextOverflow ErrorClass = "context_overflow" // the request is longer than the model's window
	ErrNotFound        ErrorClass = "not_found"        // no such model or URL
	ErrBadRequest      ErrorClass = "bad_request"      // the vendor refused the request
	ErrBadResponse     ErrorClass = "bad_response"     // the stream ended early or was no stream of this format
	ErrRefused         ErrorClass = "refused"          // the model or a safety filter declined
	ErrEmpty           ErrorClass = "empty"            // the answer had neither text nor calls
	ErrLimit           ErrorClass = "limit"            // max iterations, timeout, loop guard, budget
	ErrAborted         ErrorClass = "aborted"          // the context was cancelled
	ErrPanic           ErrorClass = "panic"            // a hook, tool or model panicked
	ErrHook            ErrorClass = "hook"             // a hook failed
)

// Error is how a run, a turn or a model call failed.
type Error struct {
	Class ErrorClass
	// Message is for an operator: what failed, and which setting to change.
	// It holds no secret.
	Message string
	// User is for the person in the chat; when empty, Message serves.
	User string
	// Status is the HTTP status, if there was one.
	Status int
	// RetryAfter is how long the vendor asked to wait; 0 when it did not say.
	RetryAfter time.Duration
	// Retryable says that the same call may succeed if made again.
	Retryable bool
	// Err is the cause, if there is one.
	Err error
}

// Error returns Message, or the cause's text when Message is empty.
func (e *Error) Error() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// UserMessage returns what to tell the person in the chat.
func (e *Error) UserMessage() string {
	if e.User != "" {
		return e.User
	}
	return e.Error()
}

// ClassOf returns the class of the first *Error in err's chain.
func ClassOf(err error) ErrorClass {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ErrUnknown
}

// The preconditions that Run, Continue and the methods of Agent check. They are
// the only errors a loop yields as its second value.
var (
	ErrNoMessages    = errors.New("Cannot continue: no messages in context")
	ErrFromAssistant = errors.New("Cannot continue from message role: assistant")
	ErrRunning       = errors.New("the agent is already running: use Steer or FollowUp")
	ErrNotRunning    = errors.New("the agent is not running: use Prompt")
	ErrNoModel       = errors.New("Cannot run: the configuration has no model")
)
