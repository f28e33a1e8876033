package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/providers"
)

type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	kind := "text/event-stream"
	if strings.HasPrefix(string(c), "{") {
		kind = "application/json"
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(string(c))), Request: r}, nil
}

// answer plays a body and describes what became of it.
func answer(t *testing.T, format, body string) string {
	t.Helper()
	m, err := New(providers.Config{Name: "x", Format: format, BaseURL: "http://x.example", HTTPClient: &http.Client{Transport: canned(body)}}, "m")
	if err != nil {
		t.Fatal(err)
	}
	var a agentcore.Assembler
	req := &agentcore.Request{Tools: []agentcore.ToolSpec{{Name: "get_weather"}, {Name: "ls"}}}
	for ev, err := range m.Stream(t.Context(), req) {
		switch {
		case err != nil:
			return "error: " + err.Error()
		case ev.Type == agentcore.StreamDone:
			return describe(a.Finish(ev))
		}
		a.Add(ev)
	}
	return "nothing"
}

func describe(m *agentcore.Message) string {
	var out []string
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Text:
			out = append(out, fmt.Sprintf("%q", b.Text))
		case agentcore.Thinking:
			out = append(out, fmt.Sprintf("(%s)", b.Text))
		case agentcore.ToolCall:
			sig := ""
			if b.Signature != "" {
				sig = "+" + b.Signature
			}
			out = append(out, fmt.Sprintf("%s%s%s", b.Name, b.Arguments, sig))
		}
	}
	return strings.Join(append(out, string(m.Stop)), " ")
}

