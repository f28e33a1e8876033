package agentcore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"clawbot/agentcore"

	"pgregory.net/rapid"
)

// world is a random model, random tools and a random user, and what they did.
type world struct {
	t       *rapid.T
	cfg     agentcore.Config
	cancel  context.CancelFunc
	abortAt int // event number; -1 never
	breakAt int
	steerAt map[int]bool

	mu       sync.Mutex
	queued   []string // steering and follow-ups still to be taken
	given    []string // everything the user has said
	running  atomic.Int32
	calls    int
	requests [][]*agentcore.Message
}

func (w *world) say() {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprint("u", len(w.given))
	w.given = append(w.given, text)
	w.queued = append(w.queued, text)
}

func (w *world) take(context.Context) ([]*agentcore.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queued) == 0 {
		return nil, nil
	}
	text := w.queued[0]
	w.queued = w.queued[1:]
	return []*agentcore.Message{user(text)}, nil
}

// turn is what the model does in one call, drawn before the run so that the
// run itself is free of rapid.
type turn struct {
	text, fail string
	calls      []string
	stop       agentcore.StopReason
}

func drawTurn(t *rapid.T) turn {
	return turn{
		text:  rapid.SampledFrom([]string{"", "hm", "some text"}).Draw(t, "text"),
		fail:  rapid.SampledFrom([]string{"", "", "", "", "error", "panic", "eof"}).Draw(t, "fail"),
		calls: rapid.SliceOfN(rapid.SampledFrom([]string{"ok", "ok", "fails", "panics", "terminates", "serial", "speaks", "missing", "blocked"}), 0, 4).Draw(t, "calls"),
		stop: rapid.SampledFrom([]agentcore.StopReason{"", "", "", agentcore.StopEnd, agentcore.StopLength, agentcore.StopPause,
			agentcore.StopRefusal, agentcore.StopToolUse}).Draw(t, "stop"),
	}
}

type randomModel struct {
	w     *world
	turns []turn
}

func (m *randomModel) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		m.w.requests = append(m.w.requests, req.Messages)
		n := m.w.calls
		m.w.calls++
		turn := turn{text: "the end"}
		if n < len(m.turns) {
			turn = m.turns[n]
		}
		index := 0
		if turn.text != "" {
			if !yield(text(index, turn.text), nil) {
				return
			}
			index++
		}
		for _, name := range turn.calls {
			args := fmt.Sprintf(`{"n":%d}`, n)
			if index%3 == 2 {
				args = `{"n":`
			}
			if !yield(opens(index, "c", name), nil) || !yield(arguments(index, args), nil) {
				return
			}
			index++
		}
		switch {
		case ctx.Err() != nil:
			yield(agentcore.StreamEvent{}, ctx.Err())
			return
		case turn.fail == "error":
			yield(agentcore.StreamEvent{}, errors.New("model failed"))
			return
		case turn.fail == "panic":
			panic("model panicked")
		case turn.fail == "eof":
			return
		}
		stop := turn.stop
		if stop == "" && len(turn.calls) > 0 {
			stop = agentcore.StopToolUse
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: stop}, nil)
	}
}

func (w *world) tool(name string, mode agentcore.ExecutionMode, do func() (agentcore.Result, error)) *agentcore.Tool {
	return &agentcore.Tool{Name: name, Mode: mode, Execute: func(ctx context.Context, _ agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error) {
		w.running.Add(1)
		defer w.running.Add(-1)
		update(agentcore.Update{Content: []agentcore.Block{agentcore.Text{Text: "working"}}})
		return do()
	}}
}

