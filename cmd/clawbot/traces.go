package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"clawbot/agentcore"
	"clawbot/gateway"
)

// tracer tells an OpenTelemetry collector what the bot does: *traces.Traces, in
// a build with the tag otel.
type tracer interface {
	// Observer makes spans of runs and tools, and passes everything on.
	Observer(next gateway.Observer) gateway.Observer
	// Model makes spans of attempts at a model.
	Model(model agentcore.Model) agentcore.Model
	// Transport has the model's server hear of the trace.
	Transport(next http.RoundTripper) http.RoundTripper
	// Close exports what has not been.
	Close()
}

// wantsTraces reports whether the environment asks for traces, by which of
// OpenTelemetry's variables, and whether that is for traces alone.
func wantsTraces(getenv func(string) string) (by string, expressly bool, err error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return "", false, nil
	}
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "":
	case "none":
		return "", false, nil
	case "otlp":
		return "OTEL_TRACES_EXPORTER", true, nil
	default:
		return "", false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q, and clawbot exports traces over OTLP alone: set otlp or none", exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if getenv(name) != "" {
			return name, strings.Contains(name, "TRACES"), nil
		}
	}
	return "", false, nil
}

// overHTTP refuses protocols that traces are not exported over.
func overHTTP(getenv func(string) string) error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := getenv(name); protocol {
		case "":
		case "http/protobuf":
			return nil
		default:
			return fmt.Errorf("%s is %q, and clawbot exports traces over http/protobuf alone: set that, and the collector's port for it (4318 as a rule)", name, protocol)
		}
	}
	return nil
}

// errNoTraces is the end of a build without traces that is asked for them.
var errNoTraces = errors.New("traces are asked for, and this binary was built without them: build it with go build -tags otel ./cmd/clawbot, or set OTEL_TRACES_EXPORTER=none")

// traced is what stands around every request to a provider.
func (m meters) traced(next http.RoundTripper) http.RoundTripper {
	if m.traces == nil {
		return next
	}
	return m.traces.Transport(next)
}

// spans makes a span of every attempt at a model.
func (m meters) spans(model agentcore.Model) agentcore.Model {
	if m.traces == nil {
		return model
	}
	return m.traces.Model(model)
}

// observer is who is told what the gateway does; nil if nobody is.
func (m meters) observer() gateway.Observer {
	switch {
	case m.counts == nil:
		return nil
	case m.traces == nil:
		return m.counts
	default:
		return m.traces.Observer(m.counts)
	}
}
