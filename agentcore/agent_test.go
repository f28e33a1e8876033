package agentcore_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"clawbot/agentcore"
)

// echoModel answers every request with the last user message, after asking gate
// if it is set.
type echoModel struct {
	gate func(ctx context.Context, req *agentcore.Request) error
}

func (m echoModel) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		if m.gate != nil {
			if err := m.gate(ctx, req); err != nil {
				yield(agentcore.StreamEvent{}, err)
				return
			}
		}
		said := req.Messages[len(req.Messages)-1].Text()
		_ = yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: "re: " + said}, nil) &&
			yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}, nil)
	}
}

func transcript(a *agentcore.Agent) string {
	var lines []string
	for _, m := range a.State().Messages {
		lines = append(lines, m.Text())
	}
	return strings.Join(lines, " | ")
}

func TestAnAgentRefusesWhatItCanNotDeliver(t *testing.T) {
	a := agentcore.NewAgent(agentcore.Config{Model: echoModel{}})
	if err := a.Steer(user("x")); !errors.Is(err, agentcore.ErrNotRunning) {
		t.Errorf("steering an idle agent: %v", err)
	}
	if err := a.Continue(t.Context()); !errors.Is(err, agentcore.ErrNoMessages) {
		t.Errorf("continuing from nothing: %v", err)
	}
	var late error
	a.Subscribe(func(ev agentcore.Event) {
		switch ev.Type {
		case agentcore.AgentStart:
			if err := a.Prompt(t.Context(), user("two")); !errors.Is(err, agentcore.ErrRunning) {
				t.Errorf("prompting a running agent: %v", err)
			}
			if err := a.Reset(); !errors.Is(err, agentcore.ErrRunning) {
				t.Errorf("resetting a running agent: %v", err)
			}
		case agentcore.AgentEnd:
			late = a.FollowUp(user("late"))
		}
	})
	if err := a.Prompt(t.Context(), user("one")); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(late, agentcore.ErrNotRunning) {
		t.Errorf("a follow-up after the end: %v", late)
	}
	if err := a.Continue(t.Context()); !errors.Is(err, agentcore.ErrFromAssistant) {
		t.Errorf("continuing from an answer: %v", err)
	}
	if got := transcript(a); got != "one | re: one" {
		t.Error(got)
	}
	if err := a.Reset(); err != nil || transcript(a) != "" {
		t.Errorf("after a reset: %q (%v)", transcript(a), err)
	}
}

