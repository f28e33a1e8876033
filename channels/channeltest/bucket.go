package channeltest

import "time"

// bucket is a token bucket: size tokens at once, one more every interval.
type bucket struct {
	size     int
	interval time.Duration
	full     time.Time // when the bucket would be full again
}

// take takes a token, or returns how long until there is one.
func (b *bucket) take(now time.Time) (wait time.Duration) {
	if b.full.Before(now) {
		b.full = now
	}
	if wait = b.full.Add(b.interval).Sub(now) - time.Duration(b.size)*b.interval; wait > 0 {
		return wait
	}
	b.full = b.full.Add(b.interval)
	return 0
}
