package providertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"clawbot/agentcore"
)

// chunks is how many text deltas the benchmark's answer has.
const chunks = 2000

// Stream measures what one text delta costs from the bytes of an HTTP body to
// the consumer: 2,000 of them a stream, without a socket, so that it is the
// adapter that is measured.
func Stream(b *testing.B, f Format) {
	answer := Answer{Stop: agentcore.StopEnd}
	for i := range chunks {
		answer.Text = append(answer.Text, fmt.Sprintf(" word%d", i))
	}
	body := []byte(strings.Join(f.Stream(answer), ""))
	cfg := f.config("http://bench.example")
	cfg.HTTPClient = &http.Client{Transport: canned(body)}
	m := f.build(b, cfg)
	req := question()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		n := 0
		for ev, err := range m.Stream(context.Background(), req) {
			if err != nil {
				b.Fatal(err)
			}
			if ev.Type == agentcore.StreamText {
				n++
			}
		}
		if n != chunks {
			b.Fatalf("%d deltas", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
}

// canned answers every request with the same body.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c)), Request: r}, nil
}

// Convert measures the request of the next turn of a conversation of n
// messages: encode makes the body and returns its segments' count.
func Convert(b *testing.B, n int, encode func(*agentcore.Request) int) {
	var messages []*agentcore.Message
	text := strings.Repeat("Some words of a usual length, with a \"quote\" and a line\nbreak. ", 8)
	for i := 0; len(messages) < n; i++ {
		id := fmt.Sprint("m", i)
		messages = append(messages, userMessage(id+"u", text), assistantCall(id+"a", "call"+id),
			&agentcore.Message{ID: id + "r", Role: agentcore.RoleToolResult, ToolCallID: "call" + id, ToolName: "get_weather",
				Content: []agentcore.Block{agentcore.Text{Text: text}}},
			&agentcore.Message{ID: id + "b", Role: agentcore.RoleAssistant, Stop: agentcore.StopEnd, Content: []agentcore.Block{agentcore.Text{Text: text}}})
	}
	messages = append(messages[:n:n], userMessage("last", text))
	req := &agentcore.Request{System: text, Messages: messages, Tools: weatherTool()}
	encode(req)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		// A turn brings one new message.
		i++
		next := *req
		next.Messages = append(messages[:n:n], userMessage(fmt.Sprint("next", i), text))
		if encode(&next) == 0 {
			b.Fatal("nothing was encoded")
		}
	}
}
