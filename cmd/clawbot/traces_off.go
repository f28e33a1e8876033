//go:build !otel

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
)

// openTraces refuses what this build can't do. A collector's address that is
// there for other programs, too, is worth a warning alone.
func openTraces(_ context.Context, log *slog.Logger) (tracer, error) {
	by, expressly, err := wantsTraces(os.Getenv)
	switch {
	case err != nil:
		return nil, err
	case by == "":
		return nil, nil
	case expressly:
		return nil, fmt.Errorf("%s: %w", by, errNoTraces)
	}
	log.Warn("nothing is traced", "variable", by, "err", errNoTraces)
	return nil, nil
}
