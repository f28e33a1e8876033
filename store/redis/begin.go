package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	beginTimeout = 30 * time.Second
	// loadingPause lies between questions to a Redis that is starting.
	loadingPause = 200 * time.Millisecond
	// lookFor bounds the search for another application's keys.
	lookFor = 10 * time.Second
	// oldest is the first version with all that the scripts need.
	oldest = 7
)

// begin makes sure that this is a Redis that clawbot can work with, and that
// the prefix is ours.
func (s *Store) begin(ctx context.Context, requireDurability bool) error {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	if err := s.greet(ctx); err != nil {
		return err
	}
	if err := s.tryRights(ctx); err != nil {
		return err
	}
	warnings, err := s.Warnings(ctx)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		if w.Refuse || requireDurability {
			return fmt.Errorf("redis at %s: %s: %s", s.where, w.What, w.Remedy)
		}
		s.log.Warn("redis: "+w.What, "remedy", w.Remedy)
	}
	if err := s.strangers(ctx); err != nil {
		return err
	}
	_, err = s.enter(ctx)
	return err
}

// greet asks who is there. HELLO tells version and mode even to a user who may
// not use INFO.
func (s *Store) greet(ctx context.Context) error {
	reply, err := s.client.Do(ctx, "HELLO", "2").Result()
	for told := false; err != nil && strings.HasPrefix(err.Error(), "LOADING") && wait(ctx, loadingPause) == nil; told = true {
		if !told {
			s.log.Info("redis is loading its data; waiting", "at", s.where)
		}
		reply, err = s.client.Do(ctx, "HELLO", "2").Result()
	}
	if err != nil && strings.Contains(err.Error(), "unknown command") && strings.Contains(strings.ToLower(err.Error()), "hello") {
		return fmt.Errorf("redis at %s is older than version 6: clawbot needs Redis %d or later, or Valkey", s.where, oldest)
	}
	if err != nil {
		return s.explain(err)
	}
	facts := map[string]string{}
	words := list(reply)
	for i := 0; i+1 < len(words); i += 2 {
		facts[text(words[i])] = text(words[i+1])
	}
	version := facts["version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldest {
		return fmt.Errorf("redis at %s is version %s: clawbot needs Redis %d or later, or Valkey", s.where, version, oldest)
	}
	switch mode := facts["mode"]; {
	case mode == "sentinel":
		return fmt.Errorf("%s is a sentinel: set store.url to redis-sentinel://HOST:PORT/NAME", s.where)
	case mode == "cluster" && !s.cluster:
		return fmt.Errorf("%s belongs to a cluster: set store.url to redis-cluster://HOST:PORT,HOST:PORT", s.where)
	}
	if facts["role"] == "replica" && !s.cluster {
		return fmt.Errorf("redis at %s: %s", s.where, s.remedyOf("READONLY", ""))
	}
	return nil
}

// tryRights makes every kind of call once.
func (s *Store) tryRights(ctx context.Context) error {
	var reply any
	err := s.retry(ctx, func() (err error) {
		reply, err = s.ask(ctx, s.scripts.probe, s.keys.probe(), []any{s.keys.channel("probe")})
		return err
	})
	if err != nil {
		return err
	}
	if refused := list(reply); len(refused) > 0 {
		first := text(refused[0])
		_, message, _ := strings.Cut(first, ": ")
		code, _, _ := strings.Cut(message, " ")
		remedy := s.remedyOf(code, message)
		if remedy == "" {
			remedy = s.rights()
		}
		return fmt.Errorf("redis at %s: %s: %s", s.where, first, remedy)
	}
	return nil
}

// ours are keys of any clawbot: a prefix may begin like another.
var ours = regexp.MustCompile(`:\{(p\d\d|state|count)\}:|:meta$`)

// strangers refuses a prefix that another application uses. It looks only
// before the prefix is marked as ours.
func (s *Store) strangers(ctx context.Context) error {
	kind, err := s.client.Type(ctx, s.keys.mark()).Result()
	if err != nil {
		return s.explain(err)
	}
	if kind == "hash" {
		ours, err := s.client.HExists(ctx, s.keys.mark(), "format").Result()
		if err != nil {
			return s.explain(err)
		}
		if ours {
			return nil
		}
	}
	found := ""
	if kind != "none" {
		found = s.keys.mark()
	}
	looking, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	err = s.eachNode(looking, func(ctx context.Context, node *goredis.Client) error {
		scan := node.Scan(ctx, 0, glob(s.keys.prefix)+":*", 5000).Iterator()
		for found == "" && scan.Next(ctx) {
			if !ours.MatchString(scan.Val()) {
				found = scan.Val()
			}
		}
		return scan.Err()
	})
	if found == "" && looking.Err() != nil && ctx.Err() == nil {
		s.log.Warn("redis: it has too many keys to make sure that the prefix is not another application's", "prefix", s.keys.prefix)
		return nil
	}
	if err != nil {
		return s.explain(err)
	}
	if found != "" {
		return fmt.Errorf("redis at %s: another application has keys that begin with %q, such as %q: set store.prefix to something else", s.where, s.keys.prefix+":", found)
	}
	return nil
}

// eachNode calls fn with every primary, one after the other.
func (s *Store) eachNode(ctx context.Context, fn func(context.Context, *goredis.Client) error) error {
	if c, ok := s.client.(*goredis.ClusterClient); ok {
		errs := make(chan error, 1)
		errs <- nil
		err := c.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
			before := <-errs
			if before == nil {
				before = fn(ctx, node)
			}
			errs <- before
			return before
		})
		return err
	}
	if c, ok := s.client.(*goredis.Client); ok {
		return fn(ctx, c)
	}
	return errors.New("redis: unknown kind of client")
}

// enter marks the prefix as ours and refuses what a newer clawbot wrote. It
// returns the identity of the data, which is another after Redis lost it.
func (s *Store) enter(ctx context.Context) (lost bool, err error) {
	ask := s.ask
	if s.replicas > 0 {
		ask = s.confirmed
	}
	reply, err := ask(ctx, s.scripts.enter, []string{s.keys.mark()}, []any{formatVersion, nonce()})
	if err != nil {
		return false, s.explain(err)
	}
	words := list(reply)
	if len(words) != 2 {
		return false, fmt.Errorf("redis at %s: unexpected answer %.80q", s.where, reply)
	}
	if format := number(words[0]); format > formatVersion {
		return false, fmt.Errorf("what begins with %q in redis at %s was %w, or set store.prefix to something else", s.keys.prefix+":", s.where, newerError(format))
	}
	id := text(words[1])
	before := s.identity.Swap(&id)
	return before != nil && *before != id, nil
}

// Claim says that the account's bot is the one with this id, a platform's name
// for it. It fails if another bot has claimed the prefix before: two bots would
// answer each other's messages.
func (s *Store) Claim(ctx context.Context, account, bot string) error {
	reply, err := s.call(ctx, s.scripts.claim, []string{s.keys.mark()}, account, bot)
	if err != nil {
		return fmt.Errorf("claim prefix: %w", err)
	}
	if other := text(reply); other != bot {
		return fmt.Errorf("the prefix %q in redis at %s belongs to another bot: %s is %s there and %s here; give this one a store.prefix of its own,"+
			" or, if it takes the other's place, run: redis-cli HDEL %s bot:%s", s.keys.prefix, s.where, account, other, bot, s.keys.mark(), account)
	}
	return nil
}
