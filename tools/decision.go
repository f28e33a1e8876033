package tools

import (
	"context"

	"clawbot/agentcore"
)

// Verdict is what a judge says of a call.
type Verdict uint8

// The verdicts. The zero value asks, so that what forgot to decide asks.
const (
	Ask Verdict = iota
	Allow
	Deny
)

// Decision is a verdict on one call, and what a person has to know to take it
// in the judge's place.
type Decision struct {
	Verdict Verdict
	// Reason says why it is not simply allowed; of a denial the model reads it.
	Reason string
	// Show is exactly what would happen, for people: invisible characters are
	// escaped, nothing is left out. Plain text, perhaps of several lines.
	Show string
	// Where is the directory it would happen in; empty if that says nothing.
	Where string
	// Binding is what an approval is bound to: a call that has another by the
	// time it runs is not what was approved. The tool checks it, see
	// [Approved].
	Binding string
	// Rule, if set, names what may be allowed for good: exactly this call, and
	// nothing that could become another.
	Rule string
}

// JudgeFunc decides about a call whose arguments are valid. It runs in the
// call's scope. An error refuses the call.
type JudgeFunc func(ctx context.Context, call agentcore.Call) (Decision, error)

type approvalKey struct{}

// WithApproval returns a context for a call that a person, or a rule, approved
// with this binding.
func WithApproval(ctx context.Context, binding string) context.Context {
	return context.WithValue(ctx, approvalKey{}, binding)
}

// Approved returns the binding that the call was approved with; empty if it was
// not.
func Approved(ctx context.Context) string {
	binding, _ := ctx.Value(approvalKey{}).(string)
	return binding
}
