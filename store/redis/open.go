package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"clawbot/store"
)

// Config says which Redis to use.
type Config struct {
	// URL is one of
	//
	//	redis://USER:PASSWORD@HOST:PORT/NUMBER
	//	redis-sentinel://USER:PASSWORD@HOST:26379,HOST:26379/NAME/NUMBER
	//	redis-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT
	//
	// or the same with rediss for TLS. ?ca_file= names a file of certificates to
	// trust; ?sentinel_username= and ?sentinel_password= are for sentinels.
	URL string
	// Prefix stands before every key and parts deployments that share a
	// Redis: 1 to 64 of the characters A-Z a-z 0-9 : _ . -
	Prefix string
	// RequireDurability refuses a Redis that could lose what it has
	// acknowledged, or that does not say how it is configured. Otherwise that is
	// logged, and told by [Store.Warnings].
	RequireDurability bool
	// Replicas is how many of Redis's own replicas must have an accepted event,
	// and that a tool has begun, before that is answered. 0: none, and a failover
	// may lose what the primary had not passed on.
	Replicas int
	// Patience is how long a call is repeated while Redis is away; 0 means 8 s.
	// Accept gives up after 2.5 s at most, so that platforms deliver again.
	Patience time.Duration
	// Logger gets what goes wrong in the background. nil: slog.Default().
	Logger *slog.Logger
}

// Store is a store.Store in Redis. It is safe for concurrent use.
type Store struct {
	client   goredis.UniversalClient
	cluster  bool
	where    string // host and port, for people
	user     string
	tls      bool
	keys     layout
	scripts  *scripts
	ask      func(ctx context.Context, sc *script, keys []string, args []any) (any, error)
	replicas int
	patience time.Duration
	log      *slog.Logger
	bus      bus
	// sequence numbers the writes of which the latest counts. Its start lies
	// above what an earlier process with the same owner's name could have used.
	sequence atomic.Int64
	identity atomic.Pointer[string] // of the data, as last seen

	closing sync.Once
	closed  atomic.Bool
}

var _ store.Store = (*Store)(nil)

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9:_.-]{1,64}$`)

// Open connects and makes sure that clawbot can work there. The caller closes
// it. An error says what to do.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := s.begin(ctx, cfg.RequireDurability); err != nil {
		_ = s.client.Close() // nothing was written that matters
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

func newStore(cfg Config) (*Store, error) {
	if !prefixForm.MatchString(cfg.Prefix) {
		return nil, fmt.Errorf("store.prefix %q: it has 1 to 64 of the characters A-Z a-z 0-9 : _ . -", cfg.Prefix)
	}
	t, err := parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	s := &Store{
		client: connect(t), cluster: t.kind == "cluster", where: strings.Join(t.addrs, ","), user: t.user, tls: t.tls != nil,
		keys: newLayout(cfg.Prefix), scripts: newScripts(), replicas: cfg.Replicas, patience: cfg.Patience, log: cfg.Logger,
	}
	if s.patience == 0 {
		s.patience = 8 * time.Second
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.ask = s.evaluate
	mutate(s)
	s.sequence.Store(time.Now().UnixMicro())
	s.bus.init(s)
	return s, nil
}

// next numbers a write.
func (s *Store) next() int64 { return s.sequence.Add(1) }

func nonce() string { return rand.Text()[:16] }

// State implements store.Store.
func (s *Store) State() store.State { return (*state)(s) }

// Counters implements store.Store.
func (s *Store) Counters() store.Counters { return (*counters)(s) }

// Blobs implements store.Store.
func (s *Store) Blobs() store.Blobs { return (*blobs)(s) }

// Archive implements store.Store.
func (s *Store) Archive() store.Archive { return (*archive)(s) }

// Bus implements store.Store. Messages reach subscribers in all processes.
func (s *Store) Bus() store.Bus { return &s.bus }

// Close ends the connections and waits for running calls of the bus's
// subscribers. What is still held expires. A second Close does nothing.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.closed.Store(true)
		s.bus.close()
		if err = s.client.Close(); err != nil {
			err = fmt.Errorf("close store: %w", err)
		}
	})
	return err
}
