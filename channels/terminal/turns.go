package terminal

import (
	"fmt"
	"strings"
	"time"

	"clawbot/agentcore"
)

// turns counts the model calls of a run and times them.
type turns struct {
	n     int
	began time.Time
}

// start begins a run.
func (t *turns) start(at time.Time) { t.n, t.began = 0, at }

// begin notes when the next model call may have begun.
func (t *turns) begin(at time.Time) { t.began = at }

// line describes a finished turn:
//
//	turn 2 stop=toolUse tools=read_file in=312 cached=280 out=42 0.8s
//
// in is the whole prompt, cached the part of it that the vendor's cache served.
func (t *turns) line(m *agentcore.Message, at time.Time) string {
	t.n++
	names := "-"
	if calls := m.ToolCalls(); len(calls) > 0 {
		all := make([]string, len(calls))
		for i, c := range calls {
			all[i] = c.Name
		}
		names = strings.Join(all, ",")
	}
	u := m.Usage
	return fmt.Sprintf("turn %d stop=%s tools=%s in=%d cached=%d out=%d %.1fs", t.n, m.Stop, names,
		u.Input+u.CacheRead+u.CacheWrite, u.CacheRead, u.Output, max(0, at.Sub(t.began).Seconds()))
}
