package redact

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// Handler returns a handler that passes every record on to next without the
// secrets that r knows: in the message, in attributes of any kind, in groups
// and in errors. Secrets added to r later are covered too.
func (r *Redactor) Handler(next slog.Handler) slog.Handler {
	return &handler{redactor: r, next: next}
}

type handler struct {
	redactor *Redactor
	next     slog.Handler
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.redactor.String(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return &handler{redactor: h.redactor, next: h.next.WithAttrs(clean)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{redactor: h.redactor, next: h.next.WithGroup(name)}
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		value = slog.StringValue(h.redactor.String(value.String()))
	case slog.KindGroup:
		group := value.Group()
		clean := make([]slog.Attr, len(group))
		for i, member := range group {
			clean[i] = h.attr(member)
		}
		value = slog.GroupValue(clean...)
	case slog.KindAny:
		value = h.any(value)
	}
	return slog.Attr{Key: h.redactor.String(a.Key), Value: value}
}

// any replaces a value whose text or JSON would show a secret by its redacted
// text; every other value is passed on as it is.
func (h *handler) any(value slog.Value) slog.Value {
	v := value.Any()
	if err, ok := v.(error); ok {
		return slog.StringValue(h.redactor.String(err.Error()))
	}
	if b, ok := v.([]byte); ok {
		return slog.StringValue(h.redactor.String(string(b)))
	}
	text := fmt.Sprintf("%+v", v)
	if clean := h.redactor.String(text); clean != text {
		return slog.StringValue(clean)
	}
	// Behind a pointer, text shows an address where JSON shows the content.
	if b, err := json.Marshal(v); err == nil {
		if clean := h.redactor.String(string(b)); clean != string(b) {
			return slog.StringValue(clean)
		}
	}
	return value
}
