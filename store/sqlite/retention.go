package sqlite

import (
	"context"
	"fmt"
	"time"

	"clawbot/store"
)

// blobPage is how many blobs are looked at in one read.
const blobPage = 200

// Retention implements store.Store.
func (s *Store) Retention() store.Retention { return (*retention)(s) }

type retention Store

func (r *retention) ForgetDead(ctx context.Context, before time.Time) (n int, err error) {
	s := (*Store)(r)
	if err = s.owner(); err == nil {
		n, err = write(ctx, s, false, func(t *tx) (int, error) {
			n, err := t.number("SELECT count(*) FROM dead WHERE buried < ?", before.UnixNano())
			if err != nil || n == 0 {
				return 0, err
			}
			return int(n), t.exec("DELETE FROM dead WHERE buried < ?", before.UnixNano())
		})
	}
	if err != nil {
		return 0, fmt.Errorf("forget dead letters: %w", err)
	}
	return n, nil
}

func (r *retention) ForgetBlobs(ctx context.Context, before time.Time, keep func(ref string) bool) (n int, err error) {
	s := (*Store)(r)
	err = s.owner()
	for last := int64(0); err == nil; {
		var old []int64
		seen := 0
		err = s.read(ctx, func(c *conn) error {
			return c.query("SELECT id, ref FROM blobs WHERE id > ? AND ref IS NOT NULL AND put < ? ORDER BY id LIMIT ?",
				args(last, before.UnixNano(), int64(blobPage)), func(r row) error {
					seen, last = seen+1, r.int(0)
					if !keep(r.text(1)) {
						old = append(old, last)
					}
					return nil
				})
		})
		for _, id := range old {
			if err == nil {
				var gone bool
				gone, err = s.forgetBlob(ctx, id, before)
				if gone {
					n++
				}
			}
		}
		if seen < blobPage {
			break
		}
	}
	if err != nil {
		return n, fmt.Errorf("forget blobs: %w", err)
	}
	return n, nil
}

// forgetBlob deletes one blob, unless it was put again meanwhile.
func (s *Store) forgetBlob(ctx context.Context, id int64, before time.Time) (bool, error) {
	return write(ctx, s, false, func(t *tx) (bool, error) {
		old, err := t.number("SELECT count(*) FROM blobs WHERE id = ? AND put < ?", id, before.UnixNano())
		if err != nil || old == 0 {
			return false, err
		}
		return true, t.dropBlob(id)
	})
}
