package tools

import (
	"context"
	"time"
)

// Memory keeps facts about the person who speaks with the agent. Its answers
// are for the model; its errors say why nothing was changed, and what to do.
type Memory interface {
	// Remember keeps a fact, one line of text.
	Remember(ctx context.Context, fact string) (answer string, err error)
	// Forget drops the fact with this id.
	Forget(ctx context.Context, id string) (answer string, err error)
}

// History finds what was said in earlier conversations of the person who speaks
// with the agent, and in nobody else's.
type History interface {
	// Search returns what has all words of the query, the latest first, at most
	// limit. An error says what to do.
	Search(ctx context.Context, query string, limit int) ([]Said, error)
}

// Said is one message that [History] has found.
type Said struct {
	Session string
	At      time.Time
	// ByAgent is set for what the agent said, not the person.
	ByAgent bool
	// Here is set for a message of the conversation that is going on.
	Here bool
	// Text is the passage around what was looked for.
	Text string
}
