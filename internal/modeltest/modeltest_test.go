package modeltest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask posts a request and returns the status and the body; a broken body gives
// what came before the break, and the error.
func ask(t *testing.T, s *Server, path, body string) (int, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("anthropic-version", "2023-06-01")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// events returns the JSON of each event.
func events(t *testing.T, body string) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatalf("the event %q is no JSON: %v", data, err)
		}
		out = append(out, v)
	}
	return out
}

func dig(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func str(v any) string { s, _ := v.(string); return s }

const (
	openAIAsk    = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"be kind"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:"}}]}],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}]}`
	anthropicAsk = `{"model":"m","max_tokens":10,"stream":true,"system":[{"type":"text","text":"be kind"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image","source":{}}]}],"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}]}`
)

var bothTurn = Turn{
	Thinking: "hm", Text: "héllo 👨‍👩‍👧 \"w\"", Chunk: 3, Fragment: 4, Usage: Usage{Input: 10, Output: 5, Cached: 4},
	Calls: []Call{{ID: "a", Name: "f", Arguments: `{"x":"1"}`}, {ID: "b", Name: "f"}},
}

func TestOpenAIStreamsTextCallsAndUsage(t *testing.T) {
	s := New(Turns(bothTurn))
	defer s.Close()
	status, body, err := ask(t, s, "/v1/chat/completions", openAIAsk)
	if status != 200 || err != nil || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Fatal(status, err, body)
	}
	var text, thinking, finish string
	args := map[any]string{}
	var usage any
	for _, e := range events(t, body) {
		d := dig(e, "choices", 0, "delta")
		text += str(dig(d, "content"))
		thinking += str(dig(d, "reasoning_content"))
		if c := dig(d, "tool_calls", 0); c != nil {
			args[dig(c, "index")] += str(dig(c, "function", "arguments"))
		}
		finish += str(dig(e, "choices", 0, "finish_reason"))
		if u := e["usage"]; u != nil {
			usage = dig(u, "prompt_tokens")
		}
	}
	if text != bothTurn.Text || thinking != "hm" || finish != "tool_calls" || args[0.0] != `{"x":"1"}` || len(args) != 2 || usage != 10.0 {
		t.Errorf("text %q, thinking %q, finish %q, arguments %q, usage %v", text, thinking, finish, args, usage)
	}
	checkAsked(t, s, OpenAI)
}

func TestAnthropicStreamsTextCallsAndUsage(t *testing.T) {
	s := New(Turns(bothTurn))
	defer s.Close()
	status, body, err := ask(t, s, "/v1/messages", anthropicAsk)
	if status != 200 || err != nil {
		t.Fatal(status, err, body)
	}
	var text, thinking, stop string
	args := map[any]string{}
	open, blocks := 0, 0
	for _, e := range events(t, body) {
		switch e["type"] {
		case "content_block_start":
			open++
			blocks++
		case "content_block_stop":
			open--
		}
		if open < 0 || open > 1 {
			t.Fatal("blocks overlap:", body)
		}
		text += str(dig(e, "delta", "text"))
		thinking += str(dig(e, "delta", "thinking"))
		if p := dig(e, "delta", "partial_json"); p != nil {
			args[e["index"]] += str(p)
		}
		stop += str(dig(e, "delta", "stop_reason"))
	}
	if text != bothTurn.Text || thinking != "hm" || stop != "tool_use" || args[2.0] != `{"x":"1"}` || blocks != 4 || open != 0 {
		t.Errorf("text %q, thinking %q, stop %q, arguments %q, %d blocks", text, thinking, stop, args, blocks)
	}
	checkAsked(t, s, Anthropic)
}

func checkAsked(t *testing.T, s *Server, format string) {
	t.Helper()
	r, err := s.WaitRequest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Format != format || r.System != "be kind" || r.LastUser() != "hi" || r.Last().Images != 1 || len(r.Tools) != 1 || r.Tools[0].Name != "f" || r.Number != 1 {
		t.Errorf("the request was understood as %+v", r)
	}
}

func TestAnswersWithoutAStreamAreWhole(t *testing.T) {
	s := New(Always(bothTurn))
	defer s.Close()
	for path, body := range map[string]string{"/chat/completions": openAIAsk, "/messages": anthropicAsk} {
		turn := bothTurn
		turn.Calls = turn.Calls[:1]
		s.cfg.Script = Always(turn)
		_, got, _ := ask(t, s, path, strings.Replace(body, `"stream":true`, `"stream":false`, 1))
		var v map[string]any
		if err := json.Unmarshal([]byte(got), &v); err != nil {
			t.Fatal(err, got)
		}
		if str(dig(v, "choices", 0, "message", "content"))+str(dig(v, "content", 1, "text")) != turn.Text {
			t.Error(path, got)
		}
	}
}

