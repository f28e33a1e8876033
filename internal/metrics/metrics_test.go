package metrics

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/reply"
	"clawbot/gateway"
	"clawbot/store/memory"
)

// quiet is a channel where nobody writes.
type quiet struct{}

func (quiet) Name() string { return "quiet" }
func (quiet) Receive(ctx context.Context, _ channels.Host) error {
	<-ctx.Done()
	return nil
}
func (quiet) Post(context.Context, channels.Target, channels.Outgoing) (string, error) {
	return "1", nil
}
func (quiet) Edit(context.Context, channels.Target, string, channels.Outgoing) error { return nil }
func (quiet) Limits(channels.Target) channels.Limits                                 { return channels.Limits{Text: 4096} }

// scripted is a model that says what it is told to.
type scripted struct{ steps []error }

func (s *scripted) Info() agentcore.ModelInfo {
	return agentcore.ModelInfo{Ref: ref, Price: &agentcore.Price{Input: 1, Output: 2}}
}

func (s *scripted) Stream(context.Context, *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		err := s.steps[0]
		s.steps = s.steps[1:]
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone}, err)
	}
}

var ref = agentcore.ModelRef{Provider: "test", ID: "model"}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return rec.Body.String()
}

// has checks that the metrics contain the lines.
func has(t *testing.T, m *Metrics, lines ...string) {
	t.Helper()
	text := scrape(t, m)
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "clawbot_") && !strings.Contains(line, "_bucket") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}

func TestARunIsCountedWithItsAnswersTokensCostAndTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Config{})
		r := m.Run("quiet:1", "quiet")
		r.(gateway.AgentObserver).Agent("main")
		call := &agentcore.ToolCall{ID: "c1", Name: "read_file"}
		invented := &agentcore.ToolCall{ID: "c2", Name: "no_such_tool"}
		answer := &agentcore.Message{Role: agentcore.RoleAssistant, Model: ref, Stop: agentcore.StopToolUse, Usage: agentcore.Usage{Input: 1e6, Output: 5e5, CacheRead: 7}}
		r.Event(agentcore.Event{Type: agentcore.MessageStart, Message: &agentcore.Message{Role: agentcore.RoleAssistant}})
		time.Sleep(2 * time.Second)
		r.Event(agentcore.Event{Type: agentcore.MessageUpdate})
		time.Sleep(time.Second)
		r.Event(agentcore.Event{Type: agentcore.MessageUpdate})
		r.Event(agentcore.Event{Type: agentcore.MessageEnd, Message: answer})
		r.Event(agentcore.Event{Type: agentcore.ToolStart, Call: call})
		r.Event(agentcore.Event{Type: agentcore.ToolStart, Call: invented})
		time.Sleep(4 * time.Second)
		r.Event(agentcore.Event{Type: agentcore.ToolEnd, Call: invented, Result: &agentcore.Result{IsError: true}})
		r.Event(agentcore.Event{Type: agentcore.ToolEnd, Call: call, Executed: true, Result: &agentcore.Result{}})
		r.End(gateway.RunFailed, agentcore.ErrOverloaded)
		m.Cost(ref, 2_000_000_000)
		m.Accepted("quiet", gateway.AcceptedMessage)
		m.Waited("quiet", 3*time.Second)
		m.Delivered("quiet", reply.Stats{Posts: 2, Edits: 5, Refused: 1, Resent: 1}, true)
		has(t, m,
			`clawbot_messages_total{channel="quiet",outcome="message"} 1`,
			`clawbot_queue_wait_seconds_sum{channel="quiet"} 3`,
			`clawbot_model_calls_total{model="test/model",stop="toolUse"} 1`,
			`clawbot_model_first_token_seconds_sum{model="test/model"} 2`,
			`clawbot_model_call_seconds_sum{model="test/model"} 3`,
			`clawbot_tokens_total{kind="input",model="test/model"} 1000000`,
			`clawbot_tokens_total{kind="cache_read",model="test/model"} 7`,
			`clawbot_cost_usd_total{model="test/model"} 2`,
			`clawbot_tool_calls_total{outcome="ok",tool="read_file"} 1`,
			`clawbot_tool_calls_total{outcome="refused",tool="other"} 1`,
			`clawbot_tool_seconds_sum{tool="read_file"} 4`,
			`clawbot_runs_total{channel="quiet",outcome="failed"} 1`,
			`clawbot_agent_runs_total{agent="main"} 1`,
			`clawbot_run_errors_total{class="overloaded"} 1`,
			`clawbot_run_seconds_sum{channel="quiet"} 7`,
			`clawbot_run_turns_sum{channel="quiet"} 1`,
			`clawbot_posts_total{channel="quiet"} 2`, `clawbot_edits_total{channel="quiet"} 5`,
			`clawbot_rate_limited_total{channel="quiet"} 1`, `clawbot_resent_total{channel="quiet"} 1`,
			`clawbot_replies_given_up_total{channel="quiet"} 1`,
		)
	})
}

