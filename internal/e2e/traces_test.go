package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// otlp is a collector of traces.
type otlp struct {
	*httptest.Server
	mu      sync.Mutex
	status  int // what the next exports get; 0: 200
	spans   []*tracepb.Span
	service string
	raw     []byte
	headers http.Header
	more    chan struct{}
}

func newCollector(t *testing.T) *otlp {
	t.Helper()
	c := &otlp{more: make(chan struct{})}
	c.Server = httptest.NewServer(http.HandlerFunc(c.export))
	t.Cleanup(c.Close)
	return c
}

func (c *otlp) export(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	var req collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(data, &req)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, fmt.Sprintf("%s: %v", r.URL.Path, err), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status != 0 {
		w.WriteHeader(c.status)
		return
	}
	c.raw, c.headers = append(c.raw, data...), r.Header
	for _, rs := range req.ResourceSpans {
		for _, kv := range rs.Resource.Attributes {
			if kv.Key == "service.name" {
				c.service = kv.Value.GetStringValue()
			}
		}
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	close(c.more)
	c.more = make(chan struct{})
}

// wait returns the spans once there are n.
func (c *otlp) wait(t *testing.T, n int, log func() string) []*tracepb.Span {
	t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		spans, more := slices.Clone(c.spans), c.more
		c.mu.Unlock()
		if len(spans) >= n {
			return spans
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%d spans came, and %d should:\n%v\n%s", len(spans), n, spans, log())
		}
	}
}

// named returns the spans of a name, the earliest first.
func named(spans []*tracepb.Span, name string) []*tracepb.Span {
	var list []*tracepb.Span
	for _, s := range spans {
		if s.Name == name {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *tracepb.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	return list
}

// attribute is an attribute's value in print; empty if it is not there.
func attribute(s *tracepb.Span, key string) string {
	for _, kv := range s.Attributes {
		if kv.Key != key {
			continue
		}
		if list := kv.Value.GetArrayValue(); list != nil {
			var parts []string
			for _, v := range list.Values {
				parts = append(parts, v.GetStringValue())
			}
			return strings.Join(parts, ",")
		}
		_, value, _ := strings.Cut(kv.Value.String(), ":")
		return strings.Trim(value, `"`)
	}
	return ""
}

// tracing builds the program with traces, once.
var tracing = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(binary), "clawbot-otel")
	args := append(append([]string{"build", "-tags", "otel"}, buildFlags...), "-o", path, "clawbot/cmd/clawbot")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build -tags otel: %w\n%s", err, out)
	}
	return path, nil
})

// startTracing runs the program with traces instead of the world's.
func (w *world) startTracing(env ...string) {
	w.t.Helper()
	path, err := tracing()
	must(w.t, err)
	w.bot.kill()
	w.bot = startProgram(w.t, path, w.dir, env, "run", "--config", filepath.Join(w.dir, "clawbot.toml"))
	w.bot.waitLog("runs are traced")
	if err := w.telegram.WaitPoll(w.ctx); err != nil {
		w.t.Fatalf("the bot does not poll: %v\n%s", err, w.bot.log())
	}
}