func TestRequestsThatVendorsRefuseAreRefused(t *testing.T) {
	s := New(nil)
	defer s.Close()
	for name, c := range map[string]struct{ path, body, say string }{
		"no json":           {"/v1/messages", `{`, "JSON"},
		"call unanswered":   {"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]},{"role":"user","content":"y"}]}`, "followed by tool results"},
		"stray result":      {"/v1/chat/completions", `{"model":"m","messages":[{"role":"tool","tool_call_id":"1","content":"y"}]}`, "preceding message"},
		"doubled result":    {"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"},{"type":"tool_result","tool_use_id":"1"}]}]}`, "preceding message"},
		"result after text": {"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"t"},{"type":"tool_result","tool_use_id":"1"}]}]}`, "come first"},
		"blank text":        {"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]}`, "non-whitespace"},
		"no max_tokens":     {"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		"begins with bot":   {"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":"x"}]}`, "first message"},
		"no messages":       {"/v1/chat/completions", `{"model":"m","messages":[]}`, "at least one message"},
	} {
		status, body, _ := ask(t, s, c.path, c.body)
		if status != 400 || !strings.Contains(body, c.say) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if len(s.Requests()) != 0 {
		t.Error("refused requests were counted")
	}
}

func TestAnErrorStatusIsAnsweredInTheFormatsWords(t *testing.T) {
	s := New(Always(Turn{Status: 529, Message: "busy", RetryAfter: 2 * time.Second}))
	defer s.Close()
	for path, ask1 := range map[string]string{"/messages": anthropicAsk, "/chat/completions": openAIAsk} {
		status, body, _ := ask(t, s, path, ask1)
		if status != 529 || !strings.Contains(body, "overloaded_error") || !strings.Contains(body, "busy") {
			t.Error(path, status, body)
		}
	}
}

func TestAStreamIsCutWhereTheScriptSays(t *testing.T) {
	s := New(Turns(Turn{Text: "abcdef", Chunk: 2, After: 2, Cut: true}, Turn{Text: "abcdef", Chunk: 2, Cut: true}, Turn{Text: "ab", Cut: true, After: 9}))
	defer s.Close()
	for _, want := range []string{"abcd", "", "ab"} {
		_, body, err := ask(t, s, "/chat/completions", openAIAsk)
		text := ""
		for _, e := range events(t, body) {
			text += str(dig(e, "choices", 0, "delta", "content"))
		}
		if err == nil || text != want || strings.Contains(body, "DONE") {
			t.Errorf("got %q (%v), want %q and a broken connection", text, err, want)
		}
	}
}

func TestAStreamIsHeldUntilTheTestLetsGo(t *testing.T) {
	release := make(chan struct{})
	s := New(Always(Turn{Text: "abcd", Chunk: 2, After: 1, Hold: release}))
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(openAIAsk))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	for text := ""; !strings.Contains(text, `"ab"`); {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		text += line
	}
	if s.Active() != 1 {
		t.Error("the stream ended before it was let go")
	}
	close(release)
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), `"cd"`) {
		t.Error(err, string(rest))
	}
}

func TestAStalledStreamEndsWhenTheServerCloses(t *testing.T) {
	s := New(Always(Turn{Text: "abcd", Chunk: 2, After: 1, Stall: true}))
	done := make(chan error, 1)
	go func() {
		_, _, err := ask(t, s, "/messages", anthropicAsk)
		done <- err
	}()
	if _, err := s.WaitRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := <-done; err == nil {
		t.Error("a stalled stream ended well")
	}
}

func TestAnErrorInTheStreamEndsIt(t *testing.T) {
	s := New(Always(Turn{Text: "abcd", Chunk: 2, After: 1, StreamError: "overloaded"}))
	defer s.Close()
	_, body, _ := ask(t, s, "/messages", anthropicAsk)
	if !strings.Contains(body, "event: error") || strings.Contains(body, "message_stop") || strings.Contains(body, "cd") {
		t.Error(body)
	}
}

func TestARequestTooManyIsToldApart(t *testing.T) {
	s := New(Turns(Say("one")))
	defer s.Close()
	_, _, _ = ask(t, s, "/chat/completions", openAIAsk)
	status, body, _ := ask(t, s, "/chat/completions", openAIAsk)
	if status != 400 || !strings.Contains(body, "the script has 1 turns") {
		t.Error(status, body)
	}
}

func TestAWrongKeyIsRefused(t *testing.T) {
	s := NewServer(Config{APIKey: "secret"})
	defer s.Close()
	if status, _, _ := ask(t, s, "/messages", anthropicAsk); status != 401 {
		t.Error(status)
	}
}

func TestThousandsOfStreamsAreOpenAtOnce(t *testing.T) {
	const n = 1000
	release := make(chan struct{})
	var once sync.Once
	var s = NewServer(Config{Lean: true, Script: func(_ context.Context, r *Request) Turn {
		if r.Number == n {
			once.Do(func() { close(release) })
		}
		return Turn{Text: "abcdefgh", Chunk: 2, After: 2, Hold: release}
	}})
	defer s.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: n}
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	fails := make(chan string, n)
	for range n {
		wg.Go(func() {
			resp, err := client.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(openAIAsk))
			if err != nil {
				fails <- err.Error()
				return
			}
			data, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || !strings.Contains(string(data), "DONE") {
				fails <- fmt.Sprint(err, string(data))
			}
		})
	}
	wg.Wait()
	close(fails)
	for f := range fails {
		t.Fatal(f)
	}
}

