package reply

import "context"

// Journal keeps a reply's delivery state durable and fenced. The gateway
// implements it over the session's lease.
type Journal interface {
	// Save stores the state. It is called before each first send, when the
	// sent message's id is known, and at the final; never per edit.
	Save(ctx context.Context, state State) error
}

// State is the delivery state of one reply, JSON in the journal.
type State struct {
	Run   string `json:"run"`
	Parts []Part `json:"parts,omitempty"`
	// Final is set once the whole text is known.
	Final bool `json:"final,omitempty"`
	// Done is set when every part is delivered as Final says, or was given up.
	Done bool `json:"done,omitempty"`
}

// Part is one platform message of a reply.
type Part struct {
	ID      string  `json:"id,omitempty"` // the platform's; empty until known
	Nonce   string  `json:"nonce"`
	Outcome Outcome `json:"outcome"`
	Hash    string  `json:"hash,omitempty"` // of the text last known to be there
}

// Outcome of a part's first send.
type Outcome string

// The outcomes. A part begins as Sending.
const (
	Sending  Outcome = "sending"
	Sent     Outcome = "sent"
	Rejected Outcome = "rejected"
	Unknown  Outcome = "unknown"
)
