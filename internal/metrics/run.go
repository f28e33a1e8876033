package metrics

import (
	"time"

	"clawbot/agentcore"
	"clawbot/gateway"
)

// run sees one run, on its goroutine.
type run struct {
	m       *Metrics
	channel string
	began   time.Time
	turns   int

	asked  time.Time // when the model was asked
	opened bool      // its answer has begun
	first  time.Duration
	calls  []openCall
}

// openCall is a tool that runs.
type openCall struct {
	id    string
	since time.Time
}

// Run implements [gateway.Observer].
func (m *Metrics) Run(_, channel string) gateway.RunObserver {
	return &run{m: m, channel: channel, began: time.Now()}
}

// Agent implements [gateway.AgentObserver]. There are as many names as the
// configuration has.
func (r *run) Agent(name string) { r.m.agents.with(name).Inc() }

// Event implements [gateway.RunObserver].
func (r *run) Event(ev agentcore.Event) {
	switch ev.Type {
	case agentcore.MessageUpdate:
		if !r.opened {
			r.opened = true
			r.first = time.Since(r.asked)
		}
	case agentcore.MessageStart:
		if ev.Message.Role == agentcore.RoleAssistant {
			r.asked, r.opened = time.Now(), false
		}
	case agentcore.MessageEnd:
		if ev.Message.Role == agentcore.RoleAssistant {
			r.answered(ev.Message)
		}
	case agentcore.ToolStart:
		r.calls = append(r.calls, openCall{ev.Call.ID, time.Now()})
	case agentcore.ToolEnd:
		r.toolEnded(&ev)
	}
}

func (r *run) answered(msg *agentcore.Message) {
	m := r.m
	r.turns++
	model := m.models.add(msg.Model.String())
	m.calls.with(model, string(msg.Stop)).Inc()
	m.callTime.with(model).Update(time.Since(r.asked).Seconds())
	if r.opened {
		m.first.with(model).Update(r.first.Seconds())
	}
	u := msg.Usage
	m.tokens.with(model, "input").AddInt64(max(u.Input, 0))
	m.tokens.with(model, "output").AddInt64(max(u.Output, 0))
	m.tokens.with(model, "cache_read").AddInt64(max(u.CacheRead, 0))
	m.tokens.with(model, "cache_write").AddInt64(max(u.CacheWrite, 0))
}

func (r *run) toolEnded(ev *agentcore.Event) {
	m := r.m
	var since time.Time
	for i, c := range r.calls {
		if c.id == ev.Call.ID {
			since = c.since
			r.calls = append(r.calls[:i], r.calls[i+1:]...)
			break
		}
	}
	if !ev.Executed {
		// The model may call what does not exist.
		m.toolCalls.with(m.tools.get(ev.Call.Name), "refused").Inc()
		return
	}
	tool, outcome := m.tools.add(ev.Call.Name), "ok"
	if ev.Result != nil && ev.Result.IsError {
		outcome = "error"
	}
	m.toolCalls.with(tool, outcome).Inc()
	if !since.IsZero() {
		m.toolTime.with(tool).Update(time.Since(since).Seconds())
	}
}

// End implements [gateway.RunObserver].
func (r *run) End(outcome gateway.RunOutcome, class agentcore.ErrorClass) {
	m := r.m
	m.runs.with(r.channel, string(outcome)).Inc()
	m.runTime.with(r.channel).Update(time.Since(r.began).Seconds())
	m.turns.with(r.channel).Update(float64(r.turns))
	if outcome == gateway.RunFailed {
		m.errors.with(className(class)).Inc()
	}
}

func className(class agentcore.ErrorClass) string {
	if class == agentcore.ErrUnknown {
		return "unknown"
	}
	return string(class)
}
