package memory

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"clawbot/store"
	"clawbot/store/internal/localbus"
	"clawbot/store/internal/session"
)

// Store is a store.Store in memory. It is safe for concurrent use.
type Store struct {
	mu       sync.Mutex
	closed   bool
	sessions map[string]*room
	seen     seen
	dead     []store.DeadLetter // in order of burial
	terms    map[string]*tenancy
	state    state
	counters counters
	blobs    map[string]blob
	read     store.Reader // nil: nothing is found

	bus localbus.Bus
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{
		sessions: map[string]*room{},
		seen:     seen{effects: map[seenKey]effect{}},
		terms:    map[string]*tenancy{},
		state:    state{values: map[string]stateValue{}},
		counters: counters{sums: map[string]*sum{}, reserved: map[string]*reservation{}},
		blobs:    map[string]blob{},
	}
}

// room is one session with what it holds. Its slices are in order of position.
type room struct {
	*session.Session
	reply    store.Reply
	log      []record
	messages []store.Queued
	signals  []store.Queued
}

// record is an entry and, if it was drained, the drain that moved it.
type record struct {
	store.Entry
	drain drain
}

// drain identifies a call of Drain. The zero value is none.
type drain struct {
	first  int64
	max    int
	before int64
	is     bool
}

// enter locks the store for one call. It fails, unlocked, when the call should
// not begin.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return store.ErrClosed
	}
	return nil
}

// room returns the session's room, made if need be.
func (s *Store) room(id string, now int64) *room {
	r := s.sessions[id]
	if r == nil {
		r = &room{Session: session.New(now)}
		s.sessions[id] = r
	}
	return r
}

// State implements store.Store.
func (s *Store) State() store.State { return (*stateStore)(s) }

// Counters implements store.Store.
func (s *Store) Counters() store.Counters { return (*counterStore)(s) }

// Blobs implements store.Store.
func (s *Store) Blobs() store.Blobs { return (*blobStore)(s) }

// Retention implements store.Store.
func (s *Store) Retention() store.Retention { return (*retention)(s) }

// Archive implements store.Store.
func (s *Store) Archive() store.Archive { return (*archive)(s) }

// Bus implements store.Store. Messages reach subscribers of this Store.
func (s *Store) Bus() store.Bus { return &s.bus }

// Check implements store.Store: memory can always be written to until Close.
func (s *Store) Check(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.mu.Unlock()
	return nil
}

// Close ends the store; what it held is gone. It waits for running calls of
// the bus's subscribers. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.bus.Close()
	return nil
}

func now() int64 { return time.Now().UnixNano() }

func nonce() string { return rand.Text()[:16] }
