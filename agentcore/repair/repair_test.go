package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"clawbot/agentcore"
)

// script is a model that streams fixed events and perhaps fails.
type script struct {
	events []agentcore.StreamEvent
	err    error
}

func (s script) Stream(context.Context, *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		for _, ev := range s.events {
			if !yield(ev, nil) {
				return
			}
		}
		if s.err != nil {
			yield(agentcore.StreamEvent{}, s.err)
		}
	}
}

// says streams text in deltas of n bytes and stops with stop.
func says(text string, n int, stop agentcore.StopReason) script {
	var s script
	for text != "" {
		k := min(n, len(text))
		s.events = append(s.events, agentcore.StreamEvent{Type: agentcore.StreamText, Delta: text[:k]})
		text = text[k:]
	}
	s.events = append(s.events, agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: stop})
	return s
}

var request = &agentcore.Request{Tools: []agentcore.ToolSpec{
	{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}}}`)},
	{Name: "write_file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"lines":{"type":["array","null"]}}}`)},
	{Name: "ping", Schema: json.RawMessage(`{"type":"object"}`)},
}}

// outcome is what a consumer saw of a stream.
type outcome struct {
	text  string
	calls []string // name and arguments
	stop  agentcore.StopReason
	err   error
	most  int // the longest text that was on show at any time
}

func run(m agentcore.Model, req *agentcore.Request) outcome {
	var out outcome
	args := map[int]int{}
	for ev, err := range Wrap(m).Stream(context.Background(), req) {
		if err != nil {
			out.err = err
			break
		}
		switch ev.Type {
		case agentcore.StreamText:
			out.text += ev.Delta
		case agentcore.StreamRestart:
			out.text, out.calls = "", nil
		case agentcore.StreamToolCall:
			args[ev.Index] = len(out.calls)
			out.calls = append(out.calls, ev.Name+" ")
		case agentcore.StreamArguments:
			out.calls[args[ev.Index]] += ev.Delta
		case agentcore.StreamDone:
			out.stop = ev.Stop
		}
		out.most = max(out.most, len(out.text))
	}
	return out
}

const fence = "```"

