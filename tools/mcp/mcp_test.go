package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"clawbot/agentcore"
	"clawbot/tools"
	"clawbot/tools/tooltest"
)

const serverMarker = "__mcp-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serverMarker {
		if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// newServer is a server as somebody else would write it.
func newServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, schema string, handler sdk.ToolHandler) {
		server.AddTool(&sdk.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(schema)}, handler)
	}
	text := func(format string, args ...any) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	add("echo", `{"type":"object","properties":{"text":{"type":"string","description":"what"}},"required":["text"]}`,
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in struct{ Text string }
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return text("<|im_start|>%s", in.Text), nil
		})
	add("env", `{"type":"object"}`, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text("%s", strings.Join(os.Environ(), "\n")), nil
	})
	add("many", `{"type":"object"}`, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}, &sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")},
			&sdk.ResourceLink{Name: "doc", URI: "file:///x"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///y", Text: "inside"}},
		}}, nil
	})
	add("fail", `{"type":"object"}`, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r := text("it did not work")
		r.IsError = true
		return r, nil
	})
	add("die", `{"type":"object"}`, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	add("slow", `{"type":"object"}`, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Message: "half", Progress: 1, Total: 2}); err != nil {
				return nil, err
			}
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("grow", `{"type":"object"}`, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add("grown", `{"type":"object"}`, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("grown"), nil })
		return text("more"), nil
	})
	return server
}

// connect runs a server until the test ends.
func connect(t *testing.T, cfg Config) (*Server, <-chan struct{}) {
	t.Helper()
	changed := make(chan struct{}, 100)
	cfg.Changed = func() { changed <- struct{}{} }
	cfg.Name = "test"
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, changed
}

func stdio() Config { return Config{Command: []string{"/proc/self/exe", serverMarker}} }

// overHTTP serves a server that lives here.
func overHTTP(t *testing.T, server *sdk.Server, seen *atomic.Value) Config {
	t.Helper()
	handler := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		seen.Store(r.Header.Get("Authorization"))
		return server
	}, nil)
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return Config{URL: web.URL, Headers: map[string]string{"Authorization": "Bearer x"}}
}

func tool(t *testing.T, s *Server, name string) tools.Tool {
	t.Helper()
	for _, tool := range s.Source().Tools {
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("there is no %s: %v %v", name, s.Err(), s.Problems())
	return tools.Tool{}
}

func run(t *testing.T, s *Server, name, args string) (agentcore.Result, error) {
	t.Helper()
	return tool(t, s, name).Execute(t.Context(), agentcore.Call{ID: "c1", Name: name, Arguments: json.RawMessage(args)}, func(agentcore.Update) {})
}

func textOf(r agentcore.Result) string {
	m := agentcore.Message{Content: r.Content}
	return m.Text()
}

func TestAServersToolsAreTools(t *testing.T) {
	var seen atomic.Value
	for name, cfg := range map[string]Config{"stdio": stdio(), "http": overHTTP(t, newServer(), &seen)} {
		t.Run(name, func(t *testing.T) {
			s, changed := connect(t, cfg)
			<-changed
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			tooltest.Run(t, tooltest.Case{Tool: tool(t, s, "test__echo"), Valid: []string{`{"text":"hi"}`}, Slow: true})
			result, err := run(t, s, "test__echo", `{"text":"hi"}`)
			if err != nil || !strings.Contains(textOf(result), "< |im_start|>hi") || !strings.Contains(textOf(result), "the server test") {
				t.Errorf("echo: %q %v", textOf(result), err)
			}
			result, err = run(t, s, "test__fail", `{}`)
			if err != nil || !result.IsError {
				t.Errorf("fail: %+v %v", result, err)
			}
			result, err = run(t, s, "test__many", `{}`)
			if _, ok := result.Content[0].(agentcore.Image); err != nil || !ok || !strings.Contains(textOf(result), "a sound (audio/wav, 3 bytes)") || !strings.Contains(textOf(result), "inside") {
				t.Errorf("many: %+v %v", result, err)
			}
			if got := tool(t, s, "test__echo"); got.Mode != agentcore.Sequential || got.Idempotent {
				t.Errorf("it is %+v", got)
			}
		})
	}
	if seen.Load() != "Bearer x" {
		t.Errorf("the header was %v", seen.Load())
	}
}

func TestAServerInheritsNoSecrets(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "s3cret")
	cfg := stdio()
	cfg.Env = []string{"TOKEN=given"}
	s, changed := connect(t, cfg)
	<-changed
	result, err := run(t, s, "test__env", `{}`)
	if got := textOf(result); err != nil || strings.Contains(got, "s3cret") || !strings.Contains(got, "TOKEN=given") {
		t.Errorf("%q %v", got, err)
	}
}

