package main

import (
	"io"
	"log/slog"

	"clawbot/config"
	"clawbot/internal/redact"
)

// newLogger returns the logger that [log] asks for. No secret of the
// configuration passes it.
func newLogger(w io.Writer, cfg *config.Config, least slog.Level) *slog.Logger {
	level := levelOf(cfg)
	if level == slog.LevelInfo {
		level = max(level, least)
	}
	return newLoggerAt(w, cfg, level, redact.New(cfg.Secrets()...))
}

// newLoggerAt is newLogger with a level and secrets that may change.
func newLoggerAt(w io.Writer, cfg *config.Config, level slog.Leveler, secrets *redact.Redactor) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if cfg.Log.Format == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(secrets.Handler(handler))
}

func levelOf(cfg *config.Config) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo // config has checked it
	}
	return level
}
