package openai

import (
	"encoding/json"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"clawbot/agentcore"
	"clawbot/providers"
	"clawbot/providers/providertest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

var formats = []providertest.Format{
	{Name: providers.FormatOpenAI, New: New, Stream: renderChat, Error: renderError},
	{Name: providers.FormatResponses, New: New, Stream: renderResponses, Error: renderError},
}

func TestTheSuite(t *testing.T) {
	for _, f := range formats {
		t.Run(f.Name, func(t *testing.T) { providertest.Run(t, f) })
	}
}

func TestTheWeatherConversation(t *testing.T) {
	for _, f := range formats {
		t.Run(f.Name, func(t *testing.T) { providertest.Weather(t, f, "../../testdata/weather") })
	}
}

func BenchmarkStream(b *testing.B) {
	for _, f := range formats {
		b.Run(f.Name, func(b *testing.B) { providertest.Stream(b, f) })
	}
}

func BenchmarkNextTurn(b *testing.B) {
	for _, f := range formats {
		for _, n := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/%d", f.Name, n), func(b *testing.B) {
				m, err := build(providers.Config{Name: "acme", Format: f.Name, BaseURL: "http://bench.example"}, "m1")
				if err != nil {
					b.Fatal(err)
				}
				providertest.Convert(b, n, func(req *agentcore.Request) int { return len(m.encode(req)) })
				encoded, _ := m.segments.Counts()
				b.ReportMetric(float64(encoded-n)/float64(b.N), "encoded/op")
			})
		}
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func renderError(message string) string {
	return `{"error":{"message":` + quoted(message) + `,"type":"some_error","param":null,"code":null}}`
}

// renderChat streams an answer as Chat Completions does.
func renderChat(a providertest.Answer) []string {
	chunk := func(delta, finish string) string {
		return fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":%s,\"logprobs\":null,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	out := []string{chunk(`{"role":"assistant","content":""}`, "null")}
	if a.Thinking != "" {
		out = append(out, chunk(`{"reasoning_content":`+quoted(a.Thinking)+`}`, "null"))
	}
	for _, text := range a.Text {
		out = append(out, chunk(`{"content":`+quoted(text)+`}`, "null"))
	}
	for i, c := range a.Calls {
		out = append(out, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, quoted(c.ID), quoted(c.Name)), "null"))
		for _, part := range c.Arguments {
			out = append(out, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quoted(part)), "null"))
		}
	}
	switch {
	case a.Cut:
		return out
	case a.Fail != "":
		return append(out, "data: "+renderError(a.Fail)+"\n\n")
	}
	stop := map[agentcore.StopReason]string{agentcore.StopEnd: "stop", agentcore.StopToolUse: "tool_calls",
		agentcore.StopLength: "length", agentcore.StopRefusal: "content_filter"}[a.Stop]
	return append(out, chunk(`{}`, quoted(stop)),
		fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\n", a.Usage.Input, a.Usage.Output),
		"data: [DONE]\n\n")
}

// renderResponses streams an answer as Responses does.
func renderResponses(a providertest.Answer) []string {
	var out []string
	event := func(kind, format string, args ...any) {
		out = append(out, fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fmt.Sprintf(format, args...)))
	}
	event("response.created", `,"response":{"id":"resp_1","status":"in_progress","output":[]}`)
	index := 0
	if a.Thinking != "" {
		event("response.output_item.added", `,"output_index":%d,"item":{"type":"reasoning","id":"rs_1","summary":[]}`, index)
		event("response.reasoning_summary_text.delta", `,"item_id":"rs_1","output_index":%d,"summary_index":0,"delta":%s`, index, quoted(a.Thinking))
		event("response.output_item.done", `,"output_index":%d,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":%s}],"encrypted_content":%s}`, index, quoted(a.Thinking), quoted(a.Signature))
		index++
	}
	if len(a.Text) > 0 {
		event("response.output_item.added", `,"output_index":%d,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}`, index)
		for _, text := range a.Text {
			event("response.output_text.delta", `,"item_id":"msg_1","output_index":%d,"content_index":0,"delta":%s`, index, quoted(text))
		}
		index++
	}
	for _, c := range a.Calls {
		whole := ""
		event("response.output_item.added", `,"output_index":%d,"item":{"type":"function_call","id":"fc_%s","call_id":%s,"name":%s,"arguments":""}`, index, c.ID, quoted(c.ID), quoted(c.Name))
		for _, part := range c.Arguments {
			whole += part
			event("response.function_call_arguments.delta", `,"item_id":"fc_%s","output_index":%d,"delta":%s`, c.ID, index, quoted(part))
		}
		if a.Stop == agentcore.StopToolUse {
			event("response.function_call_arguments.done", `,"item_id":"fc_%s","output_index":%d,"arguments":%s`, c.ID, index, quoted(whole))
		}
		index++
	}
	switch {
	case a.Cut:
		return out
	case a.Fail != "":
		event("error", `,"code":"server_error","message":%s,"param":null`, quoted(a.Fail))
		return out
	}
	usage := fmt.Sprintf(`"usage":{"input_tokens":%d,"output_tokens":%d,"input_tokens_details":{"cached_tokens":0}}`, a.Usage.Input, a.Usage.Output)
	switch a.Stop {
	case agentcore.StopLength:
		event("response.incomplete", `,"response":{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],%s}`, usage)
	case agentcore.StopRefusal:
		event("response.incomplete", `,"response":{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[],%s}`, usage)
	default:
		event("response.completed", `,"response":{"id":"resp_1","status":"completed","output":[],%s}`, usage)
	}
	return out
}
