package metrics

import (
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels/reply"
	"clawbot/gateway"
)

// BenchmarkRun is all that metrics cost an answer with one tool turn.
func BenchmarkRun(b *testing.B) {
	m := New(Config{})
	start := &agentcore.Message{Role: agentcore.RoleAssistant}
	ask := &agentcore.Message{Role: agentcore.RoleAssistant, Model: ref, Stop: agentcore.StopToolUse, Usage: agentcore.Usage{Input: 300, Output: 40}}
	answer := &agentcore.Message{Role: agentcore.RoleAssistant, Model: ref, Stop: agentcore.StopEnd, Usage: agentcore.Usage{Input: 400, Output: 80}}
	call := &agentcore.ToolCall{ID: "c1", Name: "read_file"}
	b.ReportAllocs()
	for b.Loop() {
		m.Accepted("telegram", gateway.AcceptedMessage)
		m.Waited("telegram", time.Millisecond)
		r := m.Run("telegram:1", "telegram")
		for _, msg := range []*agentcore.Message{ask, answer} {
			r.Event(agentcore.Event{Type: agentcore.MessageStart, Message: start})
			r.Event(agentcore.Event{Type: agentcore.MessageUpdate})
			r.Event(agentcore.Event{Type: agentcore.MessageEnd, Message: msg})
		}
		r.Event(agentcore.Event{Type: agentcore.ToolStart, Call: call})
		r.Event(agentcore.Event{Type: agentcore.ToolEnd, Call: call, Executed: true, Result: &agentcore.Result{}})
		r.End(gateway.RunAnswered, "")
		m.Delivered("telegram", reply.Stats{Posts: 1, Edits: 4}, false)
	}
}