func newWorld(t *rapid.T) (*world, context.Context) {
	w := &world{t: t, steerAt: map[int]bool{}}
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	model := &randomModel{w: w, turns: rapid.SliceOfN(rapid.Custom(drawTurn), 0, 8).Draw(t, "turns")}
	w.abortAt = rapid.IntRange(-20, 60).Draw(t, "abortAt")
	w.breakAt = rapid.IntRange(-60, 60).Draw(t, "breakAt")
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 60), 0, 5).Draw(t, "steerAt") {
		w.steerAt[n] = true
	}
	ok := func() (agentcore.Result, error) { return agentcore.TextResult("fine"), nil }
	w.cfg = agentcore.Config{
		Model: model, MaxIterations: rapid.IntRange(0, 6).Draw(t, "max"), NoLimitSummary: rapid.Bool().Draw(t, "nosummary"),
		LoopGuard: rapid.IntRange(-1, 4).Draw(t, "guard"), MaxParallelTools: rapid.IntRange(0, 2).Draw(t, "parallel"),
		ContinueOnLength: rapid.Bool().Draw(t, "continue"),
		Tools: []*agentcore.Tool{
			w.tool("ok", agentcore.Parallel, ok), w.tool("serial", agentcore.Sequential, ok), w.tool("blocked", agentcore.Parallel, ok),
			w.tool("fails", agentcore.Parallel, func() (agentcore.Result, error) { return agentcore.Result{}, errors.New("no") }),
			w.tool("panics", agentcore.Parallel, func() (agentcore.Result, error) { panic("tool panicked") }),
			w.tool("terminates", agentcore.Parallel, func() (agentcore.Result, error) { return agentcore.Result{Terminate: true}, nil }),
			w.tool("speaks", agentcore.Parallel, func() (agentcore.Result, error) { w.say(); return ok() }),
		},
		BeforeToolCall: func(_ context.Context, call agentcore.Call) (agentcore.BeforeResult, error) {
			return agentcore.BeforeResult{Block: call.Name == "blocked"}, nil
		},
		SteeringMessages: w.take,
	}
	if rapid.Bool().Draw(t, "followups") {
		w.cfg.FollowUpMessages = w.take
	}
	return w, ctx
}

// TestWhateverHappensARunKeepsItsPromises plays random models, tools, messages,
// aborts and consumers that walk away.
func TestWhateverHappensARunKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, ctx := newWorld(t)
		defer w.cancel()
		l := agentcore.New(w.cfg)
		w.say()
		prompts, _ := w.take(ctx)
		var events []agentcore.Event
		for ev, err := range l.Run(ctx, prompts) {
			if err != nil {
				t.Fatal(err)
			}
			n := len(events)
			events = append(events, ev)
			if w.steerAt[n] {
				w.say()
			}
			if n == w.abortAt {
				w.cancel()
			}
			if n == w.breakAt {
				break
			}
		}
		broken := len(events) == w.breakAt+1
		if n := w.running.Load(); n != 0 {
			t.Fatalf("%d tools still run", n)
		}
		if err := balanced(events, broken); err != nil {
			t.Fatal(err)
		}
		if !broken {
			if err := paired(l.Messages()); err != nil {
				t.Fatal(err)
			}
			added := events[len(events)-1].Messages
			if !slices.Equal(added, l.Messages()) {
				t.Fatalf("agent_end has %d messages, the transcript %d", len(added), len(l.Messages()))
			}
		}
		for i, request := range w.requests {
			if err := paired(request); err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
		}
		w.nothingLost(t, l.Messages(), broken)
		if limit := w.cfg.MaxIterations; limit > 0 && w.calls > limit+1 {
			t.Fatalf("%d model calls with a limit of %d", w.calls, limit)
		}
		if broken {
			w.resume(t, l)
		}
	})
}

// nothingLost checks that everything said is in the transcript once, or still
// queued. A consumer that left may have cut messages that were taken.
func (w *world) nothingLost(t *rapid.T, messages []*agentcore.Message, broken bool) {
	seen := map[string]int{}
	for _, m := range messages {
		if m.Role == agentcore.RoleUser {
			seen[m.Text()]++
		}
	}
	for _, text := range w.given {
		if slices.Contains(w.queued, text) {
			seen[text]++
		}
		if n := seen[text]; n != 1 && !(broken && n == 0) {
			t.Fatalf("%q is there %d times", text, n)
		}
	}
}

