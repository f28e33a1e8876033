package anthropic

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

var format = providertest.Format{Name: providers.FormatAnthropic, New: New, Stream: render, Error: renderError}

func TestTheSuite(t *testing.T) { providertest.Run(t, format) }

func TestTheWeatherConversation(t *testing.T) {
	providertest.Weather(t, format, "../../testdata/weather")
}

func BenchmarkStream(b *testing.B) { providertest.Stream(b, format) }

func BenchmarkNextTurn(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m, err := build(providers.Config{Name: "acme", BaseURL: "http://bench.example"}, "m1")
			if err != nil {
				b.Fatal(err)
			}
			providertest.Convert(b, n, func(req *agentcore.Request) int { return len(m.encode(req)) })
			encoded, _ := m.segments.Counts()
			b.ReportMetric(float64(encoded-n)/float64(b.N), "encoded/op")
		})
	}
}

func sse(kind string, fields string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + fields + "}\n\n"
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func renderError(message string) string {
	return `{"type":"error","error":{"type":"some_error","message":` + quoted(message) + `}}`
}

// render streams an answer as Anthropic does.
func render(a providertest.Answer) []string {
	out := []string{sse("message_start", fmt.Sprintf(`,"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m1","stop_reason":null,"usage":{"input_tokens":%d,"output_tokens":1}}`, a.Usage.Input)),
		sse("ping", "")}
	index := 0
	block := func(start string, deltas ...string) {
		out = append(out, sse("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, index, start)))
		for _, d := range deltas {
			out = append(out, sse("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, index, d)))
		}
		if !a.Cut && a.Fail == "" {
			out = append(out, sse("content_block_stop", fmt.Sprintf(`,"index":%d`, index)))
		}
		index++
	}
	if a.Thinking != "" {
		block(`{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":`+quoted(a.Thinking)+`}`,
			`{"type":"signature_delta","signature":`+quoted(a.Signature)+`}`)
	}
	var deltas []string
	for _, text := range a.Text {
		deltas = append(deltas, `{"type":"text_delta","text":`+quoted(text)+`}`)
	}
	if len(deltas) > 0 {
		block(`{"type":"text","text":""}`, deltas...)
	}
	for _, c := range a.Calls {
		var args []string
		for _, part := range c.Arguments {
			args = append(args, `{"type":"input_json_delta","partial_json":`+quoted(part)+`}`)
		}
		block(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quoted(c.ID), quoted(c.Name)), args...)
	}
	switch {
	case a.Cut:
		return out
	case a.Fail != "":
		return append(out, "event: error\ndata: "+renderError(a.Fail)+"\n\n")
	}
	stop := map[agentcore.StopReason]string{agentcore.StopEnd: "end_turn", agentcore.StopToolUse: "tool_use",
		agentcore.StopLength: "max_tokens", agentcore.StopRefusal: "refusal"}[a.Stop]
	return append(out, sse("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}`, stop, a.Usage.Output)),
		sse("message_stop", ""))
}
