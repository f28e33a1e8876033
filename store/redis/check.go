package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// checkTimeout bounds Check, which is asked often and must answer soon.
const checkTimeout = 2 * time.Second

// Check implements store.Store: it makes one small write, without patience. It
// notes it loudly, once, when Redis has lost what was there.
func (s *Store) Check(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("check store: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	lost, err := s.enter(ctx)
	if s.closed.Load() {
		return fmt.Errorf("check store: %w", s.usable(ctx))
	}
	if err != nil {
		return fmt.Errorf("check store: %w", err)
	}
	if lost {
		s.log.Error("redis has lost what clawbot kept there: transcripts, inboxes and pairings are gone",
			"at", s.where, "remedy", "restore a backup; set appendonly yes and appendfsync always")
	}
	return nil
}

// Warning is a setting of Redis's that can lose data.
type Warning struct {
	// What is the matter, in half a sentence.
	What string
	// Remedy is what to do.
	Remedy string
	// Refuse is set for what clawbot does not work with at all.
	Refuse bool
}

// Warnings reads Redis's configuration and tells of every setting that can lose
// what was acknowledged; of a setting that this user may not read, it tells
// that. No warnings means that nothing is lost to a crash of the server.
func (s *Store) Warnings(ctx context.Context) (all []Warning, err error) {
	err = s.eachNode(ctx, func(ctx context.Context, node *goredis.Client) error {
		list, err := settings(ctx, node)
		for _, w := range judge(list) {
			if !has(all, w) {
				all = append(all, w)
			}
		}
		return err
	})
	if err != nil {
		return nil, s.explain(err)
	}
	return all, nil
}

func has(all []Warning, w Warning) bool {
	return slices.Contains(all, w)
}

// settings reads what CONFIG or, less, what INFO tells; what neither does is
// not in the map.
func settings(ctx context.Context, node *goredis.Client) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range []string{"appendonly", "appendfsync", "maxmemory", "maxmemory-policy"} {
		values, err := node.ConfigGet(ctx, name).Result()
		if err != nil {
			if forbidden(err) {
				break
			}
			return nil, err
		}
		maps.Copy(found, values)
	}
	if len(found) == 4 {
		return found, nil
	}
	for _, section := range []string{"memory", "persistence"} {
		info, err := node.Info(ctx, section).Result()
		if err != nil {
			if forbidden(err) {
				return found, nil
			}
			return nil, err
		}
		for line := range strings.Lines(info) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			switch key {
			case "maxmemory":
				found["maxmemory"] = value
			case "maxmemory_policy":
				found["maxmemory-policy"] = value
			case "aof_enabled":
				found["appendonly"] = map[string]string{"0": "no", "1": "yes"}[value]
			}
		}
	}
	return found, nil
}

// forbidden reports that the user may not, or that a provider has removed the
// command.
func forbidden(err error) bool {
	return strings.HasPrefix(err.Error(), "NOPERM") || strings.Contains(err.Error(), "unknown command")
}

// judge says what is wrong with settings.
func judge(settings map[string]string) (all []Warning) {
	warn := func(refuse bool, what, remedy string) {
		all = append(all, Warning{What: what, Remedy: remedy, Refuse: refuse})
	}
	limit, _ := strconv.ParseInt(settings["maxmemory"], 10, 64)
	policy := settings["maxmemory-policy"]
	switch {
	case policy == "":
		warn(false, "whether it evicts keys is unknown: this user may not read its configuration",
			"make sure that maxmemory-policy is noeviction, or allow +config|get")
	case policy != "noeviction" && limit > 0:
		warn(true, fmt.Sprintf("it deletes keys when it is full (maxmemory-policy %s)", policy),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
	case policy != "noeviction":
		warn(false, fmt.Sprintf("it would delete keys if maxmemory were set (maxmemory-policy %s)", policy),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
	}
	switch settings["appendonly"] {
	case "yes":
	case "":
		warn(false, "whether it keeps data through a restart is unknown: this user may not read its configuration",
			"make sure of appendonly yes and appendfsync always, or allow +config|get")
		return all
	default:
		warn(false, "it loses what was acknowledged when it is restarted (appendonly no)",
			"CONFIG SET appendonly yes and CONFIG SET appendfsync always, and the same in redis.conf")
		return all
	}
	switch fsync := settings["appendfsync"]; fsync {
	case "always":
	case "":
		warn(false, "when it writes to the disk is unknown: this user may not read its configuration",
			"make sure of appendfsync always, or allow +config|get")
	default:
		warn(false, fmt.Sprintf("it can lose the last seconds of what was acknowledged when it is killed (appendfsync %s)", fsync),
			"CONFIG SET appendfsync always, and the same in redis.conf")
	}
	return all
}

// glob escapes the characters of a pattern.
func glob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}
