package gateway

import (
	"context"
	"time"

	"clawbot/agentcore"
	"clawbot/channels/reply"
)

// Observer is told what a gateway does, for metrics. Its methods are called on
// the goroutines that do it, so they must be quick and safe for concurrent use.
type Observer interface {
	// Accepted is told of every message and command that a person sent.
	Accepted(channel string, what Acceptance)
	// Waited tells how long a message was in the inbox before it was taken in.
	Waited(channel string, d time.Duration)
	// Run is told that a run begins, and returns who sees it.
	Run(session, channel string) RunObserver
	// Delivered tells what a reply asked of the platform, once it is complete or,
	// if given up is set, will never be.
	Delivered(channel string, stats reply.Stats, givenUp bool)
}

// RunObserver sees one run, on the run's goroutine.
type RunObserver interface {
	// Event is called with every event before the loop goes on, but of a
	// message's deltas only with the first: they are many.
	Event(ev agentcore.Event)
	// End is called once. Class is empty unless outcome is RunFailed.
	End(outcome RunOutcome, class agentcore.ErrorClass)
}

// ContextObserver is a [RunObserver] that adds to the context of what the run
// calls, a trace for one.
type ContextObserver interface {
	// Context returns what the run's calls of models and tools get, on the run's
	// goroutine and before any: ctx with values of the observer's own. It may be
	// called again, with the same ids: those that the log has of the run, and of
	// the message that it answers.
	Context(ctx context.Context, run, message string) context.Context
}

// Acceptance is what became of something that a person sent.
type Acceptance string

// The acceptances.
const (
	AcceptedMessage   Acceptance = "message"
	AcceptedCommand   Acceptance = "command"
	AcceptedDuplicate Acceptance = "duplicate" // the platform delivered it again
	AcceptedRefused   Acceptance = "refused"   // the sender may not speak here
	AcceptedFailed    Acceptance = "failed"    // the store did not take it; the platform delivers it again
)

// RunOutcome is how a run ended.
type RunOutcome string

// The outcomes.
const (
	RunAnswered    RunOutcome = "answered"
	RunFailed      RunOutcome = "failed"      // told to the person
	RunStopped     RunOutcome = "stopped"     // by a person
	RunInterrupted RunOutcome = "interrupted" // in favour of a newer message
	RunHandedOff   RunOutcome = "handed_off"  // taken up by another process
	RunLost        RunOutcome = "lost"        // the store failed or the lease was lost; taken up again
)

// blind is the observer where none is configured.
type blind struct{}

func (blind) Accepted(string, Acceptance)          {}
func (blind) Waited(string, time.Duration)         {}
func (blind) Run(string, string) RunObserver       { return blind{} }
func (blind) Delivered(string, reply.Stats, bool)  {}
func (blind) Event(agentcore.Event)                {}
func (blind) End(RunOutcome, agentcore.ErrorClass) {}

// Load is how much a gateway has to do at this moment.
type Load struct {
	// Active sessions are worked on here: each is a lease.
	Active int
	// Running of them count against Config.MaxRuns.
	Running int
	// InLine sessions wait for one of them to end, the first for LineAge.
	InLine  int
	LineAge time.Duration
	// Due sessions were free for anybody to take when the sweep looked last, the
	// first for DueAge.
	Due    int
	DueAge time.Duration
}

// Load tells how much there is to do.
func (g *Gateway) Load() Load {
	l := g.dispatch.load()
	l.Due, l.DueAge = g.due.age()
	return l
}
