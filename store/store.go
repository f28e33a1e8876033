package store

import (
	"context"
	"errors"
	"io"
	"time"
)

// Store is everything a bot keeps. Close releases the process's hold on it;
// leases and terms that are still held expire on their own.
type Store interface {
	Inbox
	Terms
	State() State
	Counters() Counters
	Blobs() Blobs
	Archive() Archive
	Bus() Bus
	Retention() Retention
	// Check reports whether the store can be written to durably now, with a
	// remedy in the error when it can't.
	Check(ctx context.Context) error
	Close() error
}

// Errors that callers branch on. They are returned wrapped.
var (
	// ErrFenced: the lease or term is no longer held; stop at once.
	ErrFenced = errors.New("fenced: the lease is held by another or has expired")
	// ErrGap: the position lies behind the end of the transcript; the store
	// lost its tail, load again.
	ErrGap = errors.New("gap: the transcript is shorter than expected")
	// ErrConflict: something else stands at this position, or the version has
	// moved on.
	ErrConflict = errors.New("conflict: the stored value is another")
	// ErrOpenCall: a tool call has no result yet.
	ErrOpenCall = errors.New("a tool call is open")
	// ErrNotFound: there is no such session, key or blob.
	ErrNotFound = errors.New("not found")
	// ErrLimit: a reservation would pass its limit.
	ErrLimit = errors.New("the limit is reached")
	// ErrInvalid: an id or argument is malformed; nothing was written.
	ErrInvalid = errors.New("invalid argument")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the store is closed")
)

// HeldError says that another owner holds a lease or term. It is not a failure:
// whoever holds it will see what was accepted.
type HeldError struct {
	Owner string
	For   time.Duration // at most this long, unless renewed
}

func (e *HeldError) Error() string { return "held by " + e.Owner }

// Inbox accepts events and gives out leases.
//
// A session id matches ^[A-Za-z0-9:_.@-]{1,200}$; anything else is ErrInvalid.
type Inbox interface {
	// Accept stores the event durably and exactly once: when it returns
	// without an error, the event survives the death of the process (and of
	// the machine, as far as the store is configured for that). An event id
	// that this session saw in the last 72 hours is a duplicate and changes
	// nothing; it is told the position and effect of the first.
	Accept(ctx context.Context, ev Event) (Accepted, error)
	// Acquire takes the session's lease for owner, a name unique to this
	// process. It fails with a *HeldError while another holds it; to its holder
	// it gives the same tenure again, for ttl from now. ttl bounds how long the
	// lease outlives its last renewal: after that another may take it, and
	// until another does, its holder may still write and renew.
	Acquire(ctx context.Context, session, owner string, ttl time.Duration) (Lease, error)
	// Due returns up to limit sessions that nobody holds and that have
	// something to do, the longest waiting first: waiting messages or signals,
	// an expired lease, or a hand-off whose delay is over. A message or signal
	// that arrives during the delay makes the session due at once.
	Due(ctx context.Context, limit int) ([]string, error)
}

// Lane parts what waits for the model from what doesn't wait.
type Lane uint8

const (
	// Messages enter the transcript, in order.
	Messages Lane = iota
	// Signals (stop, approval decisions) never enter the transcript and never
	// wait behind messages or open tool calls.
	Signals
)

// Op says what accepting an event does to the inbox.
type Op uint8

const (
	// Put queues the event.
	Put Op = iota
	// Replace puts the event's data in place of the queued message with the
	// same Key, which keeps its id, position and quietness; if none is queued,
	// the event is queued as a quiet message. Only a message that was Put counts
	// (the latest, if several have the Key), so that news of a message that is
	// already in the transcript is never swallowed by later news of it.
	Replace
	// Remove takes the queued message with the same Key out of the inbox; if
	// none is queued, the event is queued as a quiet message.
	Remove
)

// Event is something to accept. Data is opaque to the store, which keeps its
// own copy; what a store returns is shared and must not be modified.
type Event struct {
	// ID is for deduplication: unique per platform event, 1 to 500 bytes, e.g.
	// "telegram:4711:u:83".
	ID      string
	Session string
	Lane    Lane
	Op      Op // of a signal always Put
	// Key identifies the message that the event is or changes, at most 500
	// bytes. Empty: none, which Replace and Remove don't allow.
	Key string
	// Quiet messages neither make the session due nor keep its holder from
	// releasing it; they ride along with the next drain. Signals are never
	// quiet.
	Quiet bool
	Data  []byte
}

// Accepted tells what became of an event.
type Accepted struct {
	Duplicate bool
	// Applied is true when Replace or Remove found its original queued.
	Applied bool
	// Position of the event in its lane; of its original, if Applied.
	Position int64
	// Owner of the session's lease at that moment; empty if nobody.
	Owner string
	// Waiting messages in the inbox after the event, quiet ones not counted.
	Waiting int
}

// Queued is an event in the inbox.
type Queued struct {
	Event
	Position int64
	// Tail is, for a signal, the position that the next message would have got
	// when the signal was accepted: messages before it were sent before it.
	Tail int64
	At   time.Time
}

// Waiting is what an inbox holds. Events are in order of their positions.
type Waiting struct {
	Signals  []Queued
	Messages []Queued
}

// Terms elects the one process that may do something: poll a bot's updates,
// hold a gateway shard, sweep schedules.
type Terms interface {
	// Elect takes the named term for owner. It fails with a *HeldError while
	// another holds it; to its holder it gives the same term again, for ttl
	// from now. Names are keys as in [State].
	Elect(ctx context.Context, name, owner string, ttl time.Duration) (Term, error)
}

