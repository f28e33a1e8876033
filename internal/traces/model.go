package traces

import (
	"context"
	"iter"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"clawbot/agentcore"
)

// Model makes a span of every attempt at a model, below whatever repeats
// attempts.
func (t *Traces) Model(model agentcore.Model) agentcore.Model {
	m := &traced{t: t, model: model}
	d, ok := model.(agentcore.Describer)
	if !ok {
		return m
	}
	m.ref = d.Info().Ref
	return described{m, d}
}

type traced struct {
	t     *Traces
	model agentcore.Model
	ref   agentcore.ModelRef
}

// described passes on what the model says of itself.
type described struct {
	*traced
	agentcore.Describer
}

// Stream implements [agentcore.Model].
func (m *traced) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		ctx, span := m.t.tracer.Start(ctx, "chat "+m.ref.ID, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(m.asked(req)...))
		end := agentcore.ErrAborted // whoever ranges breaks out, or panics
		defer func() { conclude(span, end) }()
		for ev, err := range m.model.Stream(ctx, req) {
			switch {
			case err != nil:
				end = failed(err)
			case ev.Type == agentcore.StreamDone:
				end = ""
				span.SetAttributes(answered(&ev)...)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// asked says what is asked for.
func (m *traced) asked(req *agentcore.Request) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", vendor(m.ref)),
		attribute.String("gen_ai.request.model", m.ref.ID),
		attribute.Bool("gen_ai.request.stream", true),
	}
	if req.Session != "" {
		list = append(list, attribute.String("gen_ai.conversation.id", req.Session))
	}
	if req.MaxTokens > 0 {
		list = append(list, attribute.Int64("gen_ai.request.max_tokens", req.MaxTokens))
	}
	if req.Temperature != nil {
		list = append(list, attribute.Float64("gen_ai.request.temperature", *req.Temperature))
	}
	return list
}

// answered says what has come. The conventions count cached tokens among those
// of the input.
func answered(ev *agentcore.StreamEvent) []attribute.KeyValue {
	u := ev.Usage
	list := []attribute.KeyValue{
		attribute.StringSlice("gen_ai.response.finish_reasons", []string{string(ev.Stop)}),
		attribute.Int64("gen_ai.usage.input_tokens", u.Input+u.CacheRead+u.CacheWrite),
		attribute.Int64("gen_ai.usage.output_tokens", u.Output),
	}
	if ev.Model.ID != "" {
		list = append(list, attribute.String("gen_ai.response.model", ev.Model.ID))
	}
	if u.CacheRead > 0 {
		list = append(list, attribute.Int64("gen_ai.usage.cache_read.input_tokens", u.CacheRead))
	}
	if u.CacheWrite > 0 {
		list = append(list, attribute.Int64("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite))
	}
	return list
}

// vendor is the name that the conventions have for who answers, and for others
// the one that the configuration has.
func vendor(ref agentcore.ModelRef) string {
	switch ref.Format {
	case "anthropic":
		return "anthropic"
	case "google":
		return "gcp.gemini"
	case "mistral":
		return "mistral_ai"
	}
	return ref.Provider
}

// unclassed is the error.type of what has no class of its own.
const unclassed agentcore.ErrorClass = "_OTHER"

func failed(err error) agentcore.ErrorClass {
	return classOf(agentcore.ClassOf(err))
}

func classOf(class agentcore.ErrorClass) agentcore.ErrorClass {
	if class == agentcore.ErrUnknown {
		return unclassed
	}
	return class
}

// conclude ends a span. An error is told by its class alone: its words may be
// those of a message.
func conclude(span trace.Span, class agentcore.ErrorClass) {
	if class != "" {
		span.SetAttributes(attribute.String("error.type", string(class)))
		span.SetStatus(codes.Error, string(class))
	}
	span.End()
}
