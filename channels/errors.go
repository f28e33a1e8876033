package channels

import (
	"errors"
	"fmt"
	"time"
)

// Outcome of a write that failed.
type Outcome uint8

const (
	// Unknown says that the message may have arrived. Never send it again blindly.
	Unknown Outcome = iota
	// Rejected says that the platform refused it; it did not arrive.
	Rejected
	// RateLimited says that it was refused for now; try again after RetryAfter.
	RateLimited
)

// Reason tells why a write was rejected, where a caller acts on it.
type Reason string

// The reasons.
const (
	ReasonOther     Reason = ""
	ReasonGone      Reason = "gone"      // the message to edit does not exist any more
	ReasonForbidden Reason = "forbidden" // the bot was removed, blocked or lacks a right
	ReasonTooLong   Reason = "too_long"
	ReasonMigrated  Reason = "migrated" // the chat has a new id: To
	ReasonAuth      Reason = "auth"     // the token is not valid any more
)

// SendError is how a Post or Edit failed.
type SendError struct {
	Outcome    Outcome
	Reason     Reason
	RetryAfter time.Duration
	// Global is set when the limit is not this conversation's alone.
	Global bool
	To     string // ReasonMigrated: the new chat
	Err    error
}

func (e *SendError) Error() string {
	switch e.Outcome {
	case RateLimited:
		return fmt.Sprintf("rate limited for %s: %v", e.RetryAfter, e.Err)
	case Rejected:
		return fmt.Sprintf("rejected: %v", e.Err)
	default:
		return fmt.Sprintf("outcome unknown: %v", e.Err)
	}
}

// Unwrap returns the platform's error.
func (e *SendError) Unwrap() error { return e.Err }

// OutcomeOf returns the outcome that err carries; an error that is not a
// *SendError is Unknown.
func OutcomeOf(err error) Outcome {
	if e, ok := errors.AsType[*SendError](err); ok {
		return e.Outcome
	}
	return Unknown
}
