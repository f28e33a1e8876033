package casetest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/agentcore/repair"
)

// typist is a model that types text in deltas of n bytes and stops.
type typist struct {
	text string
	n    int
}

func (m typist) Stream(context.Context, *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		for rest := m.text; rest != ""; {
			k := min(m.n, len(rest))
			if !yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: rest[:k]}, nil) {
				return
			}
			rest = rest[k:]
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}, nil)
	}
}

// Repair runs cases of a text that may hold tool calls: whole, and typed a few
// characters at a time. Nothing that becomes a call may be on show before.
func (runner) Repair(t *testing.T, c Case) {
	req := &agentcore.Request{Tools: c.tools(t)}
	for _, n := range []int{len(c.Input) + 1, 1, 3, 7} {
		var a agentcore.Assembler
		var m *agentcore.Message
		longest := 0
		shown := 0
		for ev, err := range repair.Wrap(typist{string(c.Input), n}).Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type == agentcore.StreamText {
				shown += len(ev.Delta)
				longest = max(longest, shown)
			}
			if a.Add(ev); ev.Type == agentcore.StreamDone {
				m = a.Finish(ev)
			}
		}
		if longest > len(m.Text()) {
			t.Errorf("deltas of %d: %d bytes were on show, %d are left", n, longest, len(m.Text()))
		}
		var wrong []string
		for _, expected := range alternatives(t, c.Expected) {
			if problem := compareRepair(t, expected, m); problem != "" {
				wrong = append(wrong, problem)
			}
		}
		if len(wrong) == len(alternatives(t, c.Expected)) {
			t.Errorf("deltas of %d: no accepted outcome:\n%s", n, strings.Join(wrong, "\n"))
		}
	}
}

func compareRepair(t *testing.T, expected map[string]json.RawMessage, m *agentcore.Message) string {
	var want struct {
		Text           string
		TextStartsWith string
		TextFree       bool
		StopReason     string
		ToolCalls      []struct {
			Name      string
			Arguments any
		}
	}
	raw, err := json.Marshal(expected)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, raw, &want)
	text := strings.TrimSpace(m.Text())
	switch {
	case want.TextFree:
	case want.TextStartsWith != "" && !strings.HasPrefix(text, want.TextStartsWith):
		return fmt.Sprintf("text %q, want it to begin with %q", text, want.TextStartsWith)
	case want.TextStartsWith == "" && text != strings.TrimSpace(want.Text):
		return fmt.Sprintf("text %q, want %q", text, want.Text)
	}
	if want.StopReason != "" && string(m.Stop) != want.StopReason {
		return fmt.Sprintf("stop %s, want %s", m.Stop, want.StopReason)
	}
	calls := m.ToolCalls()
	if len(calls) != len(want.ToolCalls) {
		return fmt.Sprintf("%d calls, want %d", len(calls), len(want.ToolCalls))
	}
	for i, call := range calls {
		var args any
		decode(t, call.Arguments, &args)
		if call.Name != want.ToolCalls[i].Name || !reflect.DeepEqual(args, want.ToolCalls[i].Arguments) {
			return fmt.Sprintf("call %d is %s %s, want %s %v", i, call.Name, call.Arguments, want.ToolCalls[i].Name, want.ToolCalls[i].Arguments)
		}
	}
	return ""
}

// tools are those that the case declares whole.
func (c Case) tools(t *testing.T) (specs []agentcore.ToolSpec) {
	t.Helper()
	var declared []struct {
		Name, Description string
		Parameters        json.RawMessage
	}
	decode(t, c.Meta.Tools, &declared)
	for _, d := range declared {
		specs = append(specs, agentcore.ToolSpec{Name: d.Name, Description: d.Description, Schema: d.Parameters})
	}
	return specs
}
