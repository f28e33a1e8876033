package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// confirmTimeout bounds one wait for Redis's replicas.
const confirmTimeout = time.Second

// unconfirmedError says that too few of Redis's replicas have a write that the
// primary has made. The call is repeated, which is harmless, and if they stay
// away, refused.
type unconfirmedError struct{ have, want int64 }

func (e *unconfirmedError) Error() string {
	return fmt.Sprintf("%d of the %d replicas of Redis that store.wait_replicas asks for have the write: see that they are connected (redis-cli INFO replication), or lower it", e.have, e.want)
}

// callDurably is call for what must not be lost once it was answered: what
// platforms are told is taken, and that a tool has begun. With Config.Replicas,
// so many of Redis's replicas have it then, too. All that is written later may
// be lost to a failover together with what follows it, and is then done again.
func (s *Store) callDurably(ctx context.Context, sc *script, keys []string, args ...any) (any, error) {
	if s.replicas == 0 {
		return s.call(ctx, sc, keys, args...)
	}
	var reply any
	err := s.retry(ctx, func() (err error) {
		reply, err = s.confirmed(ctx, sc, keys, args)
		return err
	})
	return reply, err
}

// confirmed makes one attempt. WAIT speaks of what its own connection has seen,
// so both go through the same one; that holds for a duplicate, which writes
// nothing, as well.
func (s *Store) confirmed(ctx context.Context, sc *script, keys []string, args []any) (any, error) {
	node, err := s.primaryOf(ctx, keys[0])
	if err != nil {
		return nil, err
	}
	pipe := node.Pipeline()
	answer := pipe.EvalSha(ctx, sc.hash, keys, args...)
	count := pipe.Do(ctx, "WAIT", s.replicas, confirmTimeout.Milliseconds())
	_, err = pipe.Exec(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		pipe = node.Pipeline()
		answer = pipe.Eval(ctx, sc.source, keys, args...)
		count = pipe.Do(ctx, "WAIT", s.replicas, confirmTimeout.Milliseconds())
		_, err = pipe.Exec(ctx)
	}
	if err != nil && !errors.Is(err, goredis.Nil) {
		return nil, err
	}
	if have, err := count.Int64(); err != nil || have < int64(s.replicas) {
		return nil, errors.Join(err, &unconfirmedError{have, int64(s.replicas)})
	}
	return answer.Val(), nil
}

// primaryOf is the server that holds a key.
func (s *Store) primaryOf(ctx context.Context, key string) (*goredis.Client, error) {
	switch c := s.client.(type) {
	case *goredis.ClusterClient:
		return c.MasterForKey(ctx, key)
	case *goredis.Client:
		return c, nil
	}
	return nil, errors.New("redis: unknown kind of client")
}
