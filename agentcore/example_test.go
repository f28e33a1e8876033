package agentcore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"clawbot/agentcore"
)

// answers is a model that gives the same answers to everybody. A real one sends
// req to a vendor and yields what comes back as it comes.
type answers struct {
	list []answer
	next int
}

// answer is a text, or the call of a tool.
type answer struct{ text, tool, arguments string }

func (m *answers) Stream(_ context.Context, _ *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		a := m.list[m.next]
		m.next++
		if a.tool == "" {
			_ = yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: a.text}, nil) &&
				yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}, nil)
			return
		}
		_ = yield(agentcore.StreamEvent{Type: agentcore.StreamToolCall, ID: fmt.Sprint("call_", m.next), Name: a.tool}, nil) &&
			yield(agentcore.StreamEvent{Type: agentcore.StreamArguments, Delta: a.arguments}, nil) &&
			yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopToolUse}, nil)
	}
}

func userSays(text string) []*agentcore.Message {
	return []*agentcore.Message{{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: text}}}}
}

// A tool of one's own: a name, a schema, and a function.
func Example() {
	getWeather := &agentcore.Tool{
		Name:        "get_weather",
		Description: "Tells the weather at a place now.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}`),
		Execute: func(ctx context.Context, call agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error) {
			var in struct{ Location string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return agentcore.Result{}, err
			}
			return agentcore.TextResult("18 °C and sunny in " + in.Location), nil
		},
	}
	loop := agentcore.New(agentcore.Config{
		Model: &answers{list: []answer{
			{tool: "get_weather", arguments: `{"location":"Lima"}`},
			{text: "It is 18 °C and sunny."},
		}},
		Tools: []*agentcore.Tool{getWeather},
	})
	for event, err := range loop.Run(context.Background(), userSays("How is the weather in Lima?")) {
		if err != nil {
			fmt.Println("could not start:", err)
			return
		}
		switch event.Type {
		case agentcore.ToolEnd:
			fmt.Println("tool:", event.Call.Name, string(event.Call.Arguments))
		case agentcore.MessageEnd:
			// A good place to store event.Message: the loop waits.
			fmt.Printf("%s, %d blocks: %q\n", event.Message.Role, len(event.Message.Content), event.Message.Text())
		case agentcore.AgentEnd:
			fmt.Println("failed:", event.Err != nil)
		}
	}
	// Output:
	// user, 1 blocks: "How is the weather in Lima?"
	// assistant, 1 blocks: ""
	// tool: get_weather {"location":"Lima"}
	// toolResult, 1 blocks: "18 °C and sunny in Lima"
	// assistant, 1 blocks: "It is 18 °C and sunny."
	// failed: false
}

// A message that arrives while a tool runs is in the next model call; the run
// goes on.
func ExampleAgent_Steer() {
	var agent *agentcore.Agent
	search := &agentcore.Tool{
		Name: "search",
		Execute: func(context.Context, agentcore.Call, func(agentcore.Update)) (agentcore.Result, error) {
			// Somebody writes while the search runs.
			if err := agent.Steer(userSays("Only in Peru, please.")[0]); err != nil {
				return agentcore.Result{}, err
			}
			return agentcore.TextResult("3 hits"), nil
		},
	}
	agent = agentcore.NewAgent(agentcore.Config{
		Model: &answers{list: []answer{{tool: "search", arguments: `{}`}, {text: "In Peru there is one."}}},
		Tools: []*agentcore.Tool{search},
	})
	agent.Subscribe(func(event agentcore.Event) {
		if event.Type == agentcore.MessageEnd && event.Message.Text() != "" {
			fmt.Printf("%s: %s\n", event.Message.Role, event.Message.Text())
		}
	})
	if err := agent.Prompt(context.Background(), userSays("Find alpaca farms.")...); err != nil {
		fmt.Println(err)
	}
	// Output:
	// user: Find alpaca farms.
	// toolResult: 3 hits
	// user: Only in Peru, please.
	// assistant: In Peru there is one.
}

// A tool that is not declared costs no tokens until it is called.
func ExampleConfig_resolveDeferredTool() {
	catalogue := map[string]*agentcore.Tool{
		"convert": {
			Name:   "convert",
			Schema: json.RawMessage(`{"type":"object","properties":{"celsius":{"type":"number"}}}`),
			Execute: func(context.Context, agentcore.Call, func(agentcore.Update)) (agentcore.Result, error) {
				return agentcore.TextResult("64.4 °F"), nil
			},
		},
	}
	loop := agentcore.New(agentcore.Config{
		System: "Beside your tools there is convert(celsius).",
		Model:  &answers{list: []answer{{tool: "convert", arguments: `{"celsius":18}`}, {text: "64.4 °F"}}},
		ResolveDeferredTool: func(_ context.Context, name string) (*agentcore.Tool, error) {
			return catalogue[name], nil
		},
	})
	for event, err := range loop.Run(context.Background(), userSays("18 °C in °F?")) {
		if err != nil {
			fmt.Println(err)
		} else if event.Type == agentcore.MessageEnd && event.Message.Text() != "" {
			fmt.Printf("%s: %s\n", event.Message.Role, event.Message.Text())
		}
	}
	// Output:
	// user: 18 °C in °F?
	// toolResult: 64.4 °F
	// assistant: 64.4 °F
}

// A hook that blocks a call; the model is told why and can do something else.
func ExampleConfig_beforeToolCall() {
	remove := &agentcore.Tool{
		Name:   "remove",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		Execute: func(context.Context, agentcore.Call, func(agentcore.Update)) (agentcore.Result, error) {
			return agentcore.TextResult("removed"), nil
		},
	}
	loop := agentcore.New(agentcore.Config{
		Model: &answers{list: []answer{{tool: "remove", arguments: `{"path":"/etc"}`}, {text: "I may not remove that."}}},
		Tools: []*agentcore.Tool{remove},
		BeforeToolCall: func(_ context.Context, call agentcore.Call) (agentcore.BeforeResult, error) {
			if call.Name == "remove" {
				return agentcore.BeforeResult{Block: true, Reason: "Removing files needs an approval."}, nil
			}
			return agentcore.BeforeResult{}, nil
		},
	})
	for event, err := range loop.Run(context.Background(), userSays("Clean up.")) {
		if err != nil {
			fmt.Println(err)
		} else if event.Type == agentcore.ToolEnd {
			fmt.Println("executed:", event.Executed)
		} else if event.Type == agentcore.MessageEnd && event.Message.Text() != "" {
			fmt.Printf("%s: %s\n", event.Message.Role, event.Message.Text())
		}
	}
	// Output:
	// user: Clean up.
	// executed: false
	// toolResult: Removing files needs an approval.
	// assistant: I may not remove that.
}
