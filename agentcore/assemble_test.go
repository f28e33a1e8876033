package agentcore_test

import (
	"fmt"
	"strings"
	"testing"

	"clawbot/agentcore"
)

func text(i int, delta string) agentcore.StreamEvent {
	return agentcore.StreamEvent{Type: agentcore.StreamText, Index: i, Delta: delta}
}

func opens(i int, id, name string) agentcore.StreamEvent {
	return agentcore.StreamEvent{Type: agentcore.StreamToolCall, Index: i, ID: id, Name: name}
}

func arguments(i int, delta string) agentcore.StreamEvent {
	return agentcore.StreamEvent{Type: agentcore.StreamArguments, Index: i, Delta: delta}
}

func TestOnlyAFinishedToolUseDispatches(t *testing.T) {
	whole := []agentcore.StreamEvent{text(0, "On it."), opens(1, "c1", "a"), arguments(1, `{"n":1}`)}
	cut := []agentcore.StreamEvent{text(0, "On it."), opens(1, "c1", "a"), arguments(1, `{"n":`)}
	nameless := []agentcore.StreamEvent{text(0, "On it."), opens(1, "c1", ""), arguments(1, `{}`)}
	for _, test := range []struct {
		name   string
		events []agentcore.StreamEvent
		stop   agentcore.StopReason
		want   string
	}{
		{"a tool use", whole, agentcore.StopToolUse, `assistant "On it." + call c1 a {"n":1} toolUse`},
		{"a tool use with broken arguments, for validation to report", cut, agentcore.StopToolUse, `assistant "On it." + call c1 a {"n": toolUse`},
		{"a stop with complete calls", whole, agentcore.StopEnd, `assistant "On it." + call c1 a {"n":1} toolUse`},
		{"a stop without a word on why", whole, "", `assistant "On it." + call c1 a {"n":1} toolUse`},
		{"a stop with a cut call", cut, agentcore.StopEnd, `assistant "On it." stop`},
		{"a stop with a nameless call", nameless, agentcore.StopEnd, `assistant "On it." stop`},
		{"a stop with one call cut of two", append(whole[:3:3], opens(2, "c2", "a"), arguments(2, `[`)), agentcore.StopEnd, `assistant "On it." stop`},
		{"length with a complete call", whole, agentcore.StopLength, `assistant "On it." length`},
		{"a pause", whole, agentcore.StopPause, `assistant "On it." pause`},
		{"a refusal", whole, agentcore.StopRefusal, `assistant "On it." refusal`},
		{"a tool use without calls", whole[:1], agentcore.StopToolUse, `assistant "On it." stop`},
		{"an error that came as an end", whole, agentcore.StopError, `assistant "On it." error (bad_response: the model's answer failed without saying why)`},
		{"nothing", nil, agentcore.StopEnd, `assistant error (empty: the model ended its turn with neither text nor a tool call)`},
		{"white space", []agentcore.StreamEvent{text(0, " \n")}, agentcore.StopEnd, `assistant " \n" error (empty: the model ended its turn with neither text nor a tool call)`},
		{"only a cut call", cut[1:], agentcore.StopEnd, `assistant error (empty: the model ended its turn with a tool call that is not complete JSON)`},
		{"only a cut call at the limit", cut[1:], agentcore.StopLength, `assistant length`},
		{"a call without arguments", []agentcore.StreamEvent{opens(0, "c1", "a")}, agentcore.StopToolUse, `assistant call c1 a {} toolUse`},
		{"calls that share an id or have none", []agentcore.StreamEvent{opens(0, "c", "a"), opens(1, "c", "b"), opens(2, "", "d"), opens(3, "", "e")}, agentcore.StopToolUse,
			`assistant call c a {} + call c_1 b {} + call call_2 d {} + call call_3 e {} toolUse`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var a agentcore.Assembler
			for _, ev := range test.events {
				a.Add(ev)
			}
			got := traceMessage(a.Finish(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: test.stop}))
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestBlocksMayInterleaveAndBeReplaced(t *testing.T) {
	var a agentcore.Assembler
	for _, ev := range []agentcore.StreamEvent{
		{Type: agentcore.StreamThinking, Index: 0, Delta: "hm"}, text(1, "A"), opens(2, "", "n"), opens(3, "c2", "m"),
		arguments(2, `{"x"`), text(1, "B"), arguments(3, `{}`), arguments(2, `:1}`), opens(2, "c1", "ignored"),
		{Type: agentcore.StreamBlockEnd, Index: 0, Block: agentcore.Thinking{Text: "hm", Signature: "sig"}},
		{Type: agentcore.StreamBlockEnd, Index: 1}, text(0, "not thinking"), text(-1, "x"), text(1<<30, "x"),
	} {
		a.Add(ev)
	}
	m := a.Finish(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopToolUse})
	want := `assistant thinking "hm" + "AB" + call c1 n {"x":1} + call c2 m {} toolUse`
	if got := traceMessage(m); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if th, ok := m.Content[0].(agentcore.Thinking); !ok || th.Signature != "sig" {
		t.Errorf("the signature is lost: %#v", m.Content[0])
	}
}

func TestAPartialIsASnapshotWithoutCalls(t *testing.T) {
	var a agentcore.Assembler
	a.Add(text(0, "Hel"))
	a.Add(opens(1, "c", "n"))
	before := a.Partial(agentcore.StopAborted, &agentcore.Error{Class: agentcore.ErrAborted, Message: "x"})
	a.Add(text(0, "lo"))
	if got := traceMessage(before); got != `assistant "Hel" aborted (aborted: x)` {
		t.Error(got)
	}
	a.Add(agentcore.StreamEvent{Type: agentcore.StreamRestart})
	a.Add(text(0, "Bye"))
	if got := traceMessage(a.Finish(agentcore.StreamEvent{Stop: agentcore.StopEnd})); got != `assistant "Bye" stop` {
		t.Error(got)
	}
}

// TestDeltasCostTheirOwnLength counts allocations: a copy of the message per
// delta would make some for each.
func TestDeltasCostTheirOwnLength(t *testing.T) {
	const deltas = 10_000
	allocs := testing.AllocsPerRun(5, func() {
		var a agentcore.Assembler
		for range deltas {
			a.Add(text(0, "word "))
		}
		a.Finish(agentcore.StreamEvent{Stop: agentcore.StopEnd})
	})
	if allocs > 100 {
		t.Errorf("%v allocations for %d deltas", allocs, deltas)
	}
}

func TestManyBlocksAreKeptInOrder(t *testing.T) {
	var a agentcore.Assembler
	var want strings.Builder
	for i := range 50 { // the slice of blocks grows while they are open
		for j := range i + 1 {
			a.Add(text(j, fmt.Sprint(i, " ")))
		}
	}
	for j := range 50 {
		for i := j; i < 50; i++ {
			fmt.Fprint(&want, i, " ")
		}
		want.WriteString("\n")
	}
	got := a.Finish(agentcore.StreamEvent{Stop: agentcore.StopEnd}).Text() + "\n"
	if got != want.String() {
		t.Error("the texts differ")
	}
}
