package google

import (
	"errors"
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
	if strings.HasPrefix(string(c), "{") || strings.HasPrefix(string(c), "[") {
		kind = "application/json"
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(string(c))), Request: r}, nil
}

// answer plays a body.
func answer(t *testing.T, body string) (*agentcore.Message, *agentcore.Error) {
	t.Helper()
	m, err := New(providers.Config{Name: "x", BaseURL: "http://x.example", HTTPClient: &http.Client{Transport: canned(body)}}, "m")
	if err != nil {
		t.Fatal(err)
	}
	var a agentcore.Assembler
	req := &agentcore.Request{Tools: []agentcore.ToolSpec{{Name: "get_weather"}, {Name: "2do.list"}}}
	for ev, err := range m.Stream(t.Context(), req) {
		if err != nil {
			failure, ok := errors.AsType[*agentcore.Error](err)
			if !ok {
				t.Fatalf("the error is a %T", err)
			}
			return nil, failure
		}
		if ev.Type == agentcore.StreamDone {
			return a.Finish(ev), nil
		}
		a.Add(ev)
	}
	t.Fatal("the stream ended with neither an end nor an error")
	return nil, nil
}

func describe(m *agentcore.Message, err *agentcore.Error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	signed := func(s string) string {
		if s != "" {
			return "+" + s
		}
		return ""
	}
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Text:
			out = append(out, fmt.Sprintf("%q%s", b.Text, signed(b.Signature)))
		case agentcore.Thinking:
			out = append(out, fmt.Sprintf("(%s)%s", b.Text, signed(b.Signature)))
		case agentcore.ToolCall:
			out = append(out, b.Name+string(b.Arguments)+signed(b.Signature))
		}
	}
	return strings.Join(append(out, string(m.Stop)), " ")
}

// chunks makes a stream of lists of parts and an end.
func chunks(reason string, parts ...string) string {
	out := ""
	for _, p := range parts {
		out += `data: {"candidates":[{"content":{"role":"model","parts":[` + p + `]},"index":0}]}` + "\n\n"
	}
	return out + `data: {"candidates":[{"finishReason":"` + reason + `","index":0}]}` + "\n\n"
}

