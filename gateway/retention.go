package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"clawbot/store"
)

const (
	retentionTerm = "retention"
	// retentionEvery is how long after the end of one look at everything the
	// next begins, by whichever process; retentionFirst is how long a process
	// waits after its start.
	retentionEvery = time.Hour
	retentionFirst = 5 * time.Second
	// filesEvery is how often it is looked for files that nothing speaks of, and
	// filesAge how old those are at least: their conversation may be writing.
	filesEvery = 24 * time.Hour
	filesAge   = 24 * time.Hour
	// retentionBurst is how many sessions, or pages of a transcript, are looked
	// at before a pause, so that this never takes more than a part of a store.
	retentionBurst = 50
	retentionPause = 250 * time.Millisecond
)

// Retention says what is deleted when it is old: the table [retention]. The
// zero value keeps everything for ever.
type Retention struct {
	// Age deletes conversations in which nothing has happened for so long, and
	// Count those of each channel beyond so many, the latest active first. What
	// is worked on, waits or has something scheduled stays.
	Age   time.Duration
	Count int
	// DeadLetters deletes dead letters that are older.
	DeadLetters time.Duration
}

func (r *Retention) off() bool { return *r == Retention{} }

// keepRetention deletes what is old, one process at a time, until ctx ends.
func (g *Gateway) keepRetention(ctx context.Context) {
	wait, failing := retentionFirst, false
	for sleep(ctx, wait+jitter(wait/4)) {
		wait = retentionEvery / 4 // another process may have been first
		if g.config().Retention.off() {
			continue
		}
		err := g.alone(ctx, retentionTerm, g.retain)
		if err != nil && ctx.Err() == nil && !failing {
			g.log.Error("what is old was not deleted; it is tried again", "err", err)
		}
		failing = err != nil
	}
}

// Values of the term, by which the processes agree on when it is time.
const retainedKey, filesKey = "retained", "files"

func (g *Gateway) retain(ctx context.Context, term store.Term) error {
	r := &sweeper{g: g, rules: g.config().Retention}
	if due, err := isDue(ctx, term, retainedKey, retentionEvery); err != nil || !due {
		return err
	}
	if err := r.conversations(ctx); err != nil {
		return err
	}
	if r.rules.DeadLetters > 0 {
		n, err := g.cfg.Store.Retention().ForgetDead(ctx, time.Now().Add(-r.rules.DeadLetters))
		if err != nil {
			return fmt.Errorf("delete old dead letters: %w", err)
		}
		r.dead = n
	}
	due, err := isDue(ctx, term, filesKey, filesEvery)
	if err == nil && (due || r.deleted > 0) {
		if err = r.files(ctx); err == nil {
			err = done(ctx, term, filesKey)
		}
	}
	if r.deleted+r.dead+r.blobs > 0 {
		g.log.Info("deleted what is old", "conversations", r.deleted, "dead_letters", r.dead, "files", r.blobs)
	}
	if err != nil {
		return err
	}
	return done(ctx, term, retainedKey)
}

func isDue(ctx context.Context, term store.Term, key string, every time.Duration) (bool, error) {
	data, err := term.Get(ctx, key)
	if err != nil || data == nil {
		return err == nil, err
	}
	at, err := time.Parse(time.RFC3339, string(data))
	since := time.Since(at)
	return err != nil || since < 0 || since >= every, nil // damaged, or of a clock that was wrong: now
}

func done(ctx context.Context, term store.Term, key string) error {
	return term.Put(ctx, key, []byte(time.Now().UTC().Format(time.RFC3339)))
}

// sweeper goes through the store once.
type sweeper struct {
	g     *Gateway
	rules Retention
	work  int
	// What was deleted.
	deleted, dead, blobs int
}

// pace keeps the work from crowding out what people wait for.
func (r *sweeper) pace(ctx context.Context) error {
	if r.work++; r.work%retentionBurst == 0 && !sleep(ctx, retentionPause) {
		return context.Cause(ctx)
	}
	return nil
}

func (r *sweeper) conversations(ctx context.Context) error {
	if r.rules.Age <= 0 && r.rules.Count <= 0 {
		return nil
	}
	now := time.Now()
	before := now.Add(-r.rules.Age)
	of := map[string]int{} // how many a channel has that are later active
	return eachSession(ctx, r.g.cfg.Store, func(info store.SessionInfo) error {
		channel, _, _ := strings.Cut(info.Session, ":")
		of[channel]++
		old := r.rules.Age > 0 && info.LastActive.Before(before)
		// What has become active meanwhile comes last here, and is the first.
		many := r.rules.Count > 0 && of[channel] > r.rules.Count && info.LastActive.Before(now.Add(-retentionFirst))
		if !old && !many || info.Owner != "" || info.Waiting > 0 {
			return nil
		}
		gone, err := expire(ctx, r.g.cfg.Store, info)
		if err != nil {
			return err
		}
		if gone {
			r.deleted++
		}
		return r.pace(ctx)
	})
}

// expire deletes a session if it still is as info says: nothing has come and
// nobody works on it.
func expire(ctx context.Context, s store.Store, info store.SessionInfo) (gone bool, err error) {
	if n, err := CountSchedules(ctx, s, info.Session); n > 0 || err != nil {
		return false, err
	}
	lease, err := s.Acquire(ctx, info.Session, "retention:"+newID(), deleteTTL)
	if _, held := errors.AsType[*store.HeldError](err); held {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete %s: %w", info.Session, err)
	}
	at := lease.Start()
	w, err := lease.Peek(ctx, 0)
	if err == nil && at.Tail == info.Tail && !at.Reply.Open && len(at.Intents) == 0 && at.Signals == 0 && len(w.Messages) == 0 {
		return true, deleteHeld(ctx, s, lease)
	}
	if err == nil {
		var released bool
		if released, err = lease.ReleaseIfEmpty(ctx); err == nil && !released {
			err = lease.HandOff(ctx, 0, false)
		}
	}
	return false, err
}

// files deletes what no transcript speaks of. What is put while it looks is
// kept, for it is new.
func (r *sweeper) files(ctx context.Context) error {
	before := time.Now().Add(-filesAge)
	// Digests, for a store may have very many.
	wanted := map[[16]byte]struct{}{}
	digest := func(ref string) [16]byte {
		sum := sha256.Sum256([]byte(ref))
		return [16]byte(sum[:16])
	}
	s := r.g.cfg.Store
	err := eachSession(ctx, s, func(info store.SessionInfo) error {
		if err := eachFile(ctx, s, info.Session, func(ref string) { wanted[digest(ref)] = struct{}{} }); err != nil {
			return err
		}
		return r.pace(ctx)
	})
	if err != nil {
		return fmt.Errorf("look for files that nothing speaks of, of which none was deleted: %w", err)
	}
	r.blobs, err = s.Retention().ForgetBlobs(ctx, before, func(ref string) bool {
		_, ok := wanted[digest(ref)]
		return ok
	})
	if err != nil {
		return fmt.Errorf("delete files that nothing speaks of: %w", err)
	}
	return nil
}
