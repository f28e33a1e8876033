package agentcore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
)

// memoryModel answers a user message with a tool call and a result with text.
type memoryModel struct {
	call, answer []agentcore.StreamEvent
	calls        int
}

func newMemoryModel() *memoryModel {
	ev := func(t agentcore.StreamEventType, delta string) agentcore.StreamEvent {
		return agentcore.StreamEvent{Type: t, Delta: delta}
	}
	return &memoryModel{
		call: []agentcore.StreamEvent{
			{Type: agentcore.StreamToolCall, ID: "c", Name: "get_weather"},
			ev(agentcore.StreamArguments, `{"location":`), ev(agentcore.StreamArguments, `"Lima"}`),
			{Type: agentcore.StreamDone, Stop: agentcore.StopToolUse},
		},
		answer: []agentcore.StreamEvent{
			ev(agentcore.StreamText, "It is "), ev(agentcore.StreamText, "sunny "), ev(agentcore.StreamText, "in Lima."),
			{Type: agentcore.StreamDone, Stop: agentcore.StopEnd},
		},
	}
}

func (m *memoryModel) Stream(_ context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		events := m.answer
		if req.Messages[len(req.Messages)-1].Role == agentcore.RoleUser {
			events = m.call
			m.calls++
			events[0].ID = "call_" + strconv.Itoa(m.calls)
		}
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

var weatherSchema = json.RawMessage(`{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}`)

func weatherTool() *agentcore.Tool {
	return &agentcore.Tool{
		Name: "get_weather", Description: "Tells the weather.", Schema: weatherSchema,
		Execute: func(context.Context, agentcore.Call, func(agentcore.Update)) (agentcore.Result, error) {
			return agentcore.TextResult("sunny"), nil
		},
	}
}

// BenchmarkLoop measures runs of one tool turn: two model calls and twenty or
// so events each.
func BenchmarkLoop(b *testing.B) {
	for _, history := range []int{0, 2000} {
		b.Run(fmt.Sprintf("history=%d", history), func(b *testing.B) {
			tools := []*agentcore.Tool{weatherTool()}
			prompt := []*agentcore.Message{{ID: "prompt", Time: time.Now(), Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: "Weather?"}}}}
			schemas := new(agentcore.Schemas)
			past := pastMessages(history)
			b.ReportAllocs()
			var l *agentcore.Loop
			calls, events := 0, 0
			for i := range b.N {
				if i%500 == 0 { // a conversation of 500 runs, then another
					l = agentcore.New(agentcore.Config{Model: newMemoryModel(), Messages: past, Tools: tools, Schemas: schemas})
				}
				for ev, err := range l.Run(b.Context(), prompt) {
					if err != nil {
						b.Fatal(err)
					}
					events++
					if ev.Type == agentcore.TurnEnd {
						calls++
					}
				}
			}
			b.ReportMetric(float64(calls)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(events)/float64(b.N), "events/op")
		})
	}
}

func pastMessages(n int) []*agentcore.Message {
	past := make([]*agentcore.Message, 0, n)
	for i := range n / 4 {
		id := fmt.Sprint("past_", i)
		past = append(past,
			&agentcore.Message{ID: id + "u", Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: "Weather?"}}},
			&agentcore.Message{ID: id + "a", Role: agentcore.RoleAssistant, Stop: agentcore.StopToolUse, Content: []agentcore.Block{
				agentcore.ToolCall{ID: id, Name: "get_weather", Arguments: json.RawMessage(`{"location":"Lima"}`)}}},
			&agentcore.Message{ID: id + "r", Role: agentcore.RoleToolResult, ToolCallID: id, Content: []agentcore.Block{agentcore.Text{Text: "sunny"}}},
			&agentcore.Message{ID: id + "t", Role: agentcore.RoleAssistant, Stop: agentcore.StopEnd, Content: []agentcore.Block{agentcore.Text{Text: "Sunny."}}})
	}
	return past
}

// deltaModel streams one text of b.N deltas.
type deltaModel struct{ n int }

func (m deltaModel) Stream(context.Context, *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		for range m.n {
			if !yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: "word "}, nil) {
				return
			}
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}, nil)
	}
}

// BenchmarkDelta is the cost of one streamed delta in an ever longer message.
func BenchmarkDelta(b *testing.B) {
	b.ReportAllocs()
	l := agentcore.New(agentcore.Config{Model: deltaModel{b.N}})
	prompt := []*agentcore.Message{{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: "Go"}}}}
	b.ResetTimer()
	for _, err := range l.Run(b.Context(), prompt) {
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	schema := json.RawMessage(`{"type":"object","required":["path","edits"],"properties":{"path":{"type":"string"},
		"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"},"count":{"type":"integer"}}}}}}`)
	tool := &agentcore.Tool{Name: "edit", Schema: schema}
	for _, bench := range []struct{ name, args string }{
		{"small", `{"path":"a.txt","edits":[]}`},
		{"fits", `{"path":"a.txt","edits":[{"old":"a","new":"b","count":1},{"old":"c","new":"d","count":2}]}`},
		{"coerced", `{"path":"a.txt","edits":"[{\"old\":\"a\",\"new\":\"b\",\"count\":\"1\"}]"}`},
		{"64kB", `{"path":"a.txt","edits":[{"old":"` + strings.Repeat("x", 64<<10) + `","new":"b","count":1}]}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			schemas := new(agentcore.Schemas)
			for range b.N {
				if _, err := schemas.Validate(tool, json.RawMessage(bench.args)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMessageJSON(b *testing.B) {
	m := &agentcore.Message{ID: "01J", Role: agentcore.RoleAssistant, Stop: agentcore.StopToolUse, Content: []agentcore.Block{
		agentcore.Text{Text: strings.Repeat("Some words of an answer. ", 20)},
		agentcore.ToolCall{ID: "c1", Name: "get_weather", Arguments: json.RawMessage(`{"location":"Lima"}`)}}}
	data, err := json.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := json.Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			var out agentcore.Message
			if err := json.Unmarshal(data, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
