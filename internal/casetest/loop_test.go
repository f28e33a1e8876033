package casetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"

	"clawbot/agentcore"
)

// Loop runs cases of a scripted model, with tools that always answer the same
// and events that steer or abort, on an agent. Beside what a case expects, it
// checks what must hold of every run: it ends by itself, says why, every call
// has a result, and what was accepted is in a request exactly once.
func (runner) Loop(t *testing.T, c Case) {
	var in loopInput
	decode(t, c.Input, &in)
	for _, variant := range []string{"event", "follow-up poll", "turn limit"} {
		if len(in.Events) == 0 && variant != "event" {
			continue
		}
		t.Run(variant, func(t *testing.T) { runLoop(t, c, in, variant) })
	}
}

type loopInput struct {
	Turns       json.RawMessage `json:"turns"` // a list, or "repeat"
	Turn        loopTurn        `json:"turn"`
	ToolResult  string          `json:"toolResult"`
	MaxRequests int             `json:"maxRequests"`
	Events      []struct {
		At   string `json:"at"` // event:number
		Do   string `json:"do"`
		Text string `json:"text"`
	} `json:"events"`
}

type loopTurn struct {
	Text      string `json:"text"`
	ToolCalls []struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
	StopReason string `json:"stopReason"`
}

// scriptedModel plays the turns of a case and keeps what it was asked.
type scriptedModel struct {
	turns    []loopTurn // nil: repeat
	repeat   loopTurn
	max      int
	requests []*agentcore.Request
}

func (m *scriptedModel) Stream(_ context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		n := len(m.requests)
		m.requests = append(m.requests, req)
		turn := m.repeat
		if m.turns != nil {
			if n >= len(m.turns) {
				yield(agentcore.StreamEvent{}, errors.New("the script has no further turn"))
				return
			}
			turn = m.turns[n]
		}
		if m.max > 0 && n >= m.max {
			yield(agentcore.StreamEvent{}, errors.New("too many requests"))
			return
		}
		for _, ev := range turn.events(n) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func (turn loopTurn) events(n int) []agentcore.StreamEvent {
	var events []agentcore.StreamEvent
	index := 0
	if turn.Text != "" {
		events = append(events, agentcore.StreamEvent{Type: agentcore.StreamText, Delta: turn.Text})
		index++
	}
	for i, call := range turn.ToolCalls {
		if call.ID == "auto" {
			call.ID = fmt.Sprintf("call_%d_%d", n, i)
		}
		args := string(call.Arguments)
		if n%2 == 1 { // the same, spelled differently
			args = strings.ReplaceAll(args, ":", " : ")
		}
		events = append(events,
			agentcore.StreamEvent{Type: agentcore.StreamToolCall, Index: index, ID: call.ID, Name: call.Name},
			agentcore.StreamEvent{Type: agentcore.StreamArguments, Index: index, Delta: args})
		index++
	}
	stop := agentcore.StopReason(turn.StopReason)
	if stop == "" && len(turn.ToolCalls) > 0 {
		stop = agentcore.StopToolUse
	}
	return append(events, agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: stop})
}

func runLoop(t *testing.T, c Case, in loopInput, variant string) {
	model := &scriptedModel{repeat: in.Turn, max: in.MaxRequests}
	if string(in.Turns) != `"repeat"` {
		decode(t, in.Turns, &model.turns)
	}
	executions := 0
	cfg := agentcore.Config{Model: model, Tools: in.tools(&executions)}
	if variant == "turn limit" {
		cfg.MaxIterations, cfg.NoLimitSummary = 1, true
	}
	var agent *agentcore.Agent
	var accepted []string
	act := func(do, text string) {
		switch do {
		case "steer", "followUp":
			give := agent.Steer
			if do == "followUp" {
				give = agent.FollowUp
			}
			if err := give(userMessage(text)); err == nil {
				accepted = append(accepted, text)
			} else if !errors.Is(err, agentcore.ErrNotRunning) {
				t.Errorf("%s: %v", do, err)
			}
		case "abort":
			agent.Abort()
		}
	}
	if variant == "follow-up poll" {
		asked := false
		cfg.FollowUpMessages = func(context.Context) ([]*agentcore.Message, error) {
			for _, ev := range in.Events {
				if !asked {
					act(ev.Do, ev.Text)
				}
			}
			asked = true
			return nil, nil
		}
	}
	agent = agentcore.NewAgent(cfg)
	counts := map[string]int{}
	agent.Subscribe(func(ev agentcore.Event) {
		name := ev.Type.String()
		counts[name]++
		for _, e := range in.Events {
			if variant != "follow-up poll" && (e.At == name || e.At == name+":"+strconv.Itoa(counts[name])) {
				act(e.Do, e.Text)
			}
		}
	})
	err := agent.Prompt(t.Context(), userMessage("go"))
	checkLoop(t, c, in, model, executions, accepted, err)
	checkPaired(t, agent.State().Messages)
}

func checkLoop(t *testing.T, c Case, in loopInput, model *scriptedModel, executions int, accepted []string, err error) {
	var want struct {
		Requests       *int `json:"requests"`
		RequestsAtMost *int `json:"requestsAtMost"`
		ToolExecutions *int `json:"toolExecutions"`
	}
	decode(t, c.Expected, &want)
	n := len(model.requests)
	if want.Requests != nil && n != *want.Requests {
		t.Errorf("%d requests, want %d", n, *want.Requests)
	}
	if want.RequestsAtMost != nil && n >= *want.RequestsAtMost {
		t.Errorf("%d requests: the run did not end by itself below %d", n, *want.RequestsAtMost)
	}
	if want.ToolExecutions != nil && executions != *want.ToolExecutions {
		t.Errorf("%d tool executions, want %d", executions, *want.ToolExecutions)
	}
	if string(in.Turns) == `"repeat"` && agentcore.ClassOf(err) != agentcore.ErrLimit {
		t.Errorf("the run ended with %v, which names no limit", err)
	}
	for _, text := range accepted {
		last := model.requests[n-1].Messages
		seen := 0
		for _, m := range last {
			if m.Role == agentcore.RoleUser && m.Text() == text {
				seen++
			}
		}
		if seen != 1 {
			t.Errorf("the last request holds the accepted message %q %d times", text, seen)
		}
	}
}

func checkPaired(t *testing.T, messages []*agentcore.Message) {
	open := map[string]bool{}
	for _, m := range messages {
		if m.Role == agentcore.RoleToolResult {
			if !open[m.ToolCallID] {
				t.Errorf("a result for %q, which is not open", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			t.Errorf("a %s message while calls are open: %v", m.Role, open)
		}
		for _, call := range m.ToolCalls() {
			open[call.ID] = true
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
}

// tools makes a tool of every name that the script calls.
func (in loopInput) tools(executions *int) []*agentcore.Tool {
	var turns []loopTurn
	_ = json.Unmarshal(in.Turns, &turns) // "repeat" leaves it empty
	var tools []*agentcore.Tool
	known := map[string]bool{}
	for _, turn := range append(turns, in.Turn) {
		for _, call := range turn.ToolCalls {
			if known[call.Name] {
				continue
			}
			known[call.Name] = true
			tools = append(tools, &agentcore.Tool{Name: call.Name, Mode: agentcore.Sequential, Execute: func(context.Context, agentcore.Call, func(agentcore.Update)) (agentcore.Result, error) {
				*executions++
				return agentcore.TextResult(in.ToolResult), nil
			}})
		}
	}
	return tools
}

func userMessage(text string) *agentcore.Message {
	return &agentcore.Message{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: text}}}
}
