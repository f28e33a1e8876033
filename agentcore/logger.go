package agentcore

import (
	"context"
	"log/slog"
)

type loggerKey struct{}

// WithLogger has what is called with the context log to log, whose attributes
// say for which message that is. It is asked for with [LoggerOf].
func WithLogger(ctx context.Context, log *slog.Logger) context.Context {
	return context.WithValue(ctx, loggerKey{}, log)
}

// LoggerOf returns the context's logger, and otherwise fallback.
func LoggerOf(ctx context.Context, fallback *slog.Logger) *slog.Logger {
	if log, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok {
		return log
	}
	return fallback
}
