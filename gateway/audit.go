package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"clawbot/agentcore"
)

// AuditRecord is one line of who had what done. A call that runs has two: when
// it begins, and how it ended.
type AuditRecord struct {
	At      time.Time `json:"at"`
	Session string    `json:"session"`
	Channel string    `json:"channel"`
	Run     string    `json:"run"`
	// Message is the id that follows the message through the log.
	Message string `json:"message"`
	// Sender has the fewest rights of all whose messages led to the call.
	Sender string `json:"sender"`
	Role   string `json:"role"`
	Tool   string `json:"tool"`
	Call   string `json:"call"`
	// Arguments as the tool got them; of a call that never came to it, as the
	// model wrote them, a text if they are no JSON.
	Arguments json.RawMessage `json:"arguments"`
	// Approver decided about the call, if it took a person: an id, or "rule" for
	// what somebody approved for good.
	Approver string       `json:"approver,omitempty"`
	Decision string       `json:"decision,omitempty"`
	Outcome  AuditOutcome `json:"outcome"`
	// Detail says why a call was refused.
	Detail string `json:"detail,omitempty"`
	TookMS int64  `json:"took_ms,omitempty"`
}

// AuditOutcome is how far a call got.
type AuditOutcome string

// The outcomes.
const (
	AuditBegun     AuditOutcome = "begun"
	AuditOK        AuditOutcome = "ok"
	AuditError     AuditOutcome = "error"     // it ran, and failed
	AuditRefused   AuditOutcome = "refused"   // it did not run
	AuditCancelled AuditOutcome = "cancelled" // the run was stopped or handed off
)

var errAudit = errors.New("the call was not run, because it could not be written to the audit log; an operator must look at log.audit")

// trail collects what is known of one call for its audit record.
type trail struct {
	e      *environment
	ctx    context.Context // ends with the run
	call   agentcore.Call
	began  time.Time
	begun  bool
	back   bool // the tool has returned; otherwise it panicked
	ended  bool
	record AuditRecord
}

type trailKey struct{}

func trailOf(ctx context.Context) *trail {
	t, _ := ctx.Value(trailKey{}).(*trail)
	return t
}

// trace begins a call's trail; the caller calls end. It is nil without an audit
// log, and so are all calls on it.
func (e *environment) trace(ctx context.Context, call agentcore.Call) (context.Context, *trail) {
	if e.r.t.g.cfg.Audit == nil {
		return ctx, nil
	}
	t := &trail{e: e, ctx: ctx, call: call, began: time.Now()}
	return context.WithValue(ctx, trailKey{}, t), t
}

// got notes the arguments that a hook made of the call's.
func (t *trail) got(call agentcore.Call) {
	if t != nil {
		t.call = call
	}
}

// decided notes who let the call run, or did not.
func (t *trail) decided(by, decision string) {
	if t != nil {
		t.record.Approver, t.record.Decision = by, decision
	}
}

// begin records that the call runs now. What can't be recorded isn't run.
func (t *trail) begin() error {
	if t == nil {
		return nil
	}
	t.begun, t.began = true, time.Now()
	if err := t.write(AuditBegun, ""); err != nil {
		t.ended = true // what never began needs no end
		return errAudit
	}
	return nil
}

// returned notes that the tool did not panic.
func (t *trail) returned() {
	if t != nil {
		t.back = true
	}
}

// end records how the call ended.
func (t *trail) end(result *agentcore.Result, err error) {
	if t == nil || t.ended {
		return
	}
	outcome, detail := AuditOK, ""
	switch {
	case t.ctx.Err() != nil:
		outcome = AuditCancelled
	case t.begun && (err != nil || result.IsError || !t.back):
		outcome = AuditError
	case !t.begun:
		outcome, detail = AuditRefused, textOf(result.Content)
		if err != nil {
			detail = err.Error()
		}
	}
	_ = t.write(outcome, clip(detail, 500)) // it has been logged
}

// unrun records a call that never came to its tool: it named none that is there
// for this company, its arguments were wrong, a hook blocked it, or it was
// skipped.
func (e *environment) unrun(call *agentcore.ToolCall, result *agentcore.Result) {
	_, t := e.trace(e.r.ctx, agentcore.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	t.end(result, nil)
}

func (t *trail) write(outcome AuditOutcome, detail string) error {
	e, r := t.e, t.record
	e.mu.Lock()
	r.Sender, r.Role, r.Channel = e.request.Sender, e.roleName(), e.request.Channel
	e.mu.Unlock()
	r.At, r.Session, r.Run = time.Now(), e.r.t.session, e.r.id
	if last := e.r.t.tr.last; last != nil {
		r.Message = last.ID
	}
	r.Tool, r.Call, r.Arguments = t.call.Name, t.call.ID, t.call.Arguments
	if !json.Valid(r.Arguments) { // as a model may write them
		r.Arguments, _ = json.Marshal(string(t.call.Arguments)) // texts always encode
	}
	r.Outcome, r.Detail = outcome, detail
	if outcome != AuditBegun {
		r.TookMS = time.Since(t.began).Milliseconds()
	}
	err := e.r.t.g.cfg.Audit(r)
	if err != nil {
		e.r.log.Error("a tool call was not written to the audit log", "tool", r.Tool, "call", r.Call, "outcome", string(outcome), "err", err)
	}
	return err
}
