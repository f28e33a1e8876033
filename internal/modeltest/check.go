package modeltest

import (
	"fmt"
	"slices"
)

// check refuses what both vendors refuse: no messages, a call without exactly
// one result right after it, a result without a call, doubled names.
func (r *Request) check() error {
	if r.Model == "" {
		return &refusal{400, "model: Field required"}
	}
	if len(r.Messages) == 0 {
		return &refusal{400, "messages: at least one message is required"}
	}
	var open []string
	for i, m := range r.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return &refusal{400, fmt.Sprintf("messages with role 'tool' must be a response to a preceding message with 'tool_calls' (result %d for %q)", i, m.ToolCallID)}
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return unanswered(open)
		}
		for _, c := range m.Calls {
			if c.ID == "" || c.Name == "" || slices.Contains(open, c.ID) {
				return &refusal{400, fmt.Sprintf("tool call %q of message %d has no id of its own or no name", c.ID, i)}
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return r.checkTools()
}

func unanswered(ids []string) error {
	return &refusal{400, fmt.Sprintf("tool calls must be followed by tool results; these have none right after them: %v", ids)}
}

func (r *Request) checkTools() error {
	names := map[string]bool{}
	for _, t := range r.Tools {
		if t.Name == "" || len(t.Name) > 128 || names[t.Name] {
			return &refusal{400, fmt.Sprintf("tools: Tool names must be unique and have 1 to 128 characters (%q)", t.Name)}
		}
		names[t.Name] = true
	}
	return nil
}
