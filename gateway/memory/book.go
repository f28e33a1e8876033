package memory

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"clawbot/store"
)

// The bounds of what is remembered about one person. Facts are bounded because
// every request of the person's conversations carries all of them.
const (
	MaxFact  = 1_000 // bytes of one fact
	MaxTotal = 8_000 // bytes of all facts
	MaxFacts = 100
)

// prefix is what the keys of all people's facts begin with.
const prefix = "memory/"

// Errors that callers branch on. A [RefusedError] is for the model or a person.
var (
	// ErrUnknown: the person has no fact with that id.
	ErrUnknown = errors.New("there is no such fact")
)

// RefusedError says why a fact is not kept, and what to do.
type RefusedError string

func (e RefusedError) Error() string { return string(e) }

// Fact is one thing that is remembered.
type Fact struct {
	ID   string    `json:"id"` // four letters or digits, unique for the person
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	// Session and Generation are the conversation that it was told in, and how
	// often that had been shortened or begun anew.
	Session    string `json:"session,omitempty"`
	Generation int64  `json:"generation,omitempty"`
}

// Book holds the facts of all people. It is safe for concurrent use, also by
// several processes. A user is one or more parts of a key, as in
// "telegram/12345".
type Book struct {
	State store.State
}

// page is the value of one person's key.
type page struct {
	V     int    `json:"v"`
	Facts []Fact `json:"facts"`
}

const pageVersion = 1

// List returns the person's facts, the oldest first; none is no error.
func (b Book) List(ctx context.Context, user string) ([]Fact, error) {
	v, err := b.State.Get(ctx, prefix+user)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the memory of %s: %w", user, err)
	}
	p, err := decode(v.Data)
	if err != nil {
		return nil, fmt.Errorf("read the memory of %s: %w", user, err)
	}
	return p.Facts, nil
}

// Add keeps a fact and returns it as it is kept. One that is there already, but
// for case, spaces and punctuation, is returned with added false. What is too
// much is a [RefusedError].
func (b Book) Add(ctx context.Context, user string, fact Fact) (kept Fact, added bool, err error) {
	if len(fact.Text) > 4*MaxFact { // cleaning takes time, too
		return fact, false, tooLong(len(fact.Text))
	}
	fact.Text = Clean(fact.Text)
	switch {
	case fold(fact.Text) == "":
		return fact, false, RefusedError("an empty fact can't be remembered; say what it is in one sentence")
	case len(fact.Text) > MaxFact:
		return fact, false, tooLong(len(fact.Text))
	}
	err = b.change(ctx, user, func(p *page) (bool, error) {
		total := len(fact.Text)
		for _, f := range p.Facts {
			if fold(f.Text) == fold(fact.Text) {
				kept, added = f, false
				return false, nil
			}
			total += len(f.Text)
		}
		if total > MaxTotal || len(p.Facts) >= MaxFacts {
			return false, RefusedError(fmt.Sprintf("the memory of this person is full (%d facts, %d of %d bytes): forget something first, or put several facts into a shorter one",
				len(p.Facts), total-len(fact.Text), MaxTotal))
		}
		kept, added = fact, true
		kept.ID = p.newID()
		p.Facts = append(p.Facts, kept)
		return true, nil
	})
	return kept, added && err == nil, err
}

func tooLong(n int) error {
	return RefusedError(fmt.Sprintf("a fact has at most %d bytes, this one has %d: remember the essence in one sentence, and keep long texts in a file", MaxFact, n))
}

// Remove forgets one fact and returns it; ErrUnknown if there is none with the
// id.
func (b Book) Remove(ctx context.Context, user, id string) (removed Fact, err error) {
	id = strings.ToLower(strings.Trim(id, "[]` "))
	err = b.change(ctx, user, func(p *page) (bool, error) {
		i := slices.IndexFunc(p.Facts, func(f Fact) bool { return f.ID == id })
		if i < 0 {
			return false, ErrUnknown
		}
		removed = p.Facts[i]
		p.Facts = slices.Delete(p.Facts, i, i+1)
		return true, nil
	})
	return removed, err
}

// DeleteUser forgets all about a person and returns how much that was.
func (b Book) DeleteUser(ctx context.Context, user string) (facts int, err error) {
	list, err := b.List(ctx, user)
	if err == nil || errors.Is(err, errDamaged) {
		err = b.State.Delete(ctx, prefix+user)
	}
	if err != nil {
		return 0, fmt.Errorf("delete the memory of %s: %w", user, err)
	}
	return len(list), nil
}

// change replaces the person's page by what do makes of it, if do reports that
// it has changed it. do may be called more than once.
func (b Book) change(ctx context.Context, user string, do func(p *page) (bool, error)) error {
	for {
		v, err := b.State.Get(ctx, prefix+user)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read the memory of %s: %w", user, err)
		}
		p, err := decode(v.Data)
		if err != nil {
			return err
		}
		if changed, err := do(p); err != nil || !changed {
			return err
		}
		data, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("encode the memory of %s: %w", user, err)
		}
		if _, err = b.State.Put(ctx, prefix+user, data, v.Version); err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return fmt.Errorf("write the memory of %s: %w", user, err)
		}
	}
}

// errDamaged is returned for a page that can't be read. It is neither shown nor
// overwritten; DeleteUser removes it.
var errDamaged = errors.New("what is stored can't be read; `/memory delete all` removes it")

func decode(data []byte) (*page, error) {
	p := page{V: pageVersion}
	if data == nil {
		return &p, nil
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if p.V > pageVersion {
		return nil, fmt.Errorf("the memory was written by a newer clawbot (version %d): update this replica", p.V)
	}
	return &p, nil
}

// newID returns an id that no fact of the page has. It is drawn, not counted: a
// number that is free again would name another fact than the one that an older
// message speaks of.
func (p *page) newID() string {
	for {
		id := strings.ToLower(rand.Text()[:4])
		if !slices.ContainsFunc(p.Facts, func(f Fact) bool { return f.ID == id }) {
			return id
		}
	}
}
