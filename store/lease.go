package store

import (
	"context"
	"time"
)

// Lease is the right to write one session. Everything that is fenced is here
// and nowhere else; a lease that was lost fails every call with [ErrFenced]. It
// is safe for concurrent use, but transcript writes are made by one goroutine.
type Lease interface {
	Session() string
	// Start is the session as it was when the lease was acquired.
	Start() Start

	// Load returns the live transcript from position from on: with from at or
	// below the latest summary's position, the summary entry and the kept
	// tail, older summaries left out; otherwise the entries from from. Behind
	// the tail it is ErrGap.
	Load(ctx context.Context, from int64) (Transcript, error)
	// Peek forgets the signals before position signalsBefore and returns what
	// waits.
	Peek(ctx context.Context, signalsBefore int64) (Waiting, error)
	// Drain moves up to max messages (0: all) whose inbox position is below
	// before (0: any) into the transcript at position first and returns them
	// as entries: of KindUser, with the event's id and data and the time of its
	// acceptance. If that position is already taken by an earlier, identical
	// drain, it returns what was moved then. ErrOpenCall while a call is open.
	Drain(ctx context.Context, first int64, max int, before int64) ([]Entry, error)
	// Append writes entries at position first, in one step. Entries that are
	// there already, with the same ids, are a success. Summaries are written by
	// Compact only. ErrGap, ErrConflict, ErrOpenCall.
	Append(ctx context.Context, first int64, entries []Entry) error
	// Intent records that the call is about to run and reports whether it
	// already was recorded by an earlier tenure, in which case a call that is
	// not idempotent must not run. It is durable as Accept is. A call that is
	// not open is ErrConflict.
	Intent(ctx context.Context, call string) (before bool, err error)
	// SetReply stores the state of the reply being delivered. While it is
	// Open, the session can't be released.
	SetReply(ctx context.Context, reply Reply) error
	// Compact appends summary at position first; from now on the live
	// transcript is the summary and the entries from keepFrom on, which lies
	// neither before the last one's nor beyond first+1. ErrOpenCall while a
	// call is open.
	Compact(ctx context.Context, first int64, summary Entry, keepFrom int64) error
	// Bury moves the queued messages at these inbox positions to the dead
	// letters. Positions where nothing is queued are passed over.
	Bury(ctx context.Context, positions []int64, reason string) error
	// Renew extends the lease and returns what waits, so that a lost hint
	// costs one interval.
	Renew(ctx context.Context) (Waiting, error)
	// ReleaseIfEmpty gives the lease up if no message or signal waits, no call
	// and no reply is open; otherwise it returns false and the lease is kept.
	ReleaseIfEmpty(ctx context.Context) (bool, error)
	// HandOff gives the lease up with work left: the session is due after
	// delay for whoever is quicker. crashed counts it as a crash.
	HandOff(ctx context.Context, delay time.Duration, crashed bool) error
}

// Start describes a session at acquisition.
type Start struct {
	Token      string // "epoch:nonce"
	Tail       int64  // next transcript position
	Generation int64
	// SummaryAt is the position of the latest summary entry, -1 if none.
	SummaryAt int64
	// Crashed is set when the previous holder neither released nor handed off.
	Crashed bool
	// Attempts counts crashed tenures since the transcript last grew by an
	// assistant entry or the session was released.
	Attempts int
	Reply    Reply
	// Intents are the open calls that an earlier tenure had begun to run.
	Intents []string
	// Signals is how many signals wait: they were sent before any message that
	// comes from now on.
	Signals int
}

// Transcript is the live part of a transcript, in order of positions. When a
// summary exists, it is the first entry.
type Transcript struct {
	Entries    []Entry
	Tail       int64
	Generation int64
}

// EntryKind is what the store must know of an entry to keep a transcript
// valid.
type EntryKind uint8

// The kinds of entries.
const (
	KindUser EntryKind = iota + 1
	KindAssistant
	KindToolResult
	KindSummary
	KindNote // shown in the history, not part of the model's conversation
)

// Entry is one position of a transcript. Data is opaque to the store, which
// keeps its own copy; what a store returns is shared and must not be modified.
type Entry struct {
	Position int64 // set by the store
	Kind     EntryKind
	ID       string // unique in the session; makes appends idempotent
	// Opens lists the ids of the tool calls that an assistant entry makes.
	Opens []string
	// Closes is the call that a tool result answers. A result for a call that
	// is not open is ErrConflict; a user or assistant entry while one is open
	// is ErrOpenCall.
	Closes string
	// KeepFrom is, for a summary, the first kept position.
	KeepFrom int64
	Token    string    // of the lease that wrote it; set by the store
	At       time.Time // set by the store if zero
	Data     []byte
	// Inbox is, for a drained message, its inbox position; -1 otherwise.
	Inbox int64
}

// Reply is the delivery state of one run's reply.
type Reply struct {
	Run  string // id of the run; empty: no reply yet
	Open bool   // something is still to be delivered
	Data []byte
}
