package traces

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"clawbot/internal/version"
)

// Config of the traces. The zero value works; where they go is said by the
// variables of the environment that all programs with OpenTelemetry heed:
// OTEL_EXPORTER_OTLP_*, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES,
// OTEL_TRACES_SAMPLER, OTEL_BSP_*, OTEL_SPAN_*, OTEL_PROPAGATORS.
type Config struct {
	Logger *slog.Logger // default: discard
}

// Traces are one bot's. They are safe for concurrent use.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	inject   propagation.TextMapPropagator // nil: the model's server is told nothing
	log      *slog.Logger
}

// scope names this program's spans among those of others.
const scope = "clawbot"

// Open begins to export over OTLP/HTTP. Nothing is on the network until the
// first spans have ended.
func Open(ctx context.Context, cfg Config) (*Traces, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	// As elsewhere in this program, HTTP_PROXY is not heeded.
	direct := otlptracehttp.WithProxy(func(*http.Request) (*url.URL, error) { return nil, nil })
	exporter, err := otlptracehttp.New(ctx, direct)
	if err != nil {
		return nil, fmt.Errorf("traces: %w; look at the variables OTEL_EXPORTER_OTLP_*", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", scope), attribute.String("service.version", version.Get().Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w; look at OTEL_RESOURCE_ATTRIBUTES", err)
	}
	t := &Traces{log: cfg.Logger}
	t.provider = sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithBatcher(&told{SpanExporter: exporter, log: cfg.Logger}))
	t.tracer = t.provider.Tracer(scope, trace.WithInstrumentationVersion(version.Get().Version))
	if named := os.Getenv("OTEL_PROPAGATORS"); named == "" || strings.Contains(named, "tracecontext") {
		t.inject = propagation.TraceContext{}
	}
	return t, nil
}

// Close exports what has not been, for five seconds at most. Spans that end
// later are lost.
func (t *Traces) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last traces were not exported", "err", err)
	}
}

// Transport adds the traceparent of a request's context to its headers
// (https://www.w3.org/TR/trace-context/).
func (t *Traces) Transport(next http.RoundTripper) http.RoundTripper {
	if t.inject == nil {
		return next
	}
	return &transport{next: next, inject: t.inject}
}

type transport struct {
	next   http.RoundTripper
	inject propagation.TextMapPropagator
}

// RoundTrip implements [http.RoundTripper], which may not change the request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if trace.SpanContextFromContext(req.Context()).IsValid() {
		req = req.Clone(req.Context())
		t.inject.Inject(req.Context(), propagation.HeaderCarrier(req.Header))
	}
	return t.next.RoundTrip(req)
}

// CloseIdleConnections has http.Client's method of that name reach the
// connections.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// told is an exporter whose failures are in the bot's log, at most one in
// tellEvery: a batch comes every five seconds.
type told struct {
	sdk.SpanExporter
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
}

const tellEvery = 5 * time.Minute

// ExportSpans implements [sdk.SpanExporter].
func (t *told) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := t.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.last.IsZero() || now.Sub(t.last) >= tellEvery {
		t.last = now
		t.log.Warn("traces are not exported and get lost; look at the collector and at OTEL_EXPORTER_OTLP_ENDPOINT", "err", err, "spans", len(spans))
	}
	return nil
}
