package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/gateway/schedule"
	"clawbot/store"
)

// recordVersion is written into everything that the gateway stores. A process
// that meets a newer one leaves the session to whoever understands it.
const recordVersion = 1

// newID returns a ULID: unique, and sortable by creation.
func newID() string { return ulid.Make().String() }

// inbound is a person's message as it waits in the inbox and, moved by Drain,
// stands in the transcript.
type inbound struct {
	V int `json:"v"`
	// ID follows the message through every log line and is the id of its
	// message in the transcript.
	ID    string     `json:"id"`
	Event string     `json:"event"`
	Key   string     `json:"key,omitempty"`
	Kind  recordKind `json:"kind,omitempty"`

	Channel string          `json:"channel"`
	Target  channels.Target `json:"target"`
	Sender  channels.Sender `json:"sender"`
	Role    string          `json:"role,omitempty"`

	Text        string                `json:"text,omitempty"`
	Attachments []channels.Attachment `json:"attachments,omitempty"`
	Quote       string                `json:"quote,omitempty"`
	Group       string                `json:"group,omitempty"`
	Unfinished  bool                  `json:"unfinished,omitempty"`
	Room        string                `json:"room,omitempty"`
	Overheard   []overheard           `json:"overheard,omitempty"`
	At          time.Time             `json:"at"`
	// With are others whose rights limit a scheduled task, Schedule is what it is
	// an occurrence of.
	With     []channels.Sender `json:"with,omitempty"`
	Schedule *schedule.Item    `json:"schedule,omitempty"`
	// Counted is the reservation among the runs at once that the message made.
	Counted string `json:"counted,omitempty"`

	// Inbox is its inbox position, known once it was drained; of what stands for
	// several, that of the last.
	Inbox int64 `json:"inbox,omitempty"`

	// changed is set for an edit or deletion whose original had left the inbox.
	changed bool
	// position in the transcript.
	position int64
	// files is what became of Attachments; nil while nobody has read them.
	files []file
}

// recordKind tells inbound records apart; the zero value is a message.
type recordKind string

const (
	kindEdit     recordKind = "edit"
	kindDelete   recordKind = "delete"
	kindSchedule recordKind = "schedule" // an occurrence of a schedule
	kindDropped  recordKind = "dropped"  // stands for messages beyond the cap
	kindLost     recordKind = "lost"     // stands for one that can't be read
)

// quiet says that the record alone is no reason to run: it changes a message
// that was answered, or is being answered, already.
func (r *inbound) quiet() bool { return r.changed || r.Kind == kindLost }

// signal is what does not wait behind messages.
type signal struct {
	V       int             `json:"v"`
	ID      string          `json:"id"`
	Kind    signalKind      `json:"kind"`
	Channel string          `json:"channel"`
	Target  channels.Target `json:"target"`
	Sender  channels.Sender `json:"sender"`
	// Approval and Decision are of a person's decision on a call.
	Approval string   `json:"approval,omitempty"`
	Decision decision `json:"decision,omitempty"`
}

type signalKind string

const (
	signalStop  signalKind = "stop"
	signalReset signalKind = "reset"
	// signalDecide decides on a call that waits for an approval.
	signalDecide signalKind = "decide"
	// signalCompact asks for a summary once nothing else is to be done.
	signalCompact signalKind = "compact"
)

// payload is what an assistant, tool result, note or summary entry holds.
type payload struct {
	V       int                `json:"v"`
	Run     string             `json:"run,omitempty"`
	Agent   string             `json:"agent,omitempty"` // who speaks, where there are several
	Message *agentcore.Message `json:"m,omitempty"`
	Note    *note              `json:"note,omitempty"`
	Summary string             `json:"summary,omitempty"`
	// Of a summary that was made during a run: what the run had said, and whose
	// messages, without their texts, it was answering.
	Said    []segment  `json:"said,omitempty"`
	Pending []*inbound `json:"pending,omitempty"`
	// damaged is set for what stands for a record that can't be read.
	damaged bool
	// Used is, in a summary, what all model calls before it took.
	Used agentcore.Usage `json:"used,omitzero"`
	// Since is, in a summary, where the conversation that it sums up began.
	Since int64 `json:"since,omitempty"`
	// Last is, in a summary, the latest message before it: where answers go.
	Last *inbound `json:"last,omitempty"`
}

// note is an event of the session that people see in its history.
type note struct {
	Kind noteKind `json:"kind"`
	Text string   `json:"text,omitempty"` // as it was told, Markdown
	// Final covers every message before it that had no answer yet.
	Final bool `json:"final,omitempty"`
	// Before is, of a stop, the inbox position it was sent at: what came later,
	// but was drained before the stop was known, is not covered. 0: all is.
	Before int64 `json:"before,omitempty"`
	// Files is what became of one message's attachments.
	Files []file `json:"files,omitempty"`
}

type noteKind string

const (
	noteStopped noteKind = "stopped"
	noteFailed  noteKind = "failed"
	noteEnded   noteKind = "ended"   // a run that ended without a closing text
	noteFiles   noteKind = "files"   // what was attached to a message
	noteResumed noteKind = "resumed" // an answer broke off; the next one goes on
)

// decodeInbound reads a drained message or one that waits.
func decodeInbound(data []byte) (*inbound, error) {
	var r inbound
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("decode an inbox record: %w", err)
	}
	if r.V > recordVersion {
		return nil, newerError(r.V)
	}
	return &r, nil
}

func decodeSignal(data []byte) (*signal, error) {
	var r signal
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("decode a signal: %w", err)
	}
	if r.V > recordVersion {
		return nil, newerError(r.V)
	}
	return &r, nil
}

// endsRun reports whether a signal ends the run that it finds. One that can't
// be read does, so that it is looked at.
func endsRun(data []byte) bool {
	sig, err := decodeSignal(data)
	return err != nil || sig.Kind != signalCompact
}

func decodePayload(data []byte) (*payload, error) {
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("decode a transcript entry: %w", err)
	}
	if p.V > recordVersion {
		return nil, newerError(p.V)
	}
	return &p, nil
}

// newerError is returned for what a later version of this program wrote.
type newerError int

func (e newerError) Error() string {
	return fmt.Sprintf("written by a newer clawbot (record version %d, this one reads up to %d): update this replica", int(e), recordVersion)
}

// encode never fails for the types above, but a message may hold raw JSON that
// a tool made up.
func encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return data, nil
}

// userRecord reads a user entry and settles whether it changes a message that
// had left the inbox: an edit that found its original queued took its place and
// is a message like any other.
func userRecord(e store.Entry) (*inbound, error) {
	r, err := decodeInbound(e.Data)
	if _, newer := errors.AsType[newerError](err); newer {
		return nil, err
	}
	if err != nil {
		return lost(e), nil
	}
	r.position = e.Position
	if e.Inbox >= 0 {
		r.Inbox = e.Inbox
	}
	r.changed = (r.Kind == kindEdit || r.Kind == kindDelete) && e.ID == r.Event
	return r, nil
}