// Term is held leadership, fenced like a [Lease]. Its values outlive it and pass
// to the next holder.
type Term interface {
	Renew(ctx context.Context) error  // ErrFenced when lost
	Resign(ctx context.Context) error // the next candidate wins at once
	// Get returns nil, nil for a key never put.
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
}

// State keeps small values: pairing, rules, settings, schedules, pending
// approvals. Keys match ^[A-Za-z0-9:_.@/-]{1,300}$.
type State interface {
	// Get returns ErrNotFound when the key has no value.
	Get(ctx context.Context, key string) (Value, error)
	// Put stores data if the key's version is still version, 0 meaning that it
	// has none, and returns the new version; otherwise ErrConflict. Putting
	// what is there already, at the version before, is a success. No version
	// of a key is used twice, even after Delete.
	Put(ctx context.Context, key string, data []byte, version int64) (int64, error)
	// Delete removes the key; a missing one is a success.
	Delete(ctx context.Context, key string) error
	// List returns the values whose keys begin with prefix, sorted by key.
	List(ctx context.Context, prefix string) ([]Value, error)
	// Range returns the values with from <= key < before, sorted by key, at most
	// limit of them (1 or more). It costs what it returns, not what there is, so
	// that a key that begins with a time is an index of what is due.
	Range(ctx context.Context, from, before string, limit int) ([]Value, error)
}

// Value is a stored value of State.
type Value struct {
	Key     string
	Data    []byte
	Version int64
}

// Counters are sums over windows that bind across replicas: budgets and rates.
type Counters interface {
	// Reserve adds amount to every key or to none: if one would pass its
	// limit, it returns ErrLimit with nothing changed. id makes it idempotent
	// for as long as the longest window lasts.
	Reserve(ctx context.Context, id string, amount int64, keys []CounterKey) error
	// Settle replaces the reserved amount of id by what was really used, even
	// beyond a limit. A reservation that is never settled counts in full; one
	// that is no longer known, because its windows have passed, is a success.
	Settle(ctx context.Context, id string, used int64) error
	// Sum returns what the key has now, reservations included.
	Sum(ctx context.Context, key string) (int64, error)
}

// CounterKey names one sum. A key's sum is forgotten when its window has
// passed since it was first added to; then a new window begins.
type CounterKey struct {
	Key    string        // as in State
	Limit  int64         // 0: count only
	Window time.Duration // 0: never forgotten
}

// Blobs keeps bytes too large for an entry, by content hash.
type Blobs interface {
	// Put reads r to its end and returns the blob's reference. More than max
	// bytes is ErrLimit.
	Put(ctx context.Context, r io.Reader, max int64) (ref string, err error)
	// Open returns ErrNotFound for an unknown reference. The caller closes.
	Open(ctx context.Context, ref string) (io.ReadCloser, error)
}

// Archive reads sessions without a lease.
type Archive interface {
	// Sessions lists sessions whose ids begin with prefix, the latest active
	// first, at most limit, those after the cursor; an empty next ends it.
	Sessions(ctx context.Context, prefix, after string, limit int) (list []SessionInfo, next string, err error)
	// Session describes one session; ErrNotFound if there is none.
	Session(ctx context.Context, session string) (SessionInfo, error)
	// Read returns up to limit entries from position from on, summaries
	// included, and never more than what is stored. ErrNotFound if there is no
	// such session.
	Read(ctx context.Context, session string, from int64, limit int) ([]Entry, error)
	// Dead lists dead letters, the latest first.
	Dead(ctx context.Context, limit int) ([]DeadLetter, error)
	// Purge deletes the session whole, its inbox and dead letters included, but
	// still knows its events' ids. It needs a lease and ends it.
	Purge(ctx context.Context, lease Lease) error
}

// Retention deletes what has outlived its use; sessions are purged under a lease
// ([Archive]). Each call works through all there is and may be ended by ctx.
type Retention interface {
	// ForgetDead deletes the dead letters buried before then, and returns how
	// many there were.
	ForgetDead(ctx context.Context, before time.Time) (int, error)
	// ForgetBlobs deletes blobs whose latest Put was before then, but for those
	// that keep wants, and returns how many there were. Putting a blob's bytes
	// again, at any moment, keeps it. keep must not call the store.
	ForgetBlobs(ctx context.Context, before time.Time, keep func(ref string) bool) (int, error)
}

// SessionInfo describes a session. Owner is empty while nobody holds it.
type SessionInfo struct {
	Session    string
	Tail       int64 // entries ever written
	Generation int64
	Owner      string
	Waiting    int
	LastActive time.Time
}

// DeadLetter is a message that was given up.
type DeadLetter struct {
	Queued
	Reason string
	Buried time.Time
}

// Bus carries hints between replicas. Messages may be lost, never the state
// they hint at.
type Bus interface {
	Publish(ctx context.Context, topic string, data []byte) error
	// Subscribe calls fn, one call at a time and in order, until the returned
	// cancel is called; cancel waits for a running fn, so fn must not call it.
	// fn must neither block nor modify data: subscribers share it, and to one
	// that falls behind, messages are lost.
	// A topic that ends in * matches every topic with that prefix.
	Subscribe(topic string, fn func(topic string, data []byte)) (cancel func(), err error)
}
