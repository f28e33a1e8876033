package agentcore_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
)

func TestToolsHaveReturnedWhenTheConsumerHasLeft(t *testing.T) {
	for _, leave := range []string{"break", "panic", "goexit"} {
		t.Run(leave, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				returned := false
				tool := &agentcore.Tool{Name: "get_weather", Execute: func(ctx context.Context, _ agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error) {
					update(agentcore.Update{})
					<-ctx.Done()
					time.Sleep(time.Hour) // it is slow to give up
					returned = true
					return agentcore.Result{}, ctx.Err()
				}}
				l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Tools: []*agentcore.Tool{tool}})
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { _ = recover() }()
					for ev := range l.Run(t.Context(), []*agentcore.Message{user("go")}) {
						if ev.Type != agentcore.ToolUpdate {
							continue
						}
						switch leave {
						case "break":
							return
						case "panic":
							panic("consumer")
						case "goexit":
							runtime.Goexit()
						}
					}
				}()
				<-done
				if !returned {
					t.Error("the tool still runs")
				}
			})
		})
	}
}

func TestAPanicOfTheConsumerIsTheConsumers(t *testing.T) {
	for _, at := range []agentcore.EventType{agentcore.AgentStart, agentcore.MessageStart, agentcore.MessageUpdate, agentcore.ToolStart, agentcore.ToolEnd, agentcore.TurnEnd, agentcore.AgentEnd} {
		l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Tools: []*agentcore.Tool{weatherTool()}})
		var recovered any
		after := 0
		func() {
			defer func() { recovered = recover() }()
			for ev := range l.Run(t.Context(), []*agentcore.Message{user("go")}) {
				if recovered == nil && ev.Type == at {
					after++
					panic("mine")
				}
			}
		}()
		if recovered != "mine" || after != 1 {
			t.Errorf("%v: recovered %v after %d", at, recovered, after)
		}
		for _, err := range l.Run(t.Context(), []*agentcore.Message{user("again")}) {
			if err != nil {
				t.Errorf("%v: the loop is unusable: %v", at, err)
			}
		}
	}
}

func TestASecondRunAtOnceIsRefused(t *testing.T) {
	l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Tools: []*agentcore.Tool{weatherTool()}})
	for range l.Run(t.Context(), []*agentcore.Message{user("go")}) {
		for ev, err := range l.Continue(t.Context()) {
			if !errors.Is(err, agentcore.ErrRunning) || ev.Type != 0 {
				t.Fatalf("got %v, %v", ev.Type, err)
			}
		}
		break
	}
	for _, err := range agentcore.New(agentcore.Config{}).Run(t.Context(), []*agentcore.Message{user("go")}) {
		if !errors.Is(err, agentcore.ErrNoModel) {
			t.Errorf("without a model: %v", err)
		}
	}
}

// flakyModel fails its first call and keeps what it was asked.
type flakyModel struct{ requests []*agentcore.Request }

func (m *flakyModel) Stream(_ context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		m.requests = append(m.requests, req)
		if len(m.requests) == 1 {
			_ = yield(text(0, "half"), nil) &&
				yield(agentcore.StreamEvent{}, &agentcore.Error{Class: agentcore.ErrContextOverflow, Message: "too long"})
			return
		}
		_ = yield(text(0, "whole"), nil) && yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}, nil)
	}
}

func TestAFailedCallIsContinuedWithoutTheFailureOrItsCount(t *testing.T) {
	model := new(flakyModel)
	l := agentcore.New(agentcore.Config{Model: model, MaxIterations: 1})
	if end := runAll(t, l); end.Err == nil || end.Err.Class != agentcore.ErrContextOverflow {
		t.Fatalf("the run ended with %v", end.Err)
	}
	var end agentcore.Event
	for ev, err := range l.Continue(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		end = ev
	}
	if end.Err != nil || len(end.Messages) != 1 || end.Messages[0].Text() != "whole" {
		t.Errorf("continuing ended with %v and %d messages", end.Err, len(end.Messages))
	}
	if got := model.requests[1].Messages; len(got) != 1 || got[0].Text() != "go" {
		t.Errorf("the second request shows %d messages", len(got))
	}
}

func TestAHugeResultIsBounded(t *testing.T) {
	huge := strings.Repeat("0123456789abcdef", 4<<20) // 64 MB
	tool := &agentcore.Tool{Name: "get_weather", Execute: func(_ context.Context, _ agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error) {
		content := []agentcore.Block{agentcore.Text{Text: huge}, nil, &agentcore.Text{Text: huge}, (*agentcore.Text)(nil),
			agentcore.Image{Data: make([]byte, 21<<20)}, agentcore.ToolCall{ID: "smuggled"}}
		update(agentcore.Update{Content: content, Details: json.RawMessage(huge)})
		return agentcore.Result{Content: content, Details: json.RawMessage(huge)}, nil
	}}
	l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Tools: []*agentcore.Tool{tool}})
	if end := runAll(t, l); end.Err != nil {
		t.Fatal(end.Err)
	}
	result := l.Messages()[2]
	if n := len(result.Text()); n > 300<<10 || !strings.Contains(result.Text(), "bytes left out") || !strings.Contains(result.Text(), "image of 22020096 bytes") {
		t.Errorf("the text has %d bytes: %.100q", n, result.Text())
	}
	if string(result.Details) != `{"leftOut":67108864}` {
		t.Errorf("the details are %.100s", result.Details)
	}
	if len(result.ToolCalls()) > 0 {
		t.Error("a tool call came in as a result")
	}
}

func TestAToolThatExitsItsGoroutineHasAResult(t *testing.T) {
	tool := &agentcore.Tool{Name: "get_weather", Execute: func(context.Context, agentcore.Call, func(agentcore.Update)) (agentcore.Result, error) {
		runtime.Goexit()
		return agentcore.Result{}, nil
	}}
	l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Tools: []*agentcore.Tool{tool}, MaxParallelTools: 1})
	if end := runAll(t, l); end.Err != nil {
		t.Fatal(end.Err)
	}
	if m := l.Messages()[2]; !m.IsError || m.Text() != "the tool ended without a result" {
		t.Errorf("the result is %+v", m)
	}
}

// TestAModelCallCostsOnlyWhatIsNew counts allocated bytes per run with a long
// history behind it, after a first run that looks at all of it once.
func TestAModelCallCostsOnlyWhatIsNew(t *testing.T) {
	bytesPerRun := func(history int) uint64 {
		l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Messages: pastMessages(history), Tools: []*agentcore.Tool{weatherTool()}})
		runAll(t, l)
		const runs = 50
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			runAll(t, l)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / runs
	}
	short, long := bytesPerRun(0), bytesPerRun(20_000)
	if long > 2*short+8<<10 { // growing the transcript's slice is amortised
		t.Errorf("a run allocates %d bytes after 20,000 messages, %d after none", long, short)
	}
}
