package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"clawbot/store"
	"clawbot/store/redis"
)

// warner is a store that knows of settings by which it could lose data.
type warner interface {
	Warnings(ctx context.Context) ([]redis.Warning, error)
}

// store looks whether what is acknowledged is kept.
func (d *doctor) store(ctx context.Context) []finding {
	switch d.cfg.Store.Driver {
	case "memory":
		return []finding{warn(`set store.driver = "sqlite"`, "everything is forgotten when the bot ends (store.driver is memory)")}
	case "sqlite":
		path := d.cfg.Store.Path
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if err := canMake(filepath.Dir(path)); err != nil {
				return []finding{fail("set store.path to where clawbot may write", "%s can't be made: %v", path, err)}
			}
			return []finding{ok("sqlite %s is made at the first start", path)}
		}
	}
	s, err := openBeside(ctx, d.cfg, d.log)
	if err != nil {
		return []finding{fail("", "%v", err)}
	}
	defer s.Close()
	if err := s.Check(ctx); err != nil {
		return []finding{fail("", "%v", err)}
	}
	list := []finding{ok("%s, and a write is durable", storeLine(&d.cfg.Store))}
	if w, ok := s.(warner); ok {
		list = append(list, durability(ctx, w)...)
	}
	if _, shared := s.(claimer); shared {
		list = append(list, d.sharedWorkspace(ctx, s.State())...)
	}
	return append(list, d.deadLetters(ctx, s)...)
}

func durability(ctx context.Context, w warner) []finding {
	warnings, err := w.Warnings(ctx)
	if err != nil {
		return []finding{fail("", "redis does not tell how it is configured: %v", err)}
	}
	var list []finding
	for _, x := range warnings {
		f := warn(x.Remedy, "redis: %s", x.What)
		if x.Refuse {
			f.Status = statusFail
		}
		list = append(list, f)
	}
	return list
}

// sharedWorkspace compares the workspace with that of the other replicas, once
// one has recorded it: looking must not decide which it is.
func (d *doctor) sharedWorkspace(ctx context.Context, state store.State) []finding {
	if _, err := state.Get(ctx, workspaceKey); err != nil {
		return nil
	}
	if err := (sharedWorkspace{state, d.cfg.Tools.Workspace}).check(ctx); err != nil {
		return []finding{fail("", "%v", err)}
	}
	return []finding{ok("the workspace is the one that all replicas use")}
}

// deadLetters tells of messages that were given up.
func (d *doctor) deadLetters(ctx context.Context, s store.Store) []finding {
	const most = 100
	dead, err := s.Archive().Dead(ctx, most)
	if err != nil {
		return []finding{fail("", "%v", err)}
	}
	if len(dead) == 0 {
		return nil
	}
	latest := dead[0]
	return []finding{info("%s given up so far, the latest in %s: %s", count(len(dead), "message"), latest.Session, latest.Reason)}
}