// chat makes a stream of deltas and an end.
func chat(finish string, deltas ...string) string {
	out := ""
	for _, d := range deltas {
		out += `data: {"choices":[{"index":0,"delta":` + d + `}]}` + "\n\n"
	}
	return out + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}` + "\n\ndata: [DONE]\n\n"
}

func calls(fragments ...string) []string {
	var out []string
	for _, f := range fragments {
		out = append(out, `{"tool_calls":[`+f+`]}`)
	}
	return out
}

func TestChatStreamsOfManyServersAreUnderstood(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"no ids, one index, complete arguments", chat("tool_calls", calls(
			`{"index":0,"function":{"name":"ls","arguments":"{\"p\":1}"}}`, `{"index":0,"function":{"name":"ls","arguments":"{\"p\":2}"}}`)...),
			`ls{"p":1} ls{"p":2} toolUse`},
		{"no index, no ids", chat("tool_calls", calls(
			`{"function":{"name":"ls","arguments":"{\"p\":"}}`, `{"function":{"arguments":"1}"}}`, `{"function":{"name":"ls","arguments":"{}"}}`)...),
			`ls{"p":1} ls{} toolUse`},
		{"a name resent without an id", chat("tool_calls", calls(
			`{"index":0,"function":{"name":"ls","arguments":"{\"p\":"}}`, `{"index":0,"function":{"name":"ls","arguments":"1}"}}`)...), `ls{"p":1} toolUse`},
		{"a name in pieces", chat("tool_calls", calls(
			`{"index":0,"id":"a","function":{"name":"get_"}}`, `{"index":0,"function":{"name":"weather","arguments":"{}"}}`)...), `get_weather{} toolUse`},
		{"indexes that do not begin at zero, interleaved", chat("tool_calls", calls(
			`{"index":3,"id":"a","function":{"name":"ls","arguments":"{\"p\":"}},{"index":5,"id":"b","function":{"name":"ls","arguments":"{\"p\":"}}`,
			`{"index":3,"function":{"arguments":"1}"}}`, `{"index":5,"function":{"arguments":"2}"}}`)...), `ls{"p":1} ls{"p":2} toolUse`},
		{"a fresh id in every chunk, without a name", chat("tool_calls", calls(
			`{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"p\":"}}`, `{"index":0,"id":"b","function":{"arguments":"1}"}}`)...), `ls{"p":1} toolUse`},
		{"the old function_call", chat("function_call", `{"function_call":{"name":"ls","arguments":"{\"p\":"}}`, `{"function_call":{"arguments":"1}"}}`), `ls{"p":1} toolUse`},
		{"null arguments", chat("tool_calls", calls(`{"index":0,"id":"a","function":{"name":"ls","arguments":null}}`)...), `ls{} toolUse`},
		{"a thought signature", chat("tool_calls", calls(`{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}}`)...), `ls{}+sig toolUse`},
		{"tool_calls without any", chat("tool_calls", `{"content":"hi"}`), `"hi" stop`},
		{"text after a call", chat("tool_calls", `{"content":"a"}`, calls(`{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}`)[0], `{"content":"b"}`), `"ab" ls{} toolUse`},
		{"thinking in tags", chat("stop", `{"content":"<thi"}`, `{"content":"nk>\nhm</th"}`, `{"content":"ink>\n\nyes"}`), "(\nhm) \"yes\" stop"},
		{"a tag in the text", chat("stop", `{"content":"use <think> so"}`), `"use <think> so" stop`},
		{"a tag that never closes", chat("stop", `{"content":"<think>hm"}`), `(hm) error`},
		{"a text that only begins like a tag", chat("stop", `{"content":"<th"}`), `"<th" stop`},
		{"thinking twice under two names", chat("stop", `{"reasoning":"hm","reasoning_content":"hm"}`, `{"content":"yes"}`), `(hm) "yes" stop`},
		{"content as a list", chat("stop", `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]}`), `(hm) "yes" stop`},
		{"surrogates in two chunks", chat("stop", `{"content":"a\ud83e"}`, `{"content":"\udd80"}`), `"a🦀" stop`},
		{"another word for stop", chat("STOP", `{"content":"a"}`), `"a" stop`},
		{"a filter", chat("content_filter", `{"content":"a"}`), `"a" refusal`},
		{"a refusal", chat("stop", `{"refusal":"no"}`), `"no" refusal`},
		{"a second choice", `data: {"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}` + "\n\n" + chat("stop"), `"a" stop`},
		{"whole, not streamed", `{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, `"a" stop`},
		{"an unknown reason", chat("error_finish", `{"content":"a"}`), `error: x: the model ended with finish_reason "error_finish", which is an error or not known`},
	} {
		if got := answer(t, "", c.body); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func responses(events ...string) string {
	out := ""
	for _, ev := range events {
		out += "data: " + ev + "\n\n"
	}
	return out
}

func TestResponsesSnapshotsFillInWhatDeltasLeftOut(t *testing.T) {
	const completed = `{"type":"response.completed","response":{"status":"completed","output":[]}}`
	for _, c := range []struct{ name, body, want string }{
		{"no deltas at all", responses(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}}`), `"a" stop`},
		{"the rest of a text", responses(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}`,
			`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"abc"}`, completed), `"abc" stop`},
		{"a snapshot that differs", responses(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"abc"}`,
			`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"xyz and more"}`, completed), `"abc" stop`},
		{"arguments that were corrected", responses(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"ls","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"p\":1"}`,
			`{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"p\":2}"}`, completed), `ls{"p":2} toolUse`},
		{"empty arguments after deltas", responses(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"ls","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"p\":1}"}`,
			`{"type":"response.function_call_arguments.done","output_index":0,"arguments":""}`, completed), `ls{"p":1} toolUse`},
		{"Azure's text", responses(`{"type":"response.text.delta","output_index":0,"content_index":0,"delta":"a"}`, completed), `"a" stop`},
		{"output numbered otherwise at the end", responses(`{"type":"response.output_text.delta","delta":"a"}`,
			`{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"a"}]}]}}`), `"a" () stop`},
		{"whole, not streamed", `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}`, `"a" stop`},
		{"incomplete", responses(`{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`), `"a" length`},
	} {
		if got := answer(t, providers.FormatResponses, c.body); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAStrictSchemaIsClosedAndOptionalMembersMayBeNull(t *testing.T) {
	in := `{"type":"object","properties":{"q":{"type":"string"},"limit":{"type":"integer"},"mode":{"enum":["a"]},"list":{"type":"array","items":{"properties":{"c":{"type":"string"}}}}},"required":["q"]}`
	want := `{"additionalProperties":false,"properties":{"limit":{"type":["integer","null"]},"list":{"items":{"additionalProperties":false,"properties":{"c":{"type":["string","null"]}},"required":["c"],"type":"object"},"type":["array","null"]},"mode":{"anyOf":[{"enum":["a",null]},{"type":"null"}]},"q":{"type":"string"}},"required":["limit","list","mode","q"],"type":"object"}`
	got, ok := strictSchema(agentcore.ToolSpec{Schema: json.RawMessage(in)})
	if !ok || string(got) != want {
		t.Errorf("%v %s", ok, got)
	}
	for _, open := range []string{
		`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{"oneOf":[]}}}`,
		`{"type":"object","properties":{"a":true}}`, `{"type":"string"}`,
	} {
		if got, ok := strictSchema(agentcore.ToolSpec{Schema: json.RawMessage(open)}); ok {
			t.Errorf("%s is made strict: %s", open, got)
		}
	}
}
