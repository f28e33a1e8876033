package main

import (
	"context"
	"errors"
	"log/slog"

	"clawbot/config"
	"clawbot/store"
	"clawbot/store/sqlite"
)

// openBeside opens the configured store for a command that looks at it while a
// bot may be running: nothing is taken from the bot.
func openBeside(ctx context.Context, cfg *config.Config, log *slog.Logger) (store.Store, error) {
	switch cfg.Store.Driver {
	case "memory":
		return nil, errors.New("store.driver is memory: what is kept there is seen by the running bot alone, and on its page")
	case "sqlite":
		s, err := sqlite.Open(ctx, sqlite.Config{Path: cfg.Store.Path, Logger: log, Guest: true})
		if err != nil {
			return nil, err // and not an interface that holds a nil pointer
		}
		return s, nil
	default:
		return drivers()[cfg.Store.Driver](ctx, cfg.Store, log)
	}
}

// beside loads the configuration, opens the store and hands both to fn.
func beside(ctx context.Context, io streams, loader *config.Loader, fn func(*config.Config, store.Store) error) error {
	cfg, err := loader.Load()
	if err != nil {
		return err
	}
	s, err := openBeside(ctx, cfg, newLogger(io.err, cfg, slog.LevelError))
	if err != nil {
		return err
	}
	return errors.Join(fn(cfg, s), s.Close())
}
