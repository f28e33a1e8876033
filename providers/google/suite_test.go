package google

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"clawbot/agentcore"
	"clawbot/providers"
	"clawbot/providers/providertest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

var format = providertest.Format{Name: providers.FormatGoogle, New: New, Stream: render, Error: renderError, NoRefusal: true}

func TestTheSuite(t *testing.T) {
	for _, model := range []string{"", "gemini-2.5-flash", "gemini-3-pro-preview"} {
		f := format
		f.Model = model
		t.Run("model "+model, func(t *testing.T) { providertest.Run(t, f) })
	}
}

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
	return `{"error":{"code":500,"message":` + quoted(message) + `,"status":"SOME_STATUS"}}`
}

// render streams an answer as Gemini does.
func render(a providertest.Answer) []string {
	var out []string
	chunk := func(part, more string) {
		content := `"content":{"role":"model"}`
		if part != "" {
			content = `"content":{"parts":[` + part + `],"role":"model"}`
		}
		out = append(out, `data: {"candidates":[{`+content+more+`,"index":0}],`+
			fmt.Sprintf(`"usageMetadata":{"promptTokenCount":%d,"totalTokenCount":%d},"modelVersion":"m1","responseId":"r1"}`, a.Usage.Input, a.Usage.Input)+"\n\n")
	}
	if a.Thinking != "" {
		chunk(`{"text":`+quoted(a.Thinking)+`,"thought":true,"thoughtSignature":`+quoted(a.Signature)+`}`, "")
	}
	for _, text := range a.Text {
		chunk(`{"text":`+quoted(text)+`}`, "")
	}
	for _, c := range a.Calls {
		args := strings.Join(c.Arguments, "")
		if !json.Valid([]byte(args)) {
			args = "{}" // the API sends a call whole or not at all
		}
		chunk(fmt.Sprintf(`{"functionCall":{"name":%s,"args":%s,"id":%s}}`, quoted(c.Name), args, quoted(c.ID)), "")
	}
	switch {
	case a.Cut:
		return out
	case a.Fail != "":
		return append(out, "data: "+renderError(a.Fail)+"\n\n")
	}
	reason := "STOP"
	if a.Stop == agentcore.StopLength {
		reason = "MAX_TOKENS"
	}
	return append(out, fmt.Sprintf(`data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":%q,"index":0}],`+
		`"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"m1"}`+"\n\n",
		reason, a.Usage.Input, a.Usage.Output, a.Usage.Input+a.Usage.Output))
}