func BenchmarkStreamedDelta(b *testing.B) {
	o := &openAIWire{req: &Request{Model: "m"}, id: "chatcmpl-1"}
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = o.text(buf[:0], "some text")
	}
}

func TestGeminiStreamsTextCallsAndUsage(t *testing.T) {
	s := New(Always(Turn{Thinking: "hm", Text: "abcd", Chunk: 2, Calls: []Call{{ID: "f1", Name: "read_file", Arguments: `{"path":"x"}`}}, Fragment: 4,
		Usage: Usage{Input: 10, Output: 4, Cached: 6}}))
	defer s.Close()
	status, body, err := ask(t, s, "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
		`{"systemInstruction":{"parts":[{"text":"sys"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"read_file","description":"d"}]}]}`)
	if err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	got := events(t, body)
	var texts, calls []string
	for _, ev := range got {
		part := dig(ev, "candidates", 0, "content", "parts", 0)
		if text, ok := dig(part, "text").(string); ok {
			texts = append(texts, text)
		}
		if call := dig(part, "functionCall"); call != nil {
			calls = append(calls, fmt.Sprint(call))
		}
	}
	if strings.Join(texts, "|") != "hm|ab|cd|" || len(calls) != 1 || !strings.Contains(calls[0], "path:x") {
		t.Errorf("texts %q, calls %q", texts, calls)
	}
	last := got[len(got)-1]
	if dig(last, "candidates", 0, "finishReason") != "STOP" || dig(last, "usageMetadata", "cachedContentTokenCount") != 6.0 {
		t.Errorf("the end is %v", last)
	}
	req := s.Requests()[0]
	if req.Model != "gemini-x" || req.System != "sys" || req.LastUser() != "hi" || len(req.Tools) != 1 || !req.Stream {
		t.Errorf("%+v", req)
	}
}

func TestWhatGoogleAndMistralRefuseIsRefused(t *testing.T) {
	s := New(Always(Say("hi")))
	defer s.Close()
	const gemini, mistral = "/v1beta/models/m:streamGenerateContent", "/mistral/v1/chat/completions"
	const user, call = `{"role":"user","parts":[{"text":"q"}]}`, `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]}`
	assistant := func(id string) string {
		return `{"role":"assistant","content":"","tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"` + id + `","content":"r"}`
	}
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{gemini, `{"contents":[` + user + `]}`, 200},
		{gemini, `{"contents":[` + user + `],"stream":true}`, 400},
		{gemini, `{"contents":[]}`, 400},
		{gemini, `{"contents":[{"role":"assistant","parts":[{"text":"q"}]}]}`, 400},
		{gemini, `{"contents":[` + call + `,` + user + `]}`, 400},
		{gemini, `{"contents":[` + user + `,` + call + `,{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}}]}]}`, 400},
		{gemini, `{"contents":[` + user + `,` + call + `,{"role":"user","parts":[{"functionResponse":{"name":"g","response":{"output":"1"}}},{"functionResponse":{"name":"f","response":{"output":"1"}}}]}]}`, 400},
		{gemini, `{"contents":[` + user + `,` + call + `,{"role":"user","parts":[{"functionResponse":{"id":"x","name":"f","response":{"output":"1"}}},{"functionResponse":{"name":"g","response":{"output":"1"}}}]}]}`, 400},
		{gemini, `{"contents":[` + user + `,` + call + `,{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}},{"functionResponse":{"name":"g","response":{"error":"1"}}}]}]}`, 200},
		{gemini, `{"contents":[` + user + `,{"role":"model","parts":[{"text":"a"}]}]}`, 400},
		{gemini + "?key=k", `{"contents":[` + user + `]}`, 400},
		{mistral, `{"model":"m","messages":[{"role":"user","content":"q"}]}`, 200},
		{mistral, `{"model":"m","messages":[{"role":"user","content":"q"}],"stream_options":{}}`, 422},
		{mistral, `{"model":"m","messages":[{"role":"user","content":"q"},` + assistant("callread1") + `]}`, 200},
		{mistral, `{"model":"m","messages":[{"role":"user","content":"q"},` + assistant("call_1") + `]}`, 400},
		{mistral, `{"model":"m","messages":[{"role":"user","content":"q"},` + assistant("callread1") + `,{"role":"user","content":"q"}]}`, 400},
		{mistral, `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`, 400},
	} {
		if status, body, err := ask(t, s, c.path, c.body); status != c.status || err != nil {
			t.Errorf("%s %s: %d, want %d: %s %v", c.path, c.body, status, c.status, body, err)
		}
	}
}
