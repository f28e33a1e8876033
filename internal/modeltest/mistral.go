package modeltest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// What Mistral refuses and OpenAI does not: fields that it does not know, ids of
// another shape, and roles in another order.
var (
	mistralFields = map[string]bool{
		"model": true, "messages": true, "stream": true, "max_tokens": true, "temperature": true, "tools": true, "tool_choice": true,
		"prompt_mode": true, "reasoning_effort": true, "parallel_tool_calls": true, "top_p": true, "stop": true, "random_seed": true,
	}
	mistralID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	// mistralAfter says which role may follow which.
	mistralAfter = map[string]string{"user": "user assistant", "assistant": "user assistant tool", "tool": "assistant tool", "": "user assistant"}
)

// parseMistral reads a request to Mistral, which is one to OpenAI but for that.
func parseMistral(req *Request) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(req.Body, &fields); err != nil {
		return &refusal{422, "body is no JSON: " + err.Error()}
	}
	for name := range fields {
		if !mistralFields[name] {
			return &refusal{422, "Extra inputs are not permitted: " + name}
		}
	}
	if err := parseOpenAI(req); err != nil {
		return err
	}
	last := ""
	for i, m := range req.Messages {
		if !strings.Contains(mistralAfter[last], m.Role) {
			return &refusal{400, fmt.Sprintf("Unexpected role '%s' after role '%s'", m.Role, last)}
		}
		for _, c := range m.Calls {
			if !mistralID.MatchString(c.ID) {
				return &refusal{400, fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9. (message %d)", c.ID, i)}
			}
		}
		last = m.Role
	}
	if last == "assistant" {
		return &refusal{400, "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"}
	}
	return nil
}
