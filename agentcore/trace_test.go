package agentcore_test

import (
	"fmt"
	"strings"

	"clawbot/agentcore"
)

// traceEvent writes an event as one line of a conversation.
func traceEvent(ev agentcore.Event) string {
	var b strings.Builder
	b.WriteString(indents[ev.Type])
	b.WriteString(ev.Type.String())
	switch ev.Type {
	case agentcore.MessageStart:
		fmt.Fprintf(&b, " %s", ev.Message.Role)
	case agentcore.MessageUpdate:
		fmt.Fprintf(&b, " %s", traceDelta(ev.Delta))
	case agentcore.MessageEnd:
		fmt.Fprintf(&b, " %s", traceMessage(ev.Message))
	case agentcore.ToolStart:
		fmt.Fprintf(&b, " %s %s %s", ev.Call.ID, ev.Call.Name, ev.Call.Arguments)
	case agentcore.ToolUpdate:
		fmt.Fprintf(&b, " %s %s", ev.Call.ID, traceContent(ev.Update.Content))
	case agentcore.ToolEnd:
		fmt.Fprintf(&b, " %s %s", ev.Call.ID, traceContent(ev.Result.Content))
		b.WriteString(flags("error", ev.Result.IsError, "not executed", !ev.Executed, "terminate", ev.Result.Terminate))
	case agentcore.TurnEnd:
		for _, m := range ev.Results {
			fmt.Fprintf(&b, " %s", m.ToolCallID)
		}
	case agentcore.AgentEnd:
		fmt.Fprintf(&b, " %d messages", len(ev.Messages))
		if ev.Err != nil {
			fmt.Fprintf(&b, ", %s: %v", className(ev.Err), ev.Err)
		}
	}
	return b.String() + "\n"
}

var indents = map[agentcore.EventType]string{
	agentcore.TurnStart: "  ", agentcore.TurnEnd: "  ",
	agentcore.MessageStart: "    ", agentcore.MessageUpdate: "    ", agentcore.MessageEnd: "    ",
	agentcore.ToolStart: "    ", agentcore.ToolUpdate: "    ", agentcore.ToolEnd: "    ",
}

func className(err *agentcore.Error) string {
	if err.Class == agentcore.ErrUnknown {
		return "unknown"
	}
	return string(err.Class)
}

func traceDelta(d agentcore.StreamEvent) string {
	switch d.Type {
	case agentcore.StreamText:
		return fmt.Sprintf("text %q", d.Delta)
	case agentcore.StreamThinking:
		return fmt.Sprintf("thinking %q", d.Delta)
	case agentcore.StreamToolCall:
		return fmt.Sprintf("call %s %s", d.ID, d.Name)
	case agentcore.StreamArguments:
		return "arguments " + d.Delta
	case agentcore.StreamRestart:
		return "restart"
	}
	return fmt.Sprint(d.Type)
}

func traceMessage(m *agentcore.Message) string {
	var b strings.Builder
	b.WriteString(string(m.Role))
	if m.Role == agentcore.RoleToolResult {
		fmt.Fprintf(&b, " %s", m.ToolCallID)
	}
	if content := traceContent(m.Content); content != "" {
		b.WriteString(" " + content)
	}
	if m.Role == agentcore.RoleAssistant {
		fmt.Fprintf(&b, " %s", m.Stop)
	}
	b.WriteString(flags("error", m.IsError))
	if m.Error != nil {
		fmt.Fprintf(&b, " (%s: %v)", className(m.Error), m.Error)
	}
	return b.String()
}

func traceContent(content []agentcore.Block) string {
	var parts []string
	for _, b := range content {
		switch b := b.(type) {
		case agentcore.Text:
			parts = append(parts, fmt.Sprintf("%q", b.Text))
		case agentcore.Thinking:
			parts = append(parts, fmt.Sprintf("thinking %q", b.Text))
		case agentcore.ToolCall:
			parts = append(parts, fmt.Sprintf("call %s %s %s", b.ID, b.Name, b.Arguments))
		default:
			parts = append(parts, fmt.Sprintf("%T", b))
		}
	}
	return strings.Join(parts, " + ")
}

// flags lists the names whose condition holds.
func flags(pairs ...any) string {
	var names []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1].(bool) {
			names = append(names, pairs[i].(string))
		}
	}
	if names == nil {
		return ""
	}
	return " [" + strings.Join(names, ", ") + "]"
}

func traceRequest(n int, model string, req *agentcore.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "request %d", n)
	if model != "" {
		fmt.Fprintf(&b, " to %s", model)
	}
	for i, tool := range req.Tools {
		if i == 0 {
			b.WriteString(" tools")
		}
		b.WriteString(" " + tool.Name)
	}
	if req.MaxTokens > 0 {
		fmt.Fprintf(&b, " max_tokens %d", req.MaxTokens)
	}
	if req.Thinking != "" {
		fmt.Fprintf(&b, " thinking %s", req.Thinking)
	}
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "\n  %s", traceMessage(m))
	}
	return b.String() + "\n"
}
