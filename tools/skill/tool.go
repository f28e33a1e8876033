package skill

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"clawbot/agentcore"
)

//go:embed read_skill.md
var prose string

// ToolName is the name of the tool that reads skills.
const ToolName = "read_skill"

var schema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"name": {"type": "string", "minLength": 1, "description": "The skill"},
		"file": {"type": "string", "description": "Another file of it"}
	},
	"required": ["name"]
}`)

// Tool reads the given skills, and lists them in its description.
func Tool(skills []*Skill) *agentcore.Tool {
	var list strings.Builder
	list.WriteString(strings.TrimRight(prose, "\n"))
	for _, s := range skills {
		fmt.Fprintf(&list, "\n- %s: %s", s.Name, s.Description)
	}
	return &agentcore.Tool{
		Name: ToolName, Label: "Read skill", Description: list.String(), Schema: schema, Idempotent: true,
		Execute: func(_ context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			var in struct{ Name, File string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return agentcore.Result{}, fmt.Errorf("arguments of %s: %w", ToolName, err)
			}
			i := slices.IndexFunc(skills, func(s *Skill) bool { return strings.EqualFold(s.Name, in.Name) })
			if i < 0 {
				return agentcore.Result{}, fmt.Errorf("there is no skill %q here", in.Name)
			}
			text, err := skills[i].Read(in.File)
			if err != nil {
				return agentcore.Result{}, err
			}
			return agentcore.TextResult(text), nil
		},
	}
}