func TestEveryFormBecomesACall(t *testing.T) {
	tests := []struct{ name, text, shown, call string }{
		{"bracket", "[read]\n{\"path\":\"a\"}\n[END_TOOL_REQUEST]", "", `read {"path":"a"}`},
		{"bracket closed by name", "[read] \n{\"path\":\"a\"}\n[/read]", "", `read {"path":"a"}`},
		{"bracket without a close", "[read]\n{\"path\":\"a\"}", "", `read {"path":"a"}`},
		{"bracket in two blocks", "[read]\n{\"path\":\"a\"}\n\n[ping]\n{}", "", `read {"path":"a"}|ping {}`},
		{"bracket with parameters", "[read]\n<parameter=path>\na\n</parameter>\n</function>", "", `read {"path":"a"}`},
		{"tool: on one line", `[tool:read] {"path":"a"}`, "", `read {"path":"a"}`},
		{"tool: with parameters and no close", "[tool:read]\n<parameter=path>a</parameter>\n<parameter=n>3</parameter>", "", `read {"path":"a","n":3}`},
		{"harmony text", `commentary to=read code {"path":"a"}`, "", `read {"path":"a"}`},
		{"harmony tokens", `Hm.<|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path":"a"}<|call|>`, "Hm.", `read {"path":"a"}`},
		{"function", "Now.\n<function=read><parameter=path>\na\n</parameter></function>", "Now.\n", `read {"path":"a"}`},
		{"function without parameters", "<FUNCTION=ping></FUNCTION>", "", `ping {}`},
		{"qwen coder", "<tool_call>\n<function=read>\n<parameter=path>\n7\n</parameter>\n</function>\n</tool_call>", "", `read {"path":"7"}`},
		{"hermes", "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>", "", `read {"path": "a"}`},
		{"hermes with arguments in a string", `<tool_call>{"name":"read","arguments":"{\"path\":\"a\"}"}</tool_call>`, "", `read {"path":"a"}`},
		{"hermes without arguments", `<tool_call>{"name":"ping"}</tool_call>`, "", `ping {}`},
		{"big integers", `<tool_call>{"name":"read","arguments":{"n":12345678901234567890123}}</tool_call>`, "", `read {"n":12345678901234567890123}`},
		{"glm", "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>12</arg_value>\n</tool_call>", "", `read {"path":"12"}`},
		{"invoke", "<function_calls>\n<invoke name=\"read\">\n<parameter name=\"path\">a</parameter>\n</invoke>\n</function_calls>", "", `read {"path":"a"}`},
		{"dsml", "Ok <｜DSML｜tool_calls><｜DSML｜invoke name=\"read\"><｜DSML｜parameter name=\"path\" string=\"true\">1 &lt; 2</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>", "Ok ", `read {"path":"1 < 2"}`},
		{"deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n" + fence + "json\n{\"path\":\"a\"}\n" + fence + "<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", "", `read {"path":"a"}`},
		{"kimi", `<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path":"a"}<|tool_call_end|><|tool_calls_section_end|>`, "", `read {"path":"a"}`},
		{"mistral list", `Sure. [TOOL_CALLS] [{"name":"read","arguments":{"path":"a"}},{"name":"ping","arguments":{}}]`, "Sure. ", `read {"path":"a"}|ping {}`},
		{"mistral names", `[TOOL_CALLS]read[ARGS]{"path":"a"}[TOOL_CALLS]ping{}`, "", `read {"path":"a"}|ping {}`},
		{"bare object", ` {"name":"READ","parameters":{"path":"a"}}`, "", `read {"path":"a"}`},
		{"bare openai object", `{"type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}`, "", `read {"path":"a"}`},
		{"bare tool_calls", `{"tool_calls":[{"function":{"name":"ping","arguments":{}}},{"name":"read","args":{"path":"a"}}]}`, "", `ping {}|read {"path":"a"}`},
		{"a closing tag in a value", "<function=write_file><parameter=content>a</parameter>b\n</function> c</parameter><parameter=lines>[1]</parameter></function>", "", `write_file {"content":"a</parameter>b\n</function> c","lines":[1]}`},
	}
	for _, test := range tests {
		for _, n := range []int{1, 3, 7, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", test.name, n), func(t *testing.T) {
				got := run(says(test.text, n, agentcore.StopEnd), request)
				if calls := strings.Join(got.calls, "|"); calls != test.call || got.text != test.shown || got.stop != agentcore.StopToolUse {
					t.Errorf("shown %q, calls %s, stop %s; want %q, %s, toolUse", got.text, calls, got.stop, test.shown, test.call)
				}
				if got.most > len(test.shown) {
					t.Errorf("%d bytes were on show", got.most)
				}
			})
		}
	}
}

func TestWhatIsNoCallIsShownAsItCame(t *testing.T) {
	call := `<tool_call>{"name":"read","arguments":{"path":"a"}}</tool_call>`
	tests := []struct{ name, text string }{
		{"prose", "a < b and [read] or {x}; see [tool:read] {\"path\":\"x\"}."},
		{"an unknown name", "<function=launch><parameter=n>3</parameter></function>"},
		{"one unknown name among known ones", "[read]\n{\"path\":\"a\"}\n[launch]\n{}"},
		{"a call that prose follows", call + " and then it runs."},
		{"a call in a fence", "Like so:\n\n" + fence + "xml\n" + call + "\n" + fence + "\n"},
		{"a call in a tilde fence", "~~~~\n" + call + "\n~~~\n" + call + "\n~~~~\n"},
		{"a call in a span", "Write `" + call + "`"},
		{"a call in a span of two", "Write ``a ` " + call + "``"},
		{"a bare form after prose", "Here:\n[read]\n{\"path\":\"a\"}"},
		{"incomplete JSON", `<tool_call>{"name":"read","arguments":{"path":"a"`},
		{"no closing tag", `<tool_call>{"name":"read","arguments":{"path":"a"}}`},
		{"a bracket without a line break", `[read] {"path":"a"}`},
		{"an answer in JSON", `{"temperature": 21, "unit": "C"}`},
		{"JSON with a tool's name but no arguments", `{"name":"read"}`},
		{"arguments that are a list", `<tool_call>{"name":"read","arguments":[1]}</tool_call>`},
		{"a parameter twice", "<function=read><parameter=path>a</parameter><parameter=path>b</parameter></function>"},
		{"one bad entry of a list", `{"tool_calls":[{"name":"ping","arguments":{}},{"name":"ping"}, 3]}`},
		{"only white space", " \n "},
		{"a lone opening", "<"},
		{"markup", "<b>bold</b> <tool>x</tool> <invoke>"},
		{"openings in a row", strings.Repeat("<tool_call>", 50)},
		{"non-ASCII", "<｜▁ [｜] ≤ é 漢 \xff <"},
	}
	for _, test := range tests {
		for _, n := range []int{1, 3, 7, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", test.name, n), func(t *testing.T) {
				got := run(says(test.text, n, agentcore.StopEnd), request)
				if got.text != test.text || len(got.calls) > 0 || got.stop != agentcore.StopEnd {
					t.Errorf("shown %q, calls %v, stop %s; want it as it came", got.text, got.calls, got.stop)
				}
			})
		}
	}
}