func TestEveryAttemptAtAModelIsCountedByHowItEnded(t *testing.T) {
	m := New(Config{})
	model := m.Model(&scripted{steps: []error{&agentcore.Error{Class: agentcore.ErrRateLimited}, errors.New("odd"), nil}})
	for range 3 {
		for range model.Stream(t.Context(), &agentcore.Request{}) {
			continue
		}
	}
	has(t, m, `clawbot_model_attempts_total{model="test/model",outcome="rate_limited"} 1`,
		`clawbot_model_attempts_total{model="test/model",outcome="unknown"} 1`,
		`clawbot_model_attempts_total{model="test/model",outcome="ok"} 1`)
	if _, ok := model.(agentcore.Describer); !ok {
		t.Error("the counted model does not say what it is")
	}
}

func TestNamesThatSomebodyInventsDoNotBecomeLabelsWithoutEnd(t *testing.T) {
	m := New(Config{})
	r := m.Run("quiet:1", "quiet")
	for i := range 10 * maxNames {
		call := &agentcore.ToolCall{ID: "c", Name: fmt.Sprintf("tool_%d", i)}
		r.Event(agentcore.Event{Type: agentcore.ToolEnd, Call: call, Executed: true})
	}
	n := strings.Count(scrape(t, m), "\nclawbot_tool_calls_total{")
	if n != maxNames+1 {
		t.Errorf("%d tools are told apart, want %d", n, maxNames+1)
	}
}

func TestWhatPrometheusReadsIsDescribedAndEscaped(t *testing.T) {
	m := New(Config{})
	m.Accepted("a\"b\\c\nd\xff", gateway.AcceptedMessage)
	m.Waited("quiet", 3*time.Second)
	has(t, m,
		"# TYPE clawbot_messages_total counter",
		`clawbot_messages_total{channel="a\"b\\c\nd`+"\uFFFD"+`",outcome="message"} 1`,
		"# HELP clawbot_queue_wait_seconds How long messages waited in the inbox before the agent took them in.",
		"# TYPE clawbot_queue_wait_seconds histogram",
		`clawbot_queue_wait_seconds_bucket{channel="quiet",le="2.5"} 0`,
		`clawbot_queue_wait_seconds_bucket{channel="quiet",le="5"} 1`,
		`clawbot_queue_wait_seconds_bucket{channel="quiet",le="+Inf"} 1`,
		`clawbot_queue_wait_seconds_count{channel="quiet"} 1`)
	if n := strings.Count(scrape(t, m), "# TYPE clawbot_queue_wait_seconds "); n != 1 {
		t.Errorf("a metric is described %d times", n)
	}
}

func newWatched(t *testing.T) *Metrics {
	t.Helper()
	m := New(Config{})
	g, err := gateway.New(gateway.Config{Store: memory.New(), Model: &scripted{}, Channels: []channels.Channel{quiet{}}, Observer: m})
	if err != nil {
		t.Fatal(err)
	}
	m.Watch(g)
	return m
}

func TestTheGatewaysLoadIsAskedAtEachScrape(t *testing.T) {
	has(t, newWatched(t), `clawbot_leases_held 0`, `clawbot_due_age_seconds 0`, `clawbot_queue_age_seconds 0`,
		`clawbot_channel_receiving{channel="quiet"} 0`, `clawbot_channel_failed{channel="quiet"} 0`)
}

var (
	metricName = regexp.MustCompile(`\b(clawbot|go|process)_[a-z_]+`)
	suffix     = regexp.MustCompile(`_(bucket|sum|count)$`)
)

func TestEveryMetricOfTheDashboardAndTheAlertsExists(t *testing.T) {
	m := newWatched(t)
	known, unused := map[string]bool{}, map[string]bool{}
	for name := range m.families {
		known[name], unused[name] = true, true
	}
	for line := range strings.Lines(scrape(t, m)) {
		known[metricName.FindString(line)] = true // the process's own, too
	}
	for _, file := range []string{"deploy/grafana/clawbot.json", "deploy/prometheus/alerts.yml", "docs/operations.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		found := metricName.FindAllString(string(text), -1)
		if len(found) < 10 {
			t.Errorf("%s names %d metrics only", file, len(found))
		}
		for _, name := range found {
			delete(unused, name)
			delete(unused, suffix.ReplaceAllString(name, ""))
			if !known[name] && !known[suffix.ReplaceAllString(name, "")] {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
	for name, ours := range unused {
		if ours {
			t.Errorf("%s is on no dashboard and in no alert", name)
		}
	}
}
