package telegram

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
)

// logRecorder keeps what was logged as text.
type logRecorder struct {
	mu  *sync.Mutex
	buf *bytes.Buffer
	slog.Handler
}

func newLogRecorder() *logRecorder {
	r := &logRecorder{mu: &sync.Mutex{}, buf: &bytes.Buffer{}}
	r.Handler = slog.NewTextHandler(r.buf, &slog.HandlerOptions{Level: slog.LevelDebug})
	return r
}

func (r *logRecorder) Handle(ctx context.Context, record slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Handler.Handle(ctx, record)
}

func (r *logRecorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logRecorder{r.mu, r.buf, r.Handler.WithAttrs(attrs)}
}

func (r *logRecorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}