func TestStreamsAreUnderstood(t *testing.T) {
	const call = `{"functionCall":{"name":"get_weather","args":{"c":1}}}`
	for _, c := range []struct{ name, body, want string }{
		{"text in pieces", chunks("STOP", `{"text":"a"}`, `{"text":"b"},{"text":"c"}`), `"abc" stop`},
		{"thinking, then text, then thinking", chunks("STOP", `{"text":"h","thought":true},{"text":"m","thought":true}`, `{"text":"a"}`, `{"thought":true,"text":"n"}`, `{"text":"b"}`), `(hm) "a" (n) "b" stop`},
		{"text around a call", chunks("STOP", `{"text":"a"}`, call, `{"text":"b"}`), `"a" get_weather{"c":1} "b" toolUse`},
		{"signatures where they came", chunks("STOP", `{"text":"h","thought":true,"thoughtSignature":"QQ=="}`, `{"text":"a"},{"text":"b","thoughtSignature":"Qg=="}`, `{"text":"","thoughtSignature":"Qw=="}`),
			`(h)+QQ== "ab"+Qg== ()+Qw== stop`},
		{"a signature that ends thinking", chunks("STOP", `{"text":"h","thought":true}`, `{"text":"","thought":true,"thoughtSignature":"QQ=="}`, `{"text":"a"}`), `(h)+QQ== "a" stop`},
		{"a call without arguments", chunks("STOP", `{"functionCall":{"name":"get_weather"}},{"functionCall":{"name":"get_weather","args":null}}`), `get_weather{} get_weather{} toolUse`},
		{"arguments as a string", chunks("STOP", `{"functionCall":{"name":"get_weather","args":"{\"c\":1}"}}`), `get_weather{"c":1} toolUse`},
		{"names of the protocol buffer", `data: {"candidates":[{"content":{"parts":[{"function_call":{"name":"get_weather","args":{}},"thought_signature":"QQ=="}]},"finish_reason":"STOP"}]}` + "\n\n", `get_weather{}+QQ== toolUse`},
		{"the module before a name", chunks("STOP", `{"functionCall":{"name":"default_api.get_weather","args":{}}}`), `get_weather{} toolUse`},
		{"a name that was changed for the API", chunks("STOP", `{"functionCall":{"name":"`+wireName("2do.list")+`","args":{}}}`), `2do.list{} toolUse`},
		{"a reason in every chunk", `data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}` + "\n\n" + chunks("STOP", `{"text":"b"}`), `"ab" stop`},
		{"calls are not run when the answer was cut", chunks("MAX_TOKENS", `{"text":"a"}`, call), `"a" length`},
		{"a file", chunks("STOP", `{"inlineData":{"mimeType":"image/png","data":"QQ=="}}`), `"(The model made a file, which can't be shown here.)" stop`},
		{"one list instead of a stream", `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},` + "\n" + `{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}]`, `"ab" stop`},
		{"whole, not streamed", `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, `"a" stop`},
		{"a gateway's last word", chunks("STOP", `{"text":"a"}`) + "data: [DONE]\n\n", `"a" stop`},
		{"a second candidate", `data: {"candidates":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}` + "\n\n" + chunks("STOP"), `"a" stop`},
		{"another word for calls", chunks("FUNCTION_CALL", call), `get_weather{"c":1} toolUse`},
		{"nothing", chunks("STOP"), `error`},
		{"an end without a reason", `data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"FINISH_REASON_UNSPECIFIED"}]}` + "\n\n", "error: x: the stream ended early, without finishReason"},
		{"an error in a list", `[{"error":{"code":429,"message":"Quota exceeded for requests per minute","status":"RESOURCE_EXHAUSTED"}}]`, "error: x: HTTP 429: Quota exceeded for requests per minute"},
	} {
		if got := describe(answer(t, c.body)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAReasonThatIsNoSuccessIsAnErrorAndNothingRuns(t *testing.T) {
	for _, c := range []struct {
		reason string
		class  agentcore.ErrorClass
		retry  bool
	}{
		{"SAFETY", agentcore.ErrRefused, false}, {"RECITATION", agentcore.ErrRefused, false}, {"PROHIBITED_CONTENT", agentcore.ErrRefused, false},
		{"MALFORMED_FUNCTION_CALL", agentcore.ErrBadResponse, true}, {"UNEXPECTED_TOOL_CALL", agentcore.ErrBadResponse, true},
		{"OTHER", agentcore.ErrBadResponse, true}, {"SOMETHING_NEW", agentcore.ErrBadResponse, false},
	} {
		_, err := answer(t, chunks(c.reason, `{"text":"a"}`, `{"functionCall":{"name":"get_weather","args":{}}}`))
		if err == nil || err.Class != c.class || err.Retryable != c.retry || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %+v", c.reason, err)
		}
	}
	_, err := answer(t, `data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"by the rules"},"usageMetadata":{"promptTokenCount":7}}`+"\n\n")
	if err == nil || err.Class != agentcore.ErrRefused || err.Retryable || !strings.Contains(err.Error(), "promptFeedback.blockReason PROHIBITED_CONTENT): by the rules") || err.User == "" {
		t.Errorf("a blocked prompt: %+v", err)
	}
}

func TestUsageCountsThoughtsAndTheCache(t *testing.T) {
	m, err := answer(t, `data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60}}`+"\n\n"+
		`data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":5,"thoughtsTokenCount":7,"toolUsePromptTokenCount":3,"totalTokenCount":115}}`+"\n\n")
	if want := (agentcore.Usage{Input: 43, Output: 12, CacheRead: 60}); err != nil || m.Usage != want {
		t.Errorf("%+v, %v; want %+v", m, err, want)
	}
}
