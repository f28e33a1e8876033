package store

import "context"

// Searcher is a [Store] that finds what was said. It is a capability: a store
// without it is read through [Archive].
type Searcher interface {
	// Index tells the store how to read entries. It is called once, before the
	// first Search and beside other calls; entries that were written before are
	// found, too, after a while. read is called by any goroutine.
	Index(read Reader)
	// Search returns what has all words of the query, about the latest first,
	// whatever was appended or drained before the call included. ErrInvalid for
	// a query without words.
	Search(ctx context.Context, query Search) ([]Found, error)
}

// Reader says what an entry is found by. owner is, of a KindUser entry, whose
// conversation it belongs to; empty hides it. An assistant entry belongs to the
// owner of the user entry before it. Other kinds are not read. Without a text
// an entry is not found.
type Reader func(e Entry) (owner, text string)

// Search is what to look for.
type Search struct {
	Owner string
	// Words are folded as package store/search says; they have no operators.
	Words string
	Limit int
	// Of Session, only entries before position Before are found; an empty one
	// is none.
	Session string
	Before  int64
}

// Found is an entry that was found.
type Found struct {
	Session string
	Entry   Entry
	// Passage is the part of the text around what was found.
	Passage string
}

// PassageSize is about how many bytes a [Found] shows.
const PassageSize = 300
