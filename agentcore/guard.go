package agentcore

import (
	"fmt"
	"hash/maphash"
)

const (
	defaultGuard   = 10
	guardRemembers = 64 // different calls; the oldest is forgotten
)

// guard notices a run that goes round in circles: calls in a row that each
// repeat an earlier call of the run and its result. Whatever is new, a call or
// a result, ends the row, so that running the tests after every edit is no
// circle, and asking two things in turn for ever is one.
type guard struct {
	limit int // 0: off
	seed  maphash.Seed
	seen  []seenCall
	next  int // where in a full seen the next one goes
	row   int
	name  string // of the last call in the row
}

// seenCall is the hashes of a call and of its last result.
type seenCall struct{ call, outcome uint64 }

func (g *guard) init(limit int) {
	switch {
	case limit == 0:
		g.limit = defaultGuard
	case limit > 0:
		g.limit = limit
	}
}

// note takes a finished call and returns what to tell the model, if anything.
func (g *guard) note(inv *invocation, result *Result) string {
	if g.limit == 0 {
		return ""
	}
	if g.seen == nil {
		g.seed = maphash.MakeSeed()
	}
	if !g.repeated(g.hash(inv, result)) {
		g.row = 0
		return ""
	}
	g.row++
	g.name = inv.call.Name
	if g.row+1 < (g.limit+1)/2 {
		return ""
	}
	return fmt.Sprintf("[Note: this repeats an earlier call and its result; calls in a row that do: %d. Do something else, or answer with what you have: after %d the run is stopped.]", g.row, g.limit)
}

// repeated remembers a call and reports whether it and its result were known.
func (g *guard) repeated(call, outcome uint64) bool {
	for i := range g.seen {
		if g.seen[i].call == call {
			known := g.seen[i].outcome == outcome
			g.seen[i].outcome = outcome
			return known
		}
	}
	if len(g.seen) < guardRemembers {
		g.seen = append(g.seen, seenCall{call, outcome})
	} else {
		g.seen[g.next] = seenCall{call, outcome}
		g.next = (g.next + 1) % guardRemembers
	}
	return false
}

func (g *guard) hash(inv *invocation, result *Result) (call, outcome uint64) {
	call = maphash.String(g.seed, inv.call.Name)
	if inv.tool == nil {
		return call, 0 // an unavailable tool, whatever the arguments
	}
	if inv.value != nil {
		call = call*31 + hashJSON(g.seed, inv.value)
	} else {
		call = call*31 + maphash.Bytes(g.seed, inv.call.Arguments)
	}
	for _, b := range result.Content {
		outcome *= 31
		switch b := b.(type) {
		case Text:
			outcome += maphash.String(g.seed, b.Text)
		case Image:
			outcome += maphash.Bytes(g.seed, b.Data) + maphash.String(g.seed, b.Ref)
		case Document:
			outcome += maphash.Bytes(g.seed, b.Data) + maphash.String(g.seed, b.Ref) + maphash.String(g.seed, b.Text)
		}
	}
	return call, outcome
}

func (g *guard) tripped() bool { return g.limit > 0 && g.row >= g.limit }

func (g *guard) error() *Error {
	return &Error{Class: ErrLimit,
		Message: fmt.Sprintf("Stopped: %d calls in a row, the last of %q, repeated earlier calls with the same results", g.row, g.name)}
}
