package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/tools"
	"clawbot/tools/tooltest"
)

type forecast struct {
	City string        `json:"city"           jsonschema:"the city's name"`
	Days int           `json:"days,omitempty" jsonschema:"how many days ahead"`
	Wait time.Duration `json:"wait,omitempty" jsonschema:"in nanoseconds"`
	Tags []string      `json:"tags,omitempty" jsonschema:"any tags"`
}

func TestAFunctionIsATool(t *testing.T) {
	tool, err := tools.Func("weather", "Says what the weather will be.", func(_ context.Context, in forecast) (string, error) {
		if in.City == "" {
			return "", errors.New("name a city")
		}
		return fmt.Sprintf("sun in %s in %d days", in.City, in.Days), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tooltest.Run(t, tooltest.Case{Tool: tool, Valid: []string{`{"city":"Lima","days":2}`}})
	var schemas agentcore.Schemas
	core := &agentcore.Tool{Name: tool.Name, Schema: tool.InputSchema}
	if _, err := schemas.Validate(core, json.RawMessage(`{"days":2}`)); err == nil {
		t.Error("the city is not required")
	}
	args, err := schemas.Validate(core, json.RawMessage(`{"city":"Lima","days":"2"}`))
	if err != nil {
		t.Fatal(err)
	}
	result, err := tool.Execute(t.Context(), agentcore.Call{Name: "weather", Arguments: args}, nil)
	if err != nil || result.Content[0].(agentcore.Text).Text != "sun in Lima in 2 days" {
		t.Errorf("%+v %v", result, err)
	}
}

func TestWhatIsNoToolIsRefusedWhenItIsMade(t *testing.T) {
	say := func(context.Context, forecast) (string, error) { return "", nil }
	for name, err := range map[string]error{
		"a bad name":     second(tools.Func("a b", "x", say)),
		"no description": second(tools.Func("a", " ", say)),
		"no struct":      second(tools.Func("a", "x", func(context.Context, string) (string, error) { return "", nil })),
		"no schema":      second(tools.Func("a", "x", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })),
	} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func second(_ tools.Tool, err error) error { return err }