// resume runs on after the consumer left: calls that were open are answered
// first, and the transcript is valid again.
func (w *world) resume(t *rapid.T, l *agentcore.Loop) {
	w.cfg.Model.(*randomModel).turns = nil
	for range l.Run(context.Background(), []*agentcore.Message{user("still there?")}) {
	}
	if err := paired(l.Messages()); err != nil {
		t.Fatalf("after a crash: %v", err)
	}
}

// paired checks that a list of messages is one that every provider takes:
// calls only in answers that ended to use tools, and exactly one result for
// each, before anything else.
func paired(messages []*agentcore.Message) error {
	open := map[string]bool{}
	ids := map[string]bool{}
	for i, m := range messages {
		if m.Role == agentcore.RoleToolResult {
			if !open[m.ToolCallID] {
				return fmt.Errorf("message %d is a result for %q, which is not open", i, m.ToolCallID)
			}
			if len(m.Content) == 0 {
				return fmt.Errorf("message %d is a result with nothing in it", i)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d is from %s while calls are open", i, m.Role)
		}
		for _, call := range m.ToolCalls() {
			if m.Stop != agentcore.StopToolUse || call.ID == "" || ids[call.ID] {
				return fmt.Errorf("message %d ended with %s and holds call %q", i, m.Stop, call.ID)
			}
			ids[call.ID], open[call.ID] = true, true
		}
		if _, err := json.Marshal(m); err != nil {
			return err
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls have no result", len(open))
	}
	return nil
}

// balanced checks the order of events that the package documents.
func balanced(events []agentcore.Event, broken bool) error {
	var inAgent, inTurn, inMessage, assistants bool
	open := map[string]bool{}
	for i, ev := range events {
		bad := func(why string) error { return fmt.Errorf("event %d, %v: %s", i, ev.Type, why) }
		if (ev.Type == agentcore.AgentStart) != (i == 0) {
			return bad("agent_start is first and only first")
		}
		if ev.Type != agentcore.AgentStart && !inAgent {
			return bad("outside the run")
		}
		switch ev.Type {
		case agentcore.AgentStart:
			inAgent = true
		case agentcore.TurnStart:
			if inTurn || len(open) > 0 {
				return bad("a turn is open")
			}
			inTurn, assistants = true, false
		case agentcore.MessageStart:
			if !inTurn || inMessage {
				return bad("no turn, or a message is open")
			}
			inMessage = true
		case agentcore.MessageUpdate:
			if !inMessage {
				return bad("no message is open")
			}
		case agentcore.MessageEnd:
			if !inMessage {
				return bad("no message is open")
			}
			inMessage = false
			if ev.Message.Role == agentcore.RoleAssistant {
				if assistants {
					return bad("a second answer in the turn")
				}
				assistants = true
			}
		case agentcore.ToolStart:
			if !assistants || inMessage || open[ev.Call.ID] {
				return bad("a call without an answer, or twice")
			}
			open[ev.Call.ID] = true
		case agentcore.ToolUpdate:
			if !open[ev.Call.ID] {
				return bad("the call is not open")
			}
		case agentcore.ToolEnd:
			if !open[ev.Call.ID] || ev.Result == nil {
				return bad("the call is not open, or has no result")
			}
			delete(open, ev.Call.ID)
		case agentcore.TurnEnd:
			if !inTurn || inMessage || len(open) > 0 || !assistants {
				return bad("the turn is not complete")
			}
			inTurn = false
		case agentcore.AgentEnd:
			if inTurn || i != len(events)-1 {
				return bad("not last, or a turn is open")
			}
			inAgent = false
		}
	}
	if inAgent && !broken {
		return errors.New("no agent_end")
	}
	return nil
}
