package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"clawbot/store"
)

// acceptPatience is less than what platforms wait for an acknowledgement, so
// that a refusal reaches them and they deliver again.
const acceptPatience = 2500 * time.Millisecond

// usable is the first check of every call.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// call runs a script, again and again with the same arguments while answers
// are lost.
func (s *Store) call(ctx context.Context, sc *script, keys []string, args ...any) (any, error) {
	var reply any
	err := s.retry(ctx, func() (err error) {
		reply, err = s.ask(ctx, sc, keys, args)
		return err
	})
	return reply, err
}

// evaluate runs a script; it is sent whole if Redis does not know it.
func (s *Store) evaluate(ctx context.Context, sc *script, keys []string, args []any) (any, error) {
	reply, err := s.client.EvalSha(ctx, sc.hash, keys, args...).Result()
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		reply, err = s.client.Eval(ctx, sc.source, keys, args...).Result()
	}
	if errors.Is(err, goredis.Nil) {
		return nil, nil
	}
	return reply, err
}

// retry makes a call that may be made twice until it is answered, the error is
// none that passes, or patience is over.
func (s *Store) retry(ctx context.Context, call func() error) error {
	began := time.Now()
	pause := 5 * time.Millisecond
	var last error
	for {
		if err := s.usable(ctx); err != nil {
			return errors.Join(err, last)
		}
		err := call()
		if err == nil {
			return nil
		}
		if s.closed.Load() {
			return store.ErrClosed
		}
		if !passing(err) {
			return s.explain(err)
		}
		if time.Since(began)+pause > s.patience {
			return s.explain(err)
		}
		last = s.explain(err)
		if werr := wait(ctx, pause/2+rand.N(pause)); werr != nil {
			return errors.Join(werr, last)
		}
		pause = min(2*pause, 250*time.Millisecond)
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// passing reports whether an error is one that time mends: a connection that
// broke, a server that starts, a failover.
func passing(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	var answer goredis.Error
	if !errors.As(err, &answer) {
		return true // of the connection; the context is checked apart
	}
	for _, code := range []string{"LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "MOVED", "ASK", "BUSY ", "ERR max number of clients"} {
		if strings.HasPrefix(answer.Error(), code) {
			return true
		}
	}
	return false
}

// sweep runs a script over the keys of all partitions: in one call, or, in a
// cluster, in one per partition. It returns the answers, one after the other.
func (s *Store) sweep(ctx context.Context, sc *script, keys []string, args ...any) ([]any, error) {
	if !s.cluster {
		reply, err := s.call(ctx, sc, keys, args...)
		return list(reply), err
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	pipe := s.client.Pipeline()
	answers := make([]*goredis.Cmd, len(keys))
	for i, key := range keys {
		answers[i] = pipe.EvalSha(ctx, sc.hash, []string{key}, args...)
	}
	_, _ = pipe.Exec(ctx) // what failed is called again
	var all []any
	for i, answer := range answers {
		reply, err := answer.Result()
		if err != nil {
			if reply, err = s.call(ctx, sc, keys[i:i+1], args...); err != nil {
				return nil, err
			}
		}
		all = append(all, list(reply)...)
	}
	return all, nil
}
