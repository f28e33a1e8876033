package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"clawbot/store"
	"clawbot/store/redis"
)

// restless is how long the same sessions may stay unfinished before they count
// as stuck: a failed attempt is made again after 5 s.
const restless = 8 * time.Second

func (w *world) open(ctx context.Context) (*redis.Store, error) {
	return redis.Open(ctx, redis.Config{URL: w.redis.URL(), Prefix: prefix, Logger: slog.New(slog.DiscardHandler)})
}

// rest waits until nothing is held, waiting or due, and tells of what never
// gets there (invariants 9 and 10).
func (w *world) rest(ctx context.Context) (stuck []string) {
	s, err := w.open(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	defer s.Close()
	last, since := "", time.Now()
	for ctx.Err() == nil {
		busy, err := w.unfinished(ctx, s)
		if err != nil {
			return []string{err.Error()}
		}
		if len(busy) == 0 {
			return nil
		}
		if now := strings.Join(busy, "\n"); now != last {
			last, since = now, time.Now()
		} else if time.Since(since) > restless {
			return busy
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// unfinished lists the sessions in which something is left to do.
func (w *world) unfinished(ctx context.Context, s *redis.Store) (busy []string, err error) {
	c := goredis.NewClient(&goredis.Options{Addr: w.redis.Addr})
	defer c.Close()
	// What is due later counts as well: a session that was handed off.
	keys, err := c.Keys(ctx, prefix+":{p*}:due").Result()
	for _, key := range keys {
		var ids []string
		if ids, err = c.ZRange(ctx, key, 0, -1).Result(); err != nil {
			return nil, err
		}
		for _, id := range ids {
			busy = append(busy, id+": due, or to be")
		}
	}
	if err != nil {
		return nil, err
	}
	list, err := sessions(ctx, s)
	for _, i := range list {
		if i.Owner != "" || i.Waiting > 0 {
			busy = append(busy, fmt.Sprintf("%s: held by %q with %d messages waiting", i.Session, i.Owner, i.Waiting))
		}
	}
	return busy, err
}

func sessions(ctx context.Context, s *redis.Store) (all []store.SessionInfo, err error) {
	for after := ""; ; {
		page, next, err := s.Archive().Sessions(ctx, "", after, 500)
		all = append(all, page...)
		if err != nil || next == "" {
			return all, err
		}
		after = next
	}
}

// check compares what people asked with what is in transcripts, chats, world
// and Redis.
func (w *world) check(ctx context.Context) (violations []string) {
	s, err := w.open(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	defer s.Close()
	dead, err := s.Archive().Dead(ctx, 100000)
	if err != nil {
		return []string{err.Error()}
	}
	buried := map[string]bool{}
	for _, d := range dead {
		for _, m := range question.FindAllSubmatch(d.Data, -1) {
			buried[string(m[1])] = true
		}
	}
	w.doubled = 0
	for _, c := range w.chats {
		entries, err := s.Archive().Read(ctx, c.session, 0, 1<<30)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return append(violations, err.Error())
		}
		t := readTranscript(c, entries, buried)
		violations = append(violations, t.violations...)
		written, err := late(ctx, s, c.session, entries)
		if err != nil {
			return append(violations, err.Error())
		}
		violations = append(violations, written...)
		violations = append(violations, w.delivered(c, t)...)
	}
	violations = append(violations, w.worldCounts()...)
	violations = append(violations, w.secrets()...)
	return append(violations, w.failed...)
}

// delivered compares the chat with the finals of its transcript (invariant 7):
// each is there, and again only if its replica was hindered meanwhile.
func (w *world) delivered(c *chat, t *transcript) (violations []string) {
	count, shownBy := map[string]int{}, map[string]int{}
	for _, m := range w.telegram.Messages(c.id) {
		for _, match := range final.FindAllStringSubmatch(m.Text, -1) {
			f := match[1]
			if count[f]++; count[f] > 1 && !w.schedule.timeless && !w.wire.explains(c.id, shownBy[f], m.ID) {
				violations = append(violations, fmt.Sprintf("%s: the final%s was delivered again although nothing had happened to who delivered it", c.session, f))
			}
			shownBy[f] = m.ID
		}
	}
	for _, f := range t.finals {
		switch n := count[f]; {
		case n == 0:
			violations = append(violations, fmt.Sprintf("%s: the final%s was never delivered", c.session, f))
		case n > 1:
			w.doubled += n - 1
		}
	}
	return violations
}

// worldCounts tells of tools that ran twice for one call (invariant 6).
func (w *world) worldCounts() (violations []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, n := range w.touched {
		if n > 1 {
			violations = append(violations, fmt.Sprintf("the tool ran %d times for question %s", n, id))
		}
	}
	return violations
}

// secrets looks for the model's key and the bot's token where they must not be
// (invariant 12).
func (w *world) secrets() (violations []string) {
	_, secret, _ := strings.Cut(w.telegram.Token(), ":")
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) || bytes.Contains(data, []byte(secret)) {
			violations = append(violations, "a secret is in "+path)
		}
		return err
	})
	if err != nil {
		violations = append(violations, err.Error())
	}
	return violations
}

// summary is what the run was like.
func (w *world) summary() string {
	return fmt.Sprintf("%s doubled-finals=%d stalls=%d faults: %s", &w.waits, w.doubled, w.stalls.Load(), &w.faults)
}

// payload is what the gateway keeps in an entry, as far as it matters here.
type payload struct {
	Message *struct {
		Stop    string
		Content []struct{ Type, Text string }
	} `json:"m"`
	Note *struct {
		Kind, Text string
		Final      bool
		Before     int64
	}
	Text string // of a person's message
}

func (p *payload) text() (text string) {
	if p.Message != nil {
		for _, b := range p.Message.Content {
			text += b.Text
		}
	}
	return text
}

func decode(e store.Entry) (p payload, err error) {
	if len(e.Data) > 0 {
		err = json.Unmarshal(e.Data, &p)
	}
	return p, err
}
