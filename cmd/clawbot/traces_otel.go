//go:build otel

package main

import (
	"context"
	"log/slog"
	"os"

	"clawbot/internal/traces"
)

// openTraces begins to trace if the environment asks for it.
func openTraces(ctx context.Context, log *slog.Logger) (tracer, error) {
	by, _, err := wantsTraces(os.Getenv)
	if err != nil || by == "" {
		return nil, err
	}
	if err := overHTTP(os.Getenv); err != nil {
		return nil, err
	}
	t, err := traces.Open(ctx, traces.Config{Logger: log})
	if err != nil {
		return nil, err
	}
	log.Info("runs are traced", "variable", by)
	return t, nil
}
