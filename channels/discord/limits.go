package discord

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"clawbot/channels"
)

const (
	// longestHold is how long a call waits for a limit by itself; whoever
	// called is told to come back after more.
	longestHold = 5 * time.Second
	keptBuckets = 4096
	// Discord bans who asks too often for what is forbidden: after this many
	// refusals in a row a channel is left alone for a while.
	refusalsInARow = 5
	leftAlone      = time.Minute
)

// limiter keeps Discord's rate limits as its answers tell them, per kind of
// call and channel. The last call that a limit allows is left to finals.
type limiter struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	names   map[string]string // what Discord calls the limit of a kind of call
	global  time.Time         // nothing before
	typing  time.Time         // no sign of typing before
	refused map[string]refusals
}

// bucket is one limit.
type bucket struct {
	limit, left int
	reset       time.Time
	flying      int // calls without an answer yet
}

type refusals struct {
	row   int
	until time.Time
}

// await takes a place among the calls that the limits allow, waiting for one if
// that is soon. It returns a *[channels.SendError] if it can't be had.
func (l *limiter) await(ctx context.Context, r *request) error {
	for {
		wait, err := l.take(r, time.Now())
		switch {
		case err != nil:
			return err
		case wait == 0:
			return nil
		case r.draft || wait > longestHold:
			return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: wait, Err: errors.New("discord " + r.op + ": waiting for the rate limit")}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: wait, Err: context.Cause(ctx)}
		}
	}
}

func (l *limiter) take(r *request, now time.Time) (wait time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := l.refused[r.major].until; now.Before(until) {
		return 0, &channels.SendError{
			Outcome: channels.Rejected, Reason: channels.ReasonForbidden,
			Err: errors.New("discord " + r.op + ": the channel refused the bot again and again and is left alone for a minute; see what the bot may do there"),
		}
	}
	if r.foreign {
		return 0, nil
	}
	if wait := l.global.Sub(now); wait > 0 {
		return wait, nil
	}
	b := l.buckets[l.key(r)]
	if b == nil {
		return 0, nil
	}
	if !now.Before(b.reset) {
		b.left = b.limit - b.flying
		b.reset = now.Add(time.Second) // until the answer says more
	}
	least := 0
	if r.draft && b.limit > 1 {
		least = 1
	}
	if b.left <= least {
		return max(b.reset.Sub(now), time.Millisecond), nil
	}
	b.left--
	b.flying++
	return 0, nil
}

// mayType takes the next sign of typing, if there is one to be had now.
func (l *limiter) mayType(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.typing) || now.Before(l.global) {
		return false
	}
	if burst := now.Add(-time.Second); l.typing.Before(burst) {
		l.typing = burst
	}
	l.typing = l.typing.Add(typingEvery)
	return true
}

func (l *limiter) key(r *request) string {
	name := l.names[r.op]
	if name == "" {
		name = r.op
	}
	return name + " " + r.major
}

// note learns from an answer.
func (l *limiter) note(r *request, a *attempt, body []byte) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countRefusal(r, a.status, now)
	if b := l.buckets[l.key(r)]; b != nil && b.flying > 0 {
		b.flying--
	}
	if a.header == nil || r.foreign {
		return
	}
	if a.status == http.StatusTooManyRequests {
		l.limited(r, a, body, now)
		return
	}
	limit, err1 := strconv.Atoi(a.header.Get("X-RateLimit-Limit"))
	left, err2 := strconv.Atoi(a.header.Get("X-RateLimit-Remaining"))
	after, err3 := strconv.ParseFloat(a.header.Get("X-RateLimit-Reset-After"), 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return
	}
	b := l.bucket(r, a.header.Get("X-RateLimit-Bucket"), now)
	b.limit, b.left = limit, min(left, limit)-b.flying
	b.reset = now.Add(time.Duration(after * float64(time.Second)))
}

// limited learns from a 429.
func (l *limiter) limited(r *request, a *attempt, body []byte, now time.Time) {
	var refusal apiError
	isJSON := tolerant(body, &refusal) == nil
	until := now.Add(retryAfter(&refusal, a.header))
	if refusal.Global || a.header.Get("X-RateLimit-Global") != "" || !isJSON {
		if until.After(l.global) {
			l.global = until
		}
		return
	}
	b := l.bucket(r, a.header.Get("X-RateLimit-Bucket"), now)
	b.limit, b.left, b.reset = max(b.limit, 1), 0, until
}

// bucket finds or makes the limit that a call counts for.
func (l *limiter) bucket(r *request, name string, now time.Time) *bucket {
	if l.buckets == nil {
		l.buckets, l.names = map[string]*bucket{}, map[string]string{}
	}
	if name != "" {
		l.names[r.op] = name
	}
	key := l.key(r)
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) >= keptBuckets {
			for k, old := range l.buckets {
				if now.After(old.reset) && old.flying <= 0 {
					delete(l.buckets, k)
				}
			}
		}
		b = &bucket{}
		l.buckets[key] = b
	}
	return b
}

func (l *limiter) countRefusal(r *request, status int, now time.Time) {
	if r.major == "" || r.foreign {
		return
	}
	if status != http.StatusForbidden {
		if status != 0 {
			delete(l.refused, r.major)
		}
		return
	}
	if l.refused == nil || len(l.refused) >= keptBuckets {
		l.refused = map[string]refusals{}
	}
	n := l.refused[r.major]
	if n.row++; n.row >= refusalsInARow {
		n = refusals{until: now.Add(leftAlone)}
	}
	l.refused[r.major] = n
}
