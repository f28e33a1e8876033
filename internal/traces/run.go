package traces

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"clawbot/agentcore"
	"clawbot/gateway"
)

// Observer makes a span of every run and of its tools, and tells next, which is
// not nil, all that it is told.
func (t *Traces) Observer(next gateway.Observer) gateway.Observer {
	return &observer{Observer: next, t: t}
}

type observer struct {
	gateway.Observer
	t *Traces
}

// Run implements [gateway.Observer]. A run begins a trace of its own: what led
// to it is a message on a platform.
func (o *observer) Run(session, channel string) gateway.RunObserver {
	ctx, span := o.t.tracer.Start(context.Background(), "invoke_agent", trace.WithNewRoot(), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.conversation.id", session),
		attribute.String("clawbot.channel", channel)))
	return &run{t: o.t, next: o.Observer.Run(session, channel), ctx: ctx, span: span, session: session}
}

// run sees one run, on its goroutine.
type run struct {
	t       *Traces
	next    gateway.RunObserver
	ctx     context.Context // of the span
	span    trace.Span
	session string
	calls   map[string]trace.Span // tools that run, by the call's id
	usage   agentcore.Usage
	model   agentcore.ModelRef // that answered last
}

var (
	_ gateway.AgentObserver   = (*run)(nil)
	_ gateway.ContextObserver = (*run)(nil)
)

// Agent implements [gateway.AgentObserver].
func (r *run) Agent(name string) {
	r.span.SetName("invoke_agent " + name)
	r.span.SetAttributes(attribute.String("gen_ai.agent.name", name))
	if a, ok := r.next.(gateway.AgentObserver); ok {
		a.Agent(name)
	}
}

// Context implements [gateway.ContextObserver].
func (r *run) Context(ctx context.Context, run, message string) context.Context {
	r.span.SetAttributes(attribute.String("clawbot.run", run), attribute.String("clawbot.message", message))
	if c, ok := r.next.(gateway.ContextObserver); ok {
		ctx = c.Context(ctx, run, message)
	}
	return trace.ContextWithSpan(ctx, r.span)
}

// Event implements [gateway.RunObserver].
func (r *run) Event(ev agentcore.Event) {
	switch ev.Type {
	case agentcore.MessageEnd:
		if ev.Message.Role == agentcore.RoleAssistant {
			r.usage, r.model = r.usage.Add(ev.Message.Usage), ev.Message.Model
		}
	case agentcore.ToolStart:
		r.begin(ev.Call)
	case agentcore.ToolEnd:
		r.end(&ev)
	}
	r.next.Event(ev)
}

// maxName bounds the name of a tool, which a model may have made up.
const maxName = 64

func (r *run) begin(call *agentcore.ToolCall) {
	name := call.Name
	if len(name) > maxName {
		name = "_OTHER"
	}
	_, span := r.t.tracer.Start(r.ctx, "execute_tool "+name, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", name),
		attribute.String("gen_ai.tool.call.id", call.ID),
		attribute.String("gen_ai.tool.type", "function"),
		attribute.String("gen_ai.conversation.id", r.session)))
	if r.calls == nil {
		r.calls = map[string]trace.Span{}
	}
	r.calls[call.ID] = span
}

// end ends a tool's span. That a call was refused, or failed, is all that is
// told of it.
func (r *run) end(ev *agentcore.Event) {
	span := r.calls[ev.Call.ID]
	if span == nil {
		return
	}
	delete(r.calls, ev.Call.ID)
	switch {
	case !ev.Executed:
		conclude(span, "not_executed")
	case ev.Result != nil && ev.Result.IsError:
		conclude(span, "tool_error")
	default:
		conclude(span, "")
	}
}

// End implements [gateway.RunObserver].
func (r *run) End(outcome gateway.RunOutcome, class agentcore.ErrorClass) {
	for _, span := range r.calls {
		conclude(span, agentcore.ErrAborted)
	}
	r.span.SetAttributes(
		attribute.String("clawbot.outcome", string(outcome)),
		attribute.Int64("gen_ai.usage.input_tokens", r.usage.Input+r.usage.CacheRead+r.usage.CacheWrite),
		attribute.Int64("gen_ai.usage.output_tokens", r.usage.Output))
	if r.model.ID != "" {
		r.span.SetAttributes(attribute.String("gen_ai.provider.name", vendor(r.model)), attribute.String("gen_ai.response.model", r.model.ID))
	}
	switch outcome {
	case gateway.RunFailed:
		conclude(r.span, classOf(class))
	case gateway.RunLost:
		conclude(r.span, agentcore.ErrorClass(outcome))
	default:
		conclude(r.span, "")
	}
	r.next.End(outcome, class)
}
