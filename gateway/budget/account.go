package budget

import (
	"context"
	"slices"
	"sync"
)

// Account says whom model calls are for. Its fields are set before it is used
// and not changed then; it is safe for concurrent use.
type Account struct {
	// Session is the conversation, as in the store; empty is none.
	Session string
	// Since tells the conversations of one session apart: it is the position at
	// which the present one began.
	Since int64
	// Run bounds tokens: all calls of one run have the same, whichever process
	// makes them. Empty bounds none.
	Run string

	mu      sync.Mutex
	payers  []string // the one who pays first is the last
	refused bool
	cut     *Reached
}

// Charge has user ("platform:id") pay for the calls that follow. If their
// budget is used up, those who paid before go on paying: whoever begins a run
// pays for it, and whoever steers it pays for what follows.
func (a *Account) Charge(user string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.payers = append(slices.DeleteFunc(a.payers, func(u string) bool { return u == user }), user)
}

// payersInTurn are those who may pay, the first one first. There is always
// one, which may be nobody.
func (a *Account) payersInTurn() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.payers) == 0 {
		return []string{""}
	}
	list := slices.Clone(a.payers)
	slices.Reverse(list)
	return list
}

func (a *Account) refuse() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = true
}

// Refused reports whether a call was refused because a cap was reached.
func (a *Account) Refused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

func (a *Account) cutShort(r *Reached) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused, a.cut = true, r
}

// CutShort returns the cap because of which an answer had to end before it was
// complete; nil if none had to.
func (a *Account) CutShort() *Reached {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cut
}

type contextKey struct{}

// With returns a context whose model calls are for account.
func With(ctx context.Context, account *Account) context.Context {
	return context.WithValue(ctx, contextKey{}, account)
}

// accountOf is the account of ctx, an empty one if there is none.
func accountOf(ctx context.Context) *Account {
	if a, ok := ctx.Value(contextKey{}).(*Account); ok {
		return a
	}
	return &Account{}
}
