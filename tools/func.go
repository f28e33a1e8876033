package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"clawbot/agentcore"
)

// Func makes a tool of a Go function. In is a struct: its json tags name the
// arguments, a field without omitempty is required, and a jsonschema tag
// describes it. What fn returns is shown to the model; an error as well.
//
// The tool runs beside others and is not repeated after a crash; set Mode and
// Idempotent on what is returned to change that.
func Func[In any](name, description string, fn func(ctx context.Context, in In) (string, error)) (Tool, error) {
	if reflect.TypeFor[In]().Kind() != reflect.Struct {
		return Tool{}, fmt.Errorf("tool %s: the arguments are a %s; declare a struct", name, reflect.TypeFor[In]())
	}
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return Tool{}, fmt.Errorf("tool %s: no schema can be made of %s: %w", name, reflect.TypeFor[In](), err)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return Tool{}, fmt.Errorf("tool %s: %w", name, err)
	}
	if !validName.MatchString(name) || strings.TrimSpace(description) == "" {
		return Tool{}, fmt.Errorf("tool %q: it needs a name of letters, digits, _ and -, and a description for the model", name)
	}
	return Tool{
		Descriptor: Descriptor{
			Name: name, Description: description, InputSchema: raw,
			Owner: Owner{Kind: Core}, Executor: &Executor{Kind: Core, Name: name},
		},
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			var in In
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return agentcore.Result{}, fmt.Errorf("arguments of %s: %w", name, err)
			}
			text, err := fn(ctx, in)
			if err != nil {
				return agentcore.Result{}, err
			}
			return agentcore.TextResult(text), nil
		},
	}, nil
}
