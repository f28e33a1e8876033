package agentcore

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Loop runs an agent over one transcript. Make it with [New]. One run at a time
// may be ranged over; a second one yields ErrRunning.
type Loop struct {
	cfg        Config
	running    atomic.Bool
	messages   []*Message
	view       view
	tools      toolbox
	schemas    *Schemas
	calls      map[string]struct{} // ids of the tool calls in messages; nil until needed
	ids        ulids
	iterations int // of the run, and of those that continue it
	// seal is asked when a run has nothing left to do; false means that a
	// message has just arrived. The Agent sets it.
	seal func() bool
}

// New returns a loop that runs with cfg. The slices in cfg are not written to.
func New(cfg Config) *Loop {
	l := &Loop{cfg: cfg, messages: slices.Clip(cfg.Messages), schemas: cfg.Schemas}
	if l.schemas == nil {
		l.schemas = new(Schemas)
	}
	if l.cfg.Logger == nil {
		l.cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l.tools.set(cfg.Tools)
	return l
}

// Run appends prompts to the transcript and runs until the agent has nothing
// left to do. Nothing happens before the sequence is ranged over. The caller's
// body runs between the steps; leaving the range early is like a crash: tools
// are cancelled and awaited, and nothing more is recorded. Cancelling ctx is
// orderly: every call gets its result and the run ends in AgentEnd.
//
// The second value is an error only for a violated precondition, alone and
// first. However else a run fails, AgentEnd says so. Without prompts, Run is
// [Loop.Continue] with the count of model calls begun anew.
func (l *Loop) Run(ctx context.Context, prompts []*Message) iter.Seq2[Event, error] {
	return l.sequence(ctx, prompts, false)
}

// Continue runs on from the transcript as it is, after a failure or after
// messages were added to it. Its last message must be the model's turn to
// answer: not an assistant message, unless that one failed. Model calls of the
// run that it continues count towards MaxIterations.
func (l *Loop) Continue(ctx context.Context) iter.Seq2[Event, error] {
	return l.sequence(ctx, nil, true)
}

// Messages returns the transcript. Call it inside the range over a run or
// between runs; the slice is the caller's to read, not to change.
func (l *Loop) Messages() []*Message { return slices.Clip(l.messages) }

// SetMessages replaces the transcript between runs, for instance by a
// compacted one.
func (l *Loop) SetMessages(messages []*Message) {
	l.messages = slices.Clip(messages)
	l.view, l.calls = view{}, nil
}

func (l *Loop) sequence(ctx context.Context, prompts []*Message, resume bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if !l.running.CompareAndSwap(false, true) {
			yield(Event{}, ErrRunning)
			return
		}
		defer l.running.Store(false)
		if err := l.ready(prompts); err != nil {
			yield(Event{}, err)
			return
		}
		if !resume {
			l.iterations = 0
		}
		r := newRun(ctx, l, yield)
		defer r.close()
		r.main(prompts)
	}
}

// ready checks the preconditions of a run.
func (l *Loop) ready(prompts []*Message) error {
	switch {
	case l.cfg.Model == nil:
		return ErrNoModel
	case len(prompts) > 0:
		return nil
	case len(l.messages) == 0:
		return ErrNoMessages
	}
	if last := l.messages[len(l.messages)-1]; last.Role == RoleAssistant && last.Stop != StopError && len(last.ToolCalls()) == 0 {
		return ErrFromAssistant
	}
	return nil
}

// append adds a finished message to the transcript.
func (l *Loop) append(m *Message) {
	l.messages = append(l.messages, m)
}

// own returns m with an id and a time, copying it if it lacks either.
func (l *Loop) own(m *Message) *Message {
	if m.ID != "" && !m.Time.IsZero() {
		return m
	}
	c := *m
	id, now := l.stamp()
	if c.ID == "" {
		c.ID = id
	}
	if c.Time.IsZero() {
		c.Time = now
	}
	return &c
}

// stamp makes what every new message needs.
func (l *Loop) stamp() (id string, now time.Time) {
	now = time.Now()
	if l.cfg.NewID != nil {
		return l.cfg.NewID(), now
	}
	return l.ids.next(now), now
}

// claim gives the calls of a message that is not yet published ids that no
// earlier call of the transcript has: some servers number them per answer.
func (l *Loop) claim(m *Message) {
	if m.Stop != StopToolUse {
		return
	}
	if l.calls == nil {
		l.calls = make(map[string]struct{})
		for _, old := range l.messages {
			for _, b := range old.Content {
				if call, ok := value(b).(ToolCall); ok {
					l.calls[call.ID] = struct{}{}
				}
			}
		}
	}
	for i, b := range m.Content {
		call, ok := b.(ToolCall)
		if !ok {
			continue
		}
		if _, taken := l.calls[call.ID]; taken {
			id, _ := l.stamp()
			call.ID += "_" + strings.ToLower(id)
			m.Content[i] = call
		}
		l.calls[call.ID] = struct{}{}
	}
}

// toolbox is the tools of a loop as the model and the executor need them.
type toolbox struct {
	byName map[string]*Tool
	list   []*Tool
	specs  []ToolSpec
}

func (t *toolbox) set(tools []*Tool) {
	*t = toolbox{byName: make(map[string]*Tool, len(tools)), list: slices.Clip(tools)}
	for _, tool := range tools {
		t.byName[tool.Name] = tool
		t.specs = append(t.specs, tool.spec())
	}
}

// add makes one more tool visible from the next request on.
func (t *toolbox) add(tool *Tool) {
	t.byName[tool.Name] = tool
	t.list = append(t.list, tool)
	t.specs = append(slices.Clip(t.specs), tool.spec())
}

func (t *Tool) spec() ToolSpec {
	return ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema}
}
