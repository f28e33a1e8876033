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
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo // config has checked it
	}
	if level == slog.LevelInfo {
		level = max(level, least)
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if cfg.Log.Format == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(redact.New(cfg.Secrets()...).Handler(handler))
}