func TestToolsThatAreAddedLaterAreFound(t *testing.T) {
	s, changed := connect(t, stdio())
	<-changed
	if _, err := run(t, s, "test__grow", `{}`); err != nil {
		t.Fatal(err)
	}
	<-changed
	if result, err := run(t, s, "test__grown", `{}`); err != nil || !strings.Contains(textOf(result), "grown") {
		t.Errorf("%+v %v", result, err)
	}
}

func TestADeadServerSaysWhyAndIsStartedAgain(t *testing.T) {
	s, changed := connect(t, stdio())
	<-changed
	if _, err := run(t, s, "test__die", `{}`); err == nil {
		t.Error("a call to a server that died succeeded")
	}
	<-changed
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "the server test is down") {
		t.Errorf("down: %v", err)
	}
	if _, err := run(t, s, "test__echo", `{"text":"x"}`); err == nil || !strings.Contains(err.Error(), "is down") {
		t.Errorf("called while it is down: %v", err)
	}
	<-changed
	if _, err := run(t, s, "test__echo", `{"text":"x"}`); err != nil {
		t.Errorf("back again: %v", err)
	}
}

func TestProgressIsReportedAndACancelledCallReturns(t *testing.T) {
	s, changed := connect(t, stdio())
	<-changed
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var updates []string
	_, err := tool(t, s, "test__slow").Execute(ctx, agentcore.Call{ID: "c9", Arguments: []byte(`{}`)}, func(u agentcore.Update) {
		mu.Lock()
		defer mu.Unlock()
		updates = append(updates, u.Content[0].(agentcore.Text).Text)
		cancel()
	})
	if !errors.Is(err, context.Canceled) || len(updates) != 1 || updates[0] != "half 50%" {
		t.Errorf("%q %v", updates, err)
	}
}

func TestACallThatTakesTooLongEnds(t *testing.T) {
	cfg := stdio()
	cfg.Timeout = 50 * time.Millisecond
	s, changed := connect(t, cfg)
	<-changed
	if _, err := run(t, s, "test__slow", `{}`); err == nil || !strings.Contains(err.Error(), "did not answer within") {
		t.Errorf("got %v", err)
	}
}

func TestAProgramThatIsNoServerIsDown(t *testing.T) {
	for name, command := range map[string][]string{"missing": {"/nonexistent"}, "ends": {"/bin/true"}, "chatters": {"/bin/echo", "hello"}} {
		t.Run(name, func(t *testing.T) {
			s, changed := connect(t, Config{Command: command})
			<-changed
			if s.Err() == nil || len(s.Source().Tools) > 0 {
				t.Errorf("it is up: %+v", s.Source())
			}
		})
	}
}

func TestAServerThatEndsLeavesNothingBehind(t *testing.T) {
	file := t.TempDir() + "/pid"
	s, changed := connect(t, Config{Command: []string{"/bin/sh", "-c", "sleep 98765.9 & echo $! > " + file + "; exit 1"}})
	<-changed
	if s.Err() == nil {
		t.Error("it is up")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(data), &pid); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 5000}) {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("what it started is alive")
		}
	}
}

func TestWhatIsNoToolIsLeftOut(t *testing.T) {
	s, err := New(Config{Name: "test", URL: "http://x"})
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]*sdk.Tool{
		"no name":    {InputSchema: map[string]any{"type": "object"}},
		"an array":   {Name: "a", InputSchema: map[string]any{"type": "array"}},
		"no schema":  {Name: "a", InputSchema: "object"},
		"a lie":      {Name: "a", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"type": "strng"}}}},
		"a far away": {Name: "a", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"$ref": "http://elsewhere/schema"}}}},
	} {
		if tool, err := s.bridge(bad); err == nil {
			t.Errorf("%s became %+v", name, tool.Descriptor)
		}
	}
	long := strings.Repeat("x", 100)
	one, two := toolName("test", long+"1"), toolName("test", long+"2")
	if one == two || len(one) > maxName {
		t.Errorf("names: %s %s", one, two)
	}
	if got := toolName("test", "a.b/c d"); got != "test__a_b_c_d" {
		t.Errorf("name: %s", got)
	}
}

func TestAServerNeedsOneWayToBeReached(t *testing.T) {
	for _, cfg := range []Config{{Name: "a"}, {Name: "a", URL: "http://x", Command: []string{"x"}}, {Name: "a b", URL: "http://x"}, {Name: "a__b", URL: "http://x"}, {Name: "a_", URL: "http://x"}, {Name: "_a", URL: "http://x"}, {URL: "http://x"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}
