package metrics

import (
	"log/slog"
	"runtime"
	"sync"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"clawbot/channels/reply"
	"clawbot/gateway"
	"clawbot/internal/version"
)

// Config of the metrics. The zero value works.
type Config struct {
	Logger *slog.Logger // default: discard
}

// Metrics are one bot's. They are safe for concurrent use.
type Metrics struct {
	cfg      Config
	set      *vm.Set
	families map[string]family // by name; complete when New and Watch have returned
	tools    names
	models   names

	messages, runs, agents, errors                    *vec[*vm.Counter]
	calls, attempts, tokens                           *vec[*vm.Counter]
	cost                                              *vec[*vm.FloatCounter]
	toolCalls                                         *vec[*vm.Counter]
	posts, edits, limited, resent, undelivered        *vec[*vm.Counter]
	waited, runTime, turns, callTime, first, toolTime *vec[*vm.PrometheusHistogram]
}

var _ gateway.Observer = (*Metrics)(nil)

var (
	short = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300}
	long  = []float64{0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600}
)

// New makes metrics with a registry of their own.
func New(cfg Config) *Metrics {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{cfg: cfg, set: vm.NewSet(), families: map[string]family{}}
	m.counters()
	m.histograms()
	build := version.Get()
	m.gauge("clawbot_build_info", "Which build this is; always 1.", func() float64 { return 1 }, "version", build.Version, "go", runtime.Version())
	return m
}

func (m *Metrics) counters() {
	m.messages = m.counter("clawbot_messages_total", "Messages and commands of people, by what became of them: message, command, duplicate, refused, failed.", "channel", "outcome")
	m.runs = m.counter("clawbot_runs_total", "Runs that ended: answered, failed, stopped, interrupted, handed_off, lost.", "channel", "outcome")
	m.agents = m.counter("clawbot_agent_runs_total", "Runs that began, by the agent: main, or a name of [agents].", "agent")
	m.errors = m.counter("clawbot_run_errors_total", "Failed runs by the class of the error that the person was told.", "class")
	m.calls = m.counter("clawbot_model_calls_total", "Answers of a model, by why they ended.", "model", "stop")
	m.attempts = m.counter("clawbot_model_attempts_total", "Attempts at a model, repeated ones included: ok, or the class of the error.", "model", "outcome")
	m.tokens = m.counter("clawbot_tokens_total", "Tokens of models: input, output, cache_read, cache_write.", "model", "kind")
	m.cost = m.floatCounter("clawbot_cost_usd_total", "What models cost in US dollars, where the price is known: every attempt, summaries and speech included.", "model")
	m.toolCalls = m.counter("clawbot_tool_calls_total", "Tool calls: ok, error, or refused before they ran.", "tool", "outcome")
	m.posts = m.counter("clawbot_posts_total", "Messages that replies posted.", "channel")
	m.edits = m.counter("clawbot_edits_total", "Edits that replies made.", "channel")
	m.limited = m.counter("clawbot_rate_limited_total", "Writes that a platform refused because they came too fast (429).", "channel")
	m.resent = m.counter("clawbot_resent_total", "Answers sent once more after an unknown outcome, which may appear twice.", "channel")
	m.undelivered = m.counter("clawbot_replies_given_up_total", "Replies that never reached their conversation whole.", "channel")
}

func (m *Metrics) histograms() {
	m.waited = m.histogram("clawbot_queue_wait_seconds", "How long messages waited in the inbox before the agent took them in.", short, "channel")
	m.runTime = m.histogram("clawbot_run_seconds", "How long runs took, until the answer was delivered.", long, "channel")
	m.turns = m.histogram("clawbot_run_turns", "Model calls of a run.", []float64{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}, "channel")
	m.callTime = m.histogram("clawbot_model_call_seconds", "How long answers of a model took, repeated attempts included.", long, "model")
	m.first = m.histogram("clawbot_model_first_token_seconds", "How long it took until a model's answer began.", short, "model")
	m.toolTime = m.histogram("clawbot_tool_seconds", "How long tools ran, waiting for approval included.", short, "tool")
}

// Watch has every scrape ask the gateway how much there is to do. It is called
// once.
func (m *Metrics) Watch(g *gateway.Gateway) {
	load := func(pick func(gateway.Load) float64) func() float64 {
		return func() float64 { return pick(g.Load()) }
	}
	m.gauge("clawbot_leases_held", "Sessions that this process works on.", load(func(l gateway.Load) float64 { return float64(l.Active) }))
	m.gauge("clawbot_runs_active", "Sessions that count against server.max_runs.", load(func(l gateway.Load) float64 { return float64(l.Running) }))
	m.gauge("clawbot_queue_sessions", "Sessions that wait for a run to end.", load(func(l gateway.Load) float64 { return float64(l.InLine) }))
	m.gauge("clawbot_queue_age_seconds", "How long the first of them has waited.", load(func(l gateway.Load) float64 { return l.LineAge.Seconds() }))
	m.gauge("clawbot_due_sessions", "Sessions with work that nobody held when the sweep looked last.", load(func(l gateway.Load) float64 { return float64(l.Due) }))
	m.gauge("clawbot_due_age_seconds", "How long the first of them has been on that list.", load(func(l gateway.Load) float64 { return l.DueAge.Seconds() }))
	for i, ch := range g.Channels() {
		m.gauge("clawbot_channel_receiving", "1 while this process receives the channel's events; another replica may instead.", func() float64 {
			return truth(g.Channels()[i].Receiving)
		}, "channel", ch.Name)
		m.gauge("clawbot_channel_failed", "1 once the channel has given up; the log and /readyz say why.", func() float64 {
			return truth(g.Channels()[i].Err != nil)
		}, "channel", ch.Name)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Accepted implements [gateway.Observer].
func (m *Metrics) Accepted(channel string, what gateway.Acceptance) {
	m.messages.with(channel, string(what)).Inc()
}

// Waited implements [gateway.Observer].
func (m *Metrics) Waited(channel string, d time.Duration) {
	m.waited.with(channel).Update(d.Seconds())
}

// Delivered implements [gateway.Observer].
func (m *Metrics) Delivered(channel string, s reply.Stats, givenUp bool) {
	m.posts.with(channel).Add(s.Posts)
	m.edits.with(channel).Add(s.Edits)
	m.limited.with(channel).Add(s.Refused)
	m.resent.with(channel).Add(s.Resent)
	if givenUp {
		m.undelivered.with(channel).Inc()
	}
}

// maxNames bounds the distinct values of a label.
const maxNames = 200

const other = "other"

// names lets the first maxNames different names through.
type names struct {
	mu    sync.Mutex
	known map[string]bool
}

// add returns name, or other if there are too many.
func (n *names) add(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.known[name]:
		return name
	case name == "" || len(n.known) >= maxNames:
		return other
	case n.known == nil:
		n.known = map[string]bool{}
	}
	n.known[name] = true
	return name
}

// get returns name if it was added, and other if not.
func (n *names) get(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known[name] {
		return name
	}
	return other
}
