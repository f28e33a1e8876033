package mistral

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
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
func answer(t *testing.T, body string) (string, *agentcore.Message) {
	t.Helper()
	m, err := New(providers.Config{Name: "x", BaseURL: "http://x.example", HTTPClient: &http.Client{Transport: canned(body)}}, "m")
	if err != nil {
		t.Fatal(err)
	}
	var a agentcore.Assembler
	req := &agentcore.Request{Tools: []agentcore.ToolSpec{{Name: "look"}}}
	for ev, err := range m.Stream(t.Context(), req) {
		switch {
		case err != nil:
			return "error: " + err.Error(), nil
		case ev.Type == agentcore.StreamDone:
			msg := a.Finish(ev)
			var out []string
			for _, b := range msg.Content {
				switch b := b.(type) {
				case agentcore.Text:
					out = append(out, fmt.Sprintf("%q", b.Text))
				case agentcore.Thinking:
					out = append(out, "("+b.Text+")")
				case agentcore.ToolCall:
					out = append(out, b.Name+string(b.Arguments))
				}
			}
			return strings.Join(append(out, string(msg.Stop)), " "), msg
		}
		a.Add(ev)
	}
	return "nothing", nil
}

func chat(finish string, deltas ...string) string {
	out := ""
	for _, d := range deltas {
		out += `data: {"choices":[{"index":0,"delta":` + d + `}]}` + "\n\n"
	}
	return out + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}` + "\n\ndata: [DONE]\n\n"
}

func TestStreamsAreUnderstood(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"thinking, text, thinking, text", chat("stop",
			`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]}]}`, `{"content":[{"type":"text","text":"a"}]}`,
			`{"content":"b"}`, `{"content":[{"type":"thinking","thinking":"n"}]}`, `{"content":"c"}`), `(hm) "ab" (n) "c" stop`},
		{"references", chat("stop", `{"content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":[1]}]}`), `"a" stop`},
		{"camel case", chat("tool_calls", `{"toolCalls":[{"id":"a","function":{"name":"look","arguments":"{\"p\":1}"},"index":0}]}`), `look{"p":1} toolUse`},
		{"arguments as an object", chat("tool_calls", `{"tool_calls":[{"id":"a","function":{"name":"look","arguments":{"p":1}}}]}`), `look{"p":1} toolUse`},
		{"null ids and one index, in two chunks", chat("tool_calls", `{"tool_calls":[{"id":"null","index":0,"function":{"name":"look","arguments":"{\"p\":1}"}}]}`,
			`{"tool_calls":[{"id":"null","index":0,"function":{"name":"look","arguments":"{\"p\":2}"}}]}`), `look{"p":1} look{"p":2} toolUse`},
		{"stop with calls", chat("stop", `{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{}"}}]}`), `look{} toolUse`},
		{"cut", chat("model_length", `{"content":"a"}`), `"a" length`},
		{"a reason to come", chat("something_new", `{"content":"a"}`), `"a" stop`},
		{"an error at the end", chat("error", `{"content":"a"}`), `error: x: the model ended with finish_reason "error", which is an error or not known`},
		{"an error of the gateway", "data: {\"message\":\"no Route matched with those values\"}\n\n", `error: x: no Route matched with those values`},
		{"an error whose message is an object", "data: {\"object\":\"error\",\"message\":{\"detail\":[{\"loc\":[\"body\",\"model\"],\"msg\":\"Field required\"}]}}\n\n", `error: x: model: Field required`},
		{"whole, not streamed", `{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`, `"a" stop`},
		{"no end", `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n", "error: x: the stream ended early, without finish_reason"},
	} {
		if got, _ := answer(t, c.body); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAConnectionThatBreaksAfterTheEndDoesNoHarm(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.TrimSuffix(chat("stop", `{"content":"a"}`), "data: [DONE]\n\n"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	m, err := New(providers.Config{Name: "x", BaseURL: server.URL}, "m")
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range m.Stream(t.Context(), &agentcore.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == agentcore.StreamDone && ev.Stop != agentcore.StopEnd {
			t.Errorf("%+v", ev)
		}
	}
}

func TestIDsThatAreMadeUpCanBeSentBack(t *testing.T) {
	_, m := answer(t, chat("tool_calls", `{"tool_calls":[{"id":"null","function":{"name":"look","arguments":"{}"}},{"function":{"name":"look","arguments":"{}"}}]}`))
	calls := m.ToolCalls()
	nine := regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
	if len(calls) != 2 || !nine.MatchString(calls[0].ID) || !nine.MatchString(calls[1].ID) || calls[0].ID == calls[1].ID {
		t.Errorf("%+v", calls)
	}
}

func TestUsageCountsTheCache(t *testing.T) {
	_, m := answer(t, `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60},"num_cached_tokens":60}}`+"\n\ndata: [DONE]\n\n")
	if want := (agentcore.Usage{Input: 40, Output: 5, CacheRead: 60}); m.Usage != want {
		t.Errorf("%+v, want %+v", m.Usage, want)
	}
}
