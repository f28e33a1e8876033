package agentcore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
)

// sleeper is a tool that takes d of the run's time. If paused is not 0, it takes
// four minutes more before that, and then a pause.
func sleeper(paused, d time.Duration) *agentcore.Tool {
	return &agentcore.Tool{Name: "get_weather", Execute: func(ctx context.Context, _ agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
		if paused > 0 {
			time.Sleep(4 * time.Minute)
			outer := agentcore.PauseTimeout(ctx)
			inner := agentcore.PauseTimeout(ctx)
			time.Sleep(paused)
			inner()
			inner() // once more does nothing
			outer()
		}
		select {
		case <-time.After(d):
			return agentcore.TextResult("done"), nil
		case <-ctx.Done():
			return agentcore.Result{}, ctx.Err()
		}
	}}
}

func runAll(t *testing.T, l *agentcore.Loop) (end agentcore.Event) {
	t.Helper()
	for ev, err := range l.Run(t.Context(), []*agentcore.Message{user("go")}) {
		if err != nil {
			t.Fatal(err)
		}
		end = ev
	}
	return end
}

func TestATimeoutEndsTheRunInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Timeout: 10 * time.Minute, Tools: []*agentcore.Tool{sleeper(0, time.Hour)}})
		start := time.Now()
		end := runAll(t, l)
		if end.Err == nil || end.Err.Class != agentcore.ErrLimit || end.Err.Message != "Reached the time limit of 10m0s (loop.timeout)" {
			t.Errorf("the run ended with %v", end.Err)
		}
		if took := time.Since(start); took != 10*time.Minute {
			t.Errorf("it took %v", took)
		}
		messages := l.Messages()
		if last := messages[len(messages)-2]; last.Role != agentcore.RoleToolResult || !last.IsError {
			t.Errorf("the call's result is %+v", last)
		}
	})
}

func TestTheTimeoutStandsStillWhileItIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Timeout: 10 * time.Minute, Tools: []*agentcore.Tool{sleeper(24*time.Hour, 5*time.Minute)}})
		if end := runAll(t, l); end.Err != nil {
			t.Errorf("the run ended with %v", end.Err)
		}
	})
}

func TestThePauseGivesNoTimeAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Timeout: 10 * time.Minute, Tools: []*agentcore.Tool{sleeper(time.Hour, 7*time.Minute)}})
		start := time.Now()
		if end := runAll(t, l); end.Err == nil || end.Err.Class != agentcore.ErrLimit {
			t.Errorf("the run ended with %v", end.Err)
		}
		if took := time.Since(start); took != 70*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

func TestPausingWithoutATimeoutDoesNothing(t *testing.T) {
	agentcore.PauseTimeout(t.Context())()
}

func TestADeadlineOfTheCallerIsAnAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Tools: []*agentcore.Tool{sleeper(0, time.Hour)}})
		var end agentcore.Event
		for ev := range l.Run(ctx, []*agentcore.Message{user("go")}) {
			end = ev
		}
		if end.Err == nil || end.Err.Class != agentcore.ErrAborted {
			t.Errorf("the run ended with %v", end.Err)
		}
	})
}

func TestASlowConsumerDoesNotHoldUpTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := make(chan time.Duration, 1)
		start := time.Now()
		tool := &agentcore.Tool{Name: "get_weather", Execute: func(_ context.Context, _ agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error) {
			for range 100 {
				update(agentcore.Update{Content: []agentcore.Block{agentcore.Text{Text: "more"}}})
				time.Sleep(time.Second)
			}
			update(agentcore.Update{Content: []agentcore.Block{agentcore.Text{Text: "last"}}})
			finished <- time.Since(start)
			return agentcore.TextResult("done"), nil
		}}
		l := agentcore.New(agentcore.Config{Model: newMemoryModel(), Tools: []*agentcore.Tool{tool}})
		updates, last := 0, ""
		for ev := range l.Run(t.Context(), []*agentcore.Message{user("go")}) {
			if ev.Type == agentcore.ToolUpdate {
				updates++
				last = ev.Update.Content[0].(agentcore.Text).Text
				time.Sleep(time.Hour)
			}
		}
		if took := <-finished; took != 100*time.Second {
			t.Errorf("the tool took %v", took)
		}
		if updates != 2 || last != "last" {
			t.Errorf("%d updates were seen, the last is %q", updates, last)
		}
	})
}
