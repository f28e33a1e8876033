package builtin

import (
	"encoding/json"
	"fmt"

	"clawbot/agentcore"
	"clawbot/tools"
)

// Source returns the built-in tools.
func Source() tools.Source {
	locks := newPathLocks()
	return tools.Source{Name: "builtin", Kind: tools.Builtin, Tools: []tools.Tool{
		currentTime(),
		editFile(locks),
		listDir(),
		readFile(locks),
		search(),
		webFetch(nil),
		writeFile(locks),
	}}
}

// describe fills in what all built-in tools have in common.
func describe(name, title, prose, schema string) tools.Descriptor {
	return tools.Descriptor{
		Name: name, Title: title, Description: prose,
		InputSchema: json.RawMessage(schema),
		Owner:       tools.Owner{Kind: tools.Core},
		Executor:    &tools.Executor{Kind: tools.Core, Name: name},
	}
}

// arguments decodes a call's validated arguments.
func arguments[T any](call agentcore.Call) (T, error) {
	var args T
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return args, fmt.Errorf("arguments of %s: %w", call.Name, err)
	}
	return args, nil
}

// telling returns a function that picks one string argument for display.
func telling(argument string) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		var args map[string]json.RawMessage
		var value string
		if json.Unmarshal(raw, &args) != nil || json.Unmarshal(args[argument], &value) != nil {
			return ""
		}
		return value
	}
}