func TestListenersAreCalledInOrderUntilTheyUnsubscribe(t *testing.T) {
	a := agentcore.NewAgent(agentcore.Config{Model: echoModel{}})
	var calls []string
	a.Subscribe(func(ev agentcore.Event) { calls = append(calls, "first "+ev.Type.String()) })
	stop := a.Subscribe(func(ev agentcore.Event) { calls = append(calls, "second "+ev.Type.String()) })
	if err := a.Prompt(t.Context(), user("x")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(calls[:2], []string{"first agent_start", "second agent_start"}) || calls[len(calls)-1] != "second agent_end" {
		t.Errorf("the calls were %q", calls)
	}
	stop()
	calls = nil
	if err := a.Prompt(t.Context(), user("y")); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(calls, "second agent_end") {
		t.Error("an unsubscribed listener was called")
	}
}

func TestAbortedAgentsKeepTheirQueuesForContinue(t *testing.T) {
	var a *agentcore.Agent
	block := true
	a = agentcore.NewAgent(agentcore.Config{Model: echoModel{gate: func(ctx context.Context, _ *agentcore.Request) error {
		if !block {
			return nil
		}
		for _, err := range []error{a.Steer(user("s1")), a.Steer(user("s2")), a.FollowUp(user("f"))} {
			if err != nil {
				t.Error(err)
			}
		}
		a.Abort()
		<-ctx.Done()
		return ctx.Err()
	}}})
	err := a.Prompt(t.Context(), user("go"))
	if agentcore.ClassOf(err) != agentcore.ErrAborted {
		t.Fatalf("the run ended with %v", err)
	}
	if s := a.State(); s.Running || s.Err == nil || len(s.Pending) != 0 {
		t.Errorf("the state is %+v", s)
	}
	block = false
	if err := a.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := transcript(a); got != "go |  | s1 | re: s1 | s2 | re: s2 | f | re: f" {
		t.Error(got)
	}
}

func TestQueueModesChangeWhileRunning(t *testing.T) {
	var a *agentcore.Agent
	first := true
	a = agentcore.NewAgent(agentcore.Config{Model: echoModel{gate: func(context.Context, *agentcore.Request) error {
		if first {
			first = false
			for _, text := range []string{"1", "2"} {
				if err := a.Steer(user(text)); err != nil {
					t.Error(err)
				}
				if err := a.FollowUp(user("f" + text)); err != nil {
					t.Error(err)
				}
			}
			a.SetQueueModes(agentcore.All, agentcore.All)
		}
		return nil
	}}})
	if err := a.Prompt(t.Context(), user("go")); err != nil {
		t.Fatal(err)
	}
	if got := transcript(a); got != "go | re: go | 1 | 2 | re: 2 | f1 | f2 | re: f2" {
		t.Error(got)
	}
}

func TestAMessageTakenByARunAtItsLimitBeginsAnother(t *testing.T) {
	var a *agentcore.Agent
	a = agentcore.NewAgent(agentcore.Config{Model: echoModel{gate: func(_ context.Context, req *agentcore.Request) error {
		if len(req.Messages) == 1 {
			return a.Steer(user("more"))
		}
		return nil
	}}, MaxIterations: 1})
	if err := a.Prompt(t.Context(), user("go")); err != nil {
		t.Fatal(err)
	}
	if got := transcript(a); got != "go | re: go | more | re: more" {
		t.Error(got)
	}
}

func TestAPanickingListenerLeavesAnAgentThatWorks(t *testing.T) {
	a := agentcore.NewAgent(agentcore.Config{Model: newMemoryModel(), Tools: []*agentcore.Tool{weatherTool()}})
	unsubscribe := a.Subscribe(func(ev agentcore.Event) {
		if ev.Type == agentcore.ToolStart {
			panic("listener")
		}
	})
	func() {
		defer func() {
			if p := recover(); p != "listener" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = a.Prompt(t.Context(), user("go")) // panics
	}()
	unsubscribe()
	if err := a.Prompt(t.Context(), user("again")); err != nil {
		t.Fatal(err)
	}
	messages := a.State().Messages
	if m := messages[2]; m.Role != agentcore.RoleToolResult || !strings.Contains(m.Text(), "interrupted") {
		t.Errorf("the open call was answered by %+v", m)
	}
}

func TestAMessageInTheLastPollIsAnsweredByTheSameRun(t *testing.T) {
	var a *agentcore.Agent
	given, asked := false, 0
	a = agentcore.NewAgent(agentcore.Config{Model: echoModel{}, SteeringMessages: func(context.Context) ([]*agentcore.Message, error) {
		if len(a.State().Messages) == 2 && !given { // the answer is there: this may be the last poll
			if asked++; asked == 2 {
				given = true
				return nil, a.FollowUp(user("late"))
			}
		}
		return nil, nil
	}})
	runs := 0
	a.Subscribe(func(ev agentcore.Event) {
		if ev.Type == agentcore.AgentStart {
			runs++
		}
	})
	if err := a.Prompt(t.Context(), user("go")); err != nil {
		t.Fatal(err)
	}
	if got := transcript(a); runs != 1 || got != "go | re: go | late | re: late" {
		t.Errorf("%d runs: %s", runs, got)
	}
}

// TestNoMessageIsStranded steers from many goroutines while runs begin and end:
// what was accepted is in the transcript exactly once, and answered.
func TestNoMessageIsStranded(t *testing.T) {
	a := agentcore.NewAgent(agentcore.Config{Model: echoModel{}})
	var wg sync.WaitGroup
	var mu sync.Mutex
	accepted := map[string]bool{}
	for w := range 4 {
		wg.Go(func() {
			for i := range 300 {
				text := string(rune('a'+w)) + strings.Repeat("x", i)
				give := a.Steer
				if i%2 == 1 {
					give = a.FollowUp
				}
				err := give(user(text))
				if errors.Is(err, agentcore.ErrNotRunning) {
					err = a.Prompt(t.Context(), user(text))
				}
				if err == nil {
					mu.Lock()
					accepted[text] = true
					mu.Unlock()
				} else if !errors.Is(err, agentcore.ErrRunning) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	if err := a.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	messages := a.State().Messages
	for _, m := range messages {
		if m.Role == agentcore.RoleUser {
			seen[m.Text()]++
		}
	}
	for text := range accepted {
		if seen[text] != 1 {
			t.Errorf("%.3s… is in the transcript %d times", text, seen[text])
		}
	}
	if last := messages[len(messages)-1]; last.Role != agentcore.RoleAssistant {
		t.Errorf("the last message is %s's", last.Role)
	}
}
