package mistral

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

var format = providertest.Format{Name: providers.FormatMistral, New: New, Stream: render, Error: renderError}

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

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func renderError(message string) string {
	return `{"object":"error","message":` + quoted(message) + `,"type":"some_error","param":null,"code":"3000"}`
}

// render streams an answer as Mistral does.
func render(a providertest.Answer) []string {
	chunk := func(delta, finish, more string) string {
		return fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]%s}\n\n", delta, finish, more)
	}
	out := []string{chunk(`{"role":"assistant","content":""}`, "null", "")}
	if a.Thinking != "" {
		out = append(out, chunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":`+quoted(a.Thinking)+`}]}]}`, "null", ""))
	}
	for _, text := range a.Text {
		out = append(out, chunk(`{"content":`+quoted(text)+`}`, "null", ""))
	}
	for i, c := range a.Calls {
		if len(c.Arguments) == 0 {
			c.Arguments = []string{""}
		}
		for n, part := range c.Arguments {
			id, name := quoted(c.ID), quoted(c.Name)
			if n > 0 {
				id, name = `"null"`, `""`
			}
			out = append(out, chunk(fmt.Sprintf(`{"tool_calls":[{"id":%s,"function":{"name":%s,"arguments":%s},"index":%d}]}`, id, name, quoted(part), i), "null", ""))
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
	usage := fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}`, a.Usage.Input, a.Usage.Input+a.Usage.Output, a.Usage.Output)
	return append(out, chunk(`{"content":""}`, quoted(stop), usage), "data: [DONE]\n\n")
}
