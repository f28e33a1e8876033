// Package traces tells an OpenTelemetry collector what the bot does, with the
// attributes of the semantic conventions for generative AI
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/).
//
// A run is a span invoke_agent; in it is a span chat for each attempt at a
// model, and a span execute_tool for each tool. What people, models and tools
// say is in none of them. [Traces.Transport] has the model's server hear of the
// trace it is part of.
//
// Only a program with the build tag otel imports this package: what it needs is
// several megabytes. The exporter's goroutines are started by [Open] and stopped
// by [Traces.Close].
package traces