func TestARunIsATraceOfItsModelCallsAndTools(t *testing.T) {
	c := newCollector(t)
	w := newWorld(t, options{loop: "retry_on_error = 1",
		script: modeltest.Turns(
			modeltest.Turn{Status: http.StatusServiceUnavailable, Message: "canary of the vendor"},
			modeltest.Use("read_file", `{"path":"notes.txt"}`),
			modeltest.Turn{Text: "canary of the answer", Usage: modeltest.Usage{Input: 700, Output: 30, Cached: 200}},
		),
		files: map[string]string{"workspace/notes.txt": "canary of the file"}})
	file := filepath.Join(w.dir, "clawbot.toml")
	config, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append([]byte("agent.temperature = 0.2\n"), bytes.Replace(config, []byte("[agent]\nmodel"), []byte("agent.model"), 1)...), 0o600))
	w.startTracing("OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=collector", "OTEL_BSP_SCHEDULE_DELAY=50",
		"OTEL_SERVICE_NAME=helpdesk")
	w.say("canary of the question")
	w.answer("canary of the answer")
	spans := c.wait(t, 5, w.bot.log)

	runs := named(spans, "invoke_agent main")
	chats := named(spans, "chat scripted-1")
	tools := named(spans, "execute_tool read_file")
	if len(runs) != 1 || len(chats) != 3 || len(tools) != 1 {
		t.Fatalf("%d runs, %d chats and %d tools in %v", len(runs), len(chats), len(tools), spans)
	}
	run := runs[0]
	if len(run.ParentSpanId) != 0 {
		t.Error("the run has a parent")
	}
	for _, s := range append(slices.Clone(chats), tools...) {
		if string(s.ParentSpanId) != string(run.SpanId) || string(s.TraceId) != string(run.TraceId) {
			t.Errorf("%s is not in the run", s.Name)
		}
		if s.StartTimeUnixNano < run.StartTimeUnixNano || s.EndTimeUnixNano > run.EndTimeUnixNano {
			t.Errorf("%s is not within the run's time", s.Name)
		}
	}
	for _, want := range []struct {
		span       *tracepb.Span
		key, value string
	}{
		{run, "gen_ai.operation.name", "invoke_agent"}, {run, "gen_ai.conversation.id", "telegram:4711:1"}, {run, "gen_ai.agent.name", "main"},
		{run, "clawbot.outcome", "answered"}, {run, "clawbot.channel", "telegram"}, {run, "gen_ai.provider.name", "test"},
		{chats[0], "error.type", "overloaded"}, {chats[0], "gen_ai.operation.name", "chat"}, {chats[0], "gen_ai.request.model", "scripted-1"},
		{chats[0], "gen_ai.request.max_tokens", "8192"}, {chats[0], "gen_ai.request.temperature", "0.2"}, {chats[0], "gen_ai.conversation.id", "telegram:4711:1"},
		{chats[1], "gen_ai.response.finish_reasons", "toolUse"}, {chats[1], "error.type", ""},
		{chats[2], "gen_ai.response.finish_reasons", "stop"}, {chats[2], "gen_ai.response.model", "scripted-1"},
		{chats[2], "gen_ai.usage.input_tokens", "700"}, {chats[2], "gen_ai.usage.output_tokens", "30"},
		{chats[2], "gen_ai.usage.cache_read.input_tokens", "200"}, {chats[2], "gen_ai.provider.name", "test"},
		{tools[0], "gen_ai.operation.name", "execute_tool"}, {tools[0], "gen_ai.tool.name", "read_file"}, {tools[0], "gen_ai.tool.type", "function"},
		{tools[0], "error.type", ""},
	} {
		if got := attribute(want.span, want.key); got != want.value {
			t.Errorf("%s: %s is %q, want %q", want.span.Name, want.key, got, want.value)
		}
	}
	for _, key := range []string{"clawbot.run", "clawbot.message"} {
		if id := attribute(run, key); id == "" || !strings.Contains(w.bot.log(), id) {
			t.Errorf("%s %q is not in the log", key, id)
		}
	}
	for i, chat := range chats {
		want := fmt.Sprintf("00-%x-%x-01", chat.TraceId, chat.SpanId)
		if got := w.model.Requests()[i].Header.Get("Traceparent"); got != want {
			t.Errorf("the model's server hears of %q, want %q", got, want)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.service != "helpdesk" || c.headers.Get("X-Key") != "collector" {
		t.Errorf("the environment is not heeded: service %q, headers %v", c.service, c.headers)
	}
	if strings.Contains(string(c.raw), "canary") {
		t.Error("what was said, or a key, is in the traces")
	}
}

func TestASpanOfWhatWasStoppedOrFailedSaysSo(t *testing.T) {
	c := newCollector(t)
	w := newWorld(t, options{loop: "retry_on_error = 0",
		script: modeltest.Turns(modeltest.Turn{Status: http.StatusUnauthorized, Message: "no"}, modeltest.Say("fine"))})
	w.startTracing("OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.URL+"/v1/traces")
	w.say("first")
	w.wait(func(m []channeltest.SentMessage) bool { return len(m) > 0 })
	w.say("second")
	w.answer("fine")
	if err := w.bot.stop(); err != nil { // what is not exported is, at the end
		t.Fatal(err)
	}
	runs := named(c.wait(t, 4, w.bot.log), "invoke_agent main")
	if len(runs) != 2 || attribute(runs[0], "clawbot.outcome") != "failed" || attribute(runs[0], "error.type") != "auth" ||
		runs[0].Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || attribute(runs[1], "error.type") != "" {
		t.Errorf("the runs are %v", runs)
	}
}

func TestACollectorThatIsAwayHoldsNothingUp(t *testing.T) {
	c := newCollector(t)
	c.status = http.StatusBadRequest
	w := newWorld(t, options{script: modeltest.Always(modeltest.Say("fine"))})
	w.startTracing("OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=20")
	w.say("hello")
	w.answer("fine")
	w.bot.waitLog("traces are not exported")
	if err := w.bot.stop(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(w.bot.log(), "traces are not exported"); n != 1 {
		t.Errorf("that is said %d times", n)
	}
}

func TestTracesThatCannotBeAreRefusedWithWhatToDo(t *testing.T) {
	with, err := tracing()
	must(t, err)
	tests := []struct {
		name, program string
		env           []string
		say           string
	}{
		{"a build without them", binary, []string{"OTEL_TRACES_EXPORTER=otlp"}, "go build -tags otel ./cmd/clawbot"},
		{"a build without them, by an address", binary, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1/v1/traces"}, "OTEL_TRACES_EXPORTER=none"},
		{"another exporter", with, []string{"OTEL_TRACES_EXPORTER=zipkin"}, "set otlp or none"},
		{"another protocol", with, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "http/protobuf"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := startProgram(t, test.program, t.TempDir(), test.env, "run")
			<-p.done
			if p.err == nil || !strings.Contains(p.log(), test.say) {
				t.Errorf("it ends with %v and says:\n%s", p.err, p.log())
			}
		})
	}
	t.Run("an address that is there for others, too", func(t *testing.T) {
		w := newWorld(t, options{script: modeltest.Always(modeltest.Say("fine")), env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}})
		w.bot.waitLog("nothing is traced")
		w.say("hello")
		w.answer("fine")
		if got := w.model.Requests()[0].Header.Get("Traceparent"); got != "" {
			t.Errorf("the model's server hears of %q", got)
		}
	})
}

// Without the tag, nothing of OpenTelemetry is in the binary.
func TestTheBinaryWithoutTheTagHasNothingOfOpenTelemetry(t *testing.T) {
	deps := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		out, err := exec.CommandContext(ctx, "go", append(append([]string{"list", "-deps"}, args...), "clawbot/cmd/clawbot")...).Output()
		must(t, err)
		return string(out)
	}
	foreign := []string{"go.opentelemetry.io/", "google.golang.org/", "clawbot/internal/traces\n"}
	without, with := deps(), deps("-tags", "otel")
	for _, name := range foreign {
		if strings.Contains(without, name) {
			t.Errorf("the binary without the tag has %s", name)
		}
		if !strings.Contains(with, name) {
			t.Errorf("this test looks for %s, which is in no build", name)
		}
	}
}