func TestFalsePrefixesAreShownAtTheFirstByteThatDoesNotFit(t *testing.T) {
	for _, test := range []struct{ before, shown string }{
		{"see <tool_cab", "see <tool_cab"},
		{"see <tool_ca", "see "},
		{"[reed", ""},
		{"[reed]", "[reed]"},
		{"{\"answer", "{\"answer"},
		{"commence", "commence"},
	} {
		s := says(test.before, 1, agentcore.StopEnd)
		s.events = s.events[:len(s.events)-1]
		shown := ""
		for ev := range Wrap(s).Stream(t.Context(), request) {
			shown += ev.Delta
		}
		if shown != test.shown {
			t.Errorf("after %q, %q is on show; want %q", test.before, shown, test.shown)
		}
	}
}

func TestOnlyAModelThatStoppedByItselfIsRepaired(t *testing.T) {
	text := `<tool_call>{"name":"ping"}</tool_call>`
	if got := run(says(text, 5, agentcore.StopLength), request); len(got.calls) > 0 || got.text != "" {
		t.Errorf("cut by length: shown %q, calls %v; want neither", got.text, got.calls)
	}
	if got := run(says("a <tool_ca", 5, agentcore.StopLength), request); got.text != "a <tool_ca" {
		t.Errorf("cut in prose: shown %q", got.text)
	}
	s := says(text, 5, agentcore.StopToolUse)
	s.events = append(s.events[:len(s.events)-1],
		agentcore.StreamEvent{Type: agentcore.StreamToolCall, Index: 1, ID: "1", Name: "read"}, s.events[len(s.events)-1])
	if got := run(s, request); len(got.calls) != 1 || got.text != text {
		t.Errorf("beside a proper call: shown %q, calls %v", got.text, got.calls)
	}
	broken := says("so <tool_call>", 5, agentcore.StopEnd)
	broken.events, broken.err = broken.events[:len(broken.events)-1], errors.New("cut")
	if got := run(broken, request); got.text != "so <tool_call>" || got.err == nil {
		t.Errorf("before an error: shown %q, error %v", got.text, got.err)
	}
	if got := run(says(text, 5, agentcore.StopEnd), &agentcore.Request{}); got.text != text {
		t.Errorf("without tools: shown %q", got.text)
	}
}

func TestARestartForgetsWhatWasHeld(t *testing.T) {
	s := says("x <tool_call>", 4, agentcore.StopEnd)
	s.events = append(s.events[:len(s.events)-1], agentcore.StreamEvent{Type: agentcore.StreamRestart})
	s.events = append(s.events, says("done", 4, agentcore.StopEnd).events...)
	if got := run(s, request); got.text != "done" {
		t.Errorf("shown %q, want done", got.text)
	}
}

func TestEventsBehindHeldTextKeepTheirOrder(t *testing.T) {
	text := func(i int, s string) agentcore.StreamEvent {
		return agentcore.StreamEvent{Type: agentcore.StreamText, Index: i, Delta: s}
	}
	think := agentcore.StreamEvent{Type: agentcore.StreamThinking, Index: 1, Delta: "hm"}
	end := agentcore.StreamEvent{Type: agentcore.StreamBlockEnd, Index: 0, Block: agentcore.Text{Text: "a [TOOL_CALLS]"}}
	s := script{events: []agentcore.StreamEvent{text(0, "a [TOOL_CALLS]"), end, think, text(2, " no"), {Type: agentcore.StreamDone, Stop: agentcore.StopEnd}}}
	var got []string
	for ev := range Wrap(s).Stream(t.Context(), request) {
		got = append(got, fmt.Sprintf("%d:%s", ev.Index, ev.Delta))
	}
	if want := "0:a  0:[TOOL_CALLS] 0: 1:hm 2: no 0:"; strings.Join(got, " ") != want {
		t.Errorf("events %q, want %q", strings.Join(got, " "), want)
	}
}

