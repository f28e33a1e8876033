package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"clawbot/store"
)

// forgetPage is how much of a partition is looked at in one call.
const forgetPage = 500

// Retention implements store.Store.
func (s *Store) Retention() store.Retention { return (*retention)(s) }

type retention Store

func (r *retention) ForgetDead(ctx context.Context, before time.Time) (n int, err error) {
	s := (*Store)(r)
	for more := true; more; {
		counts, err := s.sweep(ctx, s.scripts.forgetDead, s.keys.all("dead"), before.UnixMicro(), forgetPage)
		if err != nil {
			return n, fmt.Errorf("forget dead letters: %w", err)
		}
		more = false
		for _, c := range counts {
			n += int(number(c))
			more = more || number(c) == forgetPage
		}
	}
	return n, nil
}

func (r *retention) ForgetBlobs(ctx context.Context, before time.Time, keep func(ref string) bool) (n int, err error) {
	s := (*Store)(r)
	for _, index := range s.keys.all("refs") {
		gone, err := s.forgetBlobs(ctx, index, before.UnixMicro(), keep)
		n += gone
		if err != nil {
			return n, fmt.Errorf("forget blobs: %w", err)
		}
	}
	return n, nil
}

// forgetBlobs works through one partition.
func (s *Store) forgetBlobs(ctx context.Context, index string, before int64, keep func(ref string) bool) (n int, err error) {
	for kept := 0; ; {
		var refs []string
		err := s.retry(ctx, func() (err error) {
			refs, err = s.client.ZRangeByScore(ctx, index, &goredis.ZRangeBy{
				Min: "-inf", Max: fmt.Sprintf("(%d", before), Offset: int64(kept), Count: forgetPage,
			}).Result()
			return err
		})
		if err != nil || len(refs) == 0 {
			return n, err
		}
		for _, ref := range refs {
			if keep(ref) {
				kept++
				continue
			}
			gone, err := s.forgetBlob(ctx, ref, before)
			if err != nil {
				return n, err
			}
			if gone {
				n++
			}
		}
	}
}

// forgetBlob takes the name away first: should the process end before the
// chunks are gone, they take up space, but nobody reads half a blob.
func (s *Store) forgetBlob(ctx context.Context, ref string, before int64) (bool, error) {
	reply, err := s.call(ctx, s.scripts.forgetBlob, s.keys.reference(ref), ref, before)
	where := text(reply)
	if err != nil || where == "" {
		return false, err
	}
	return true, s.retry(ctx, func() error { return s.client.Unlink(ctx, where).Err() })
}
