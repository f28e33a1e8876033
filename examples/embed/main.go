// Embed runs the agent loop in a program of its own: a model, one tool, and a
// range statement. The model here is three lines of script; a real program
// brings one of clawbot/providers or its own.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"

	"clawbot/agentcore"
)

func main() {
	loop := agentcore.New(agentcore.Config{
		Model:  script{},
		System: "You are a weather service.",
		Tools:  []*agentcore.Tool{weather},
	})
	question := &agentcore.Message{
		Role:    agentcore.RoleUser,
		Content: []agentcore.Block{agentcore.Text{Text: "How is the weather in Lima?"}},
	}
	for event, err := range loop.Run(context.Background(), []*agentcore.Message{question}) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch event.Type {
		case agentcore.ToolStart:
			fmt.Printf("→ %s %s\n", event.Call.Name, event.Call.Arguments)
		case agentcore.MessageUpdate:
			if event.Delta.Type == agentcore.StreamText {
				fmt.Print(event.Delta.Delta)
			}
		case agentcore.AgentEnd:
			fmt.Println()
			if event.Err != nil {
				fmt.Fprintln(os.Stderr, event.Err)
				os.Exit(1)
			}
		}
	}
}

// weather is a tool: a name, prose for the model, a schema, and a function.
var weather = &agentcore.Tool{
	Name:        "get_weather",
	Description: "Returns the weather of a city.",
	Schema:      json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	Execute: func(_ context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
		var args struct{ City string }
		if err := json.Unmarshal(call.Arguments, &args); err != nil {
			return agentcore.Result{}, err
		}
		return agentcore.TextResult("18 °C and fog in " + args.City), nil
	},
}

// script is a model that asks for the weather and then tells it.
type script struct{}

func (script) Stream(_ context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role != agentcore.RoleToolResult {
			_ = yield(agentcore.StreamEvent{Type: agentcore.StreamToolCall, ID: "1", Name: "get_weather"}, nil) &&
				yield(agentcore.StreamEvent{Type: agentcore.StreamArguments, Delta: `{"city":"Lima"}`}, nil) &&
				yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopToolUse}, nil)
			return
		}
		_ = yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: "It is " + last.Text() + "."}, nil) &&
			yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}, nil)
	}
}
