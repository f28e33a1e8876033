package metrics

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"

	vm "github.com/VictoriaMetrics/metrics"
)

// family is what is said of a metric beside its values.
type family struct{ help, kind string }

// vec is a metric with up to two labels. The values of a label are bounded by
// who sets them.
type vec[T any] struct {
	name   string
	labels []string
	make   func(name string) T

	mu    sync.RWMutex
	known map[[2]string]T
}

// with returns the metric with these values of its labels.
func (v *vec[T]) with(values ...string) T {
	var key [2]string
	copy(key[:], values)
	v.mu.RLock()
	metric, ok := v.known[key]
	v.mu.RUnlock()
	if ok {
		return metric
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if metric, ok := v.known[key]; ok {
		return metric
	}
	if v.known == nil {
		v.known = map[[2]string]T{}
	}
	metric = v.make(labelled(v.name, v.labels, key[:]))
	v.known[key] = metric
	return metric
}

// escape is all that the text format knows of escaping.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labelled is a metric's name as Prometheus writes it, with sorted labels.
func labelled(name string, labels, values []string) string {
	if len(labels) == 0 {
		return name
	}
	pairs := make([]string, len(labels))
	for i, label := range labels {
		pairs[i] = label + `="` + escape.Replace(strings.ToValidUTF8(values[i], "\uFFFD")) + `"`
	}
	slices.Sort(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

func (m *Metrics) describe(name, help, kind string) {
	m.families[name] = family{help, kind}
}

func (m *Metrics) counter(name, help string, labels ...string) *vec[*vm.Counter] {
	m.describe(name, help, "counter")
	return &vec[*vm.Counter]{name: name, labels: labels, make: m.set.GetOrCreateCounter}
}

func (m *Metrics) floatCounter(name, help string, labels ...string) *vec[*vm.FloatCounter] {
	m.describe(name, help, "counter")
	return &vec[*vm.FloatCounter]{name: name, labels: labels, make: m.set.GetOrCreateFloatCounter}
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *vec[*vm.PrometheusHistogram] {
	m.describe(name, help, "histogram")
	return &vec[*vm.PrometheusHistogram]{name: name, labels: labels, make: func(name string) *vm.PrometheusHistogram {
		return m.set.GetOrCreatePrometheusHistogramExt(name, buckets)
	}}
}

// gauge has every scrape ask for a value; labels are names and values in turn.
func (m *Metrics) gauge(name, help string, value func() float64, labels ...string) {
	m.describe(name, help, "gauge")
	var names, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	m.set.GetOrCreateGauge(labelled(name, names, values), value)
}

// Handler serves what a Prometheus scrapes, in its text format.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		var values bytes.Buffer
		m.set.WritePrometheus(&values)
		out := bufio.NewWriter(w)
		m.annotate(out, values.Bytes())
		vm.WriteProcessMetrics(out)
		_ = out.Flush() // whoever scraped has gone
	})
}

// annotate writes values, which are sorted by name, with what is said of each
// metric before its first.
func (m *Metrics) annotate(out *bufio.Writer, values []byte) {
	last := ""
	for line := range bytes.Lines(values) {
		if name := m.familyOf(line); name != last {
			last = name
			f := m.families[name]
			_, _ = out.WriteString("# HELP " + name + " " + f.help + "\n# TYPE " + name + " " + f.kind + "\n")
		}
		_, _ = out.Write(line)
	}
}

func (m *Metrics) familyOf(line []byte) string {
	name := string(line[:max(0, bytes.IndexAny(line, "{ "))])
	if _, ok := m.families[name]; ok {
		return name
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			return base
		}
	}
	return name
}