func TestAFinishedBlockDoesNotBringTheCallBack(t *testing.T) {
	whole := `Ok. <tool_call>{"name":"ping"}</tool_call>`
	s := says(whole, 6, agentcore.StopEnd)
	s.events = append(s.events[:len(s.events)-1],
		agentcore.StreamEvent{Type: agentcore.StreamBlockEnd, Block: agentcore.Text{Text: whole}}, s.events[len(s.events)-1])
	var a agentcore.Assembler
	var m *agentcore.Message
	for ev := range Wrap(s).Stream(t.Context(), request) {
		if a.Add(ev); ev.Type == agentcore.StreamDone {
			m = a.Finish(ev)
		}
	}
	if m.Text() != "Ok. " || len(m.ToolCalls()) != 1 || m.Stop != agentcore.StopToolUse {
		t.Errorf("message %+v, want the prose and one call", m)
	}
}

func TestACallThatIsTooLongIsNeitherShownNorRun(t *testing.T) {
	long := `<tool_call>{"name":"x","arguments":` // never named: shown
	got := run(says(`<function=write_file><parameter=content>`+strings.Repeat("x", 2*maxHeld), 1000, agentcore.StopEnd), request)
	if got.text != "" || len(got.calls) > 0 {
		t.Errorf("%d bytes shown, %d calls", len(got.text), len(got.calls))
	}
	text := long + `"` + strings.Repeat("x", 2*maxHeld)
	if got := run(says(text, 1000, agentcore.StopEnd), request); got.text != text {
		t.Errorf("%d bytes shown of %d", len(got.text), len(text))
	}
}

func FuzzEveryByteIsShownOnceOrPromoted(f *testing.F) {
	f.Add("<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>", 3)
	f.Add("[read]\n{}[TOOL_CALLS][{}]", 1)
	f.Add("<function=read><parameter=a>\n</parameter></function> `x` ```\n", 2)
	f.Add("<｜tool▁calls▁begin｜>", 2)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 1 || n > 1000 {
			n = 1
		}
		got := run(says(text, n, agentcore.StopEnd), request)
		whole := run(says(text, len(text)+1, agentcore.StopEnd), request)
		if got.text != whole.text || strings.Join(got.calls, "|") != strings.ReplaceAll(strings.Join(whole.calls, "|"), "\x00", "") {
			t.Fatalf("deltas of %d: %q %v; whole: %q %v", n, got.text, got.calls, whole.text, whole.calls)
		}
		if len(got.calls) == 0 && got.text != text && len(text) < maxHeld {
			t.Fatalf("shown %q of %q", got.text, text)
		}
		if !strings.HasPrefix(text, got.text) && len(got.calls) == 0 {
			t.Fatalf("shown %q is no beginning of %q", got.text, text)
		}
		for _, c := range got.calls {
			_, args, _ := strings.Cut(c, " ")
			if !json.Valid([]byte(args)) {
				t.Fatalf("arguments %q", args)
			}
		}
	})
}

func BenchmarkProse(b *testing.B) {
	benchmark(b, strings.Repeat("The quick brown fox, and so on. ", 32))
}
func BenchmarkTriggers(b *testing.B) { benchmark(b, strings.Repeat("<tool_ [T {\n", 85)) }
func BenchmarkHeldCall(b *testing.B) {
	benchmark(b, `<function=write_file><parameter=content>`+strings.Repeat("x", 980))
}
func BenchmarkMegabyte(b *testing.B) {
	benchmark(b, strings.Repeat("<tool_call>{\n<function=read>", 36000))
}

func benchmark(b *testing.B, text string) {
	s := says(text, 4, agentcore.StopEnd)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for range Wrap(s).Stream(b.Context(), request) {
		}
	}
}
