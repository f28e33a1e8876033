package demo

import (
	"encoding/json"
	"slices"
	"strings"

	"clawbot/agentcore"
)

// toolbox is what the model may call.
type toolbox struct{ tools []agentcore.ToolSpec }

func newToolbox(tools []agentcore.ToolSpec) toolbox { return toolbox{tools} }

func (t toolbox) has(name string) bool {
	return slices.ContainsFunc(t.tools, func(s agentcore.ToolSpec) bool { return s.Name == name })
}

func (t toolbox) names() []string {
	names := make([]string, len(t.tools))
	for i := range t.tools {
		names[i] = t.tools[i].Name
	}
	return names
}

// argument returns the first of names that the tool's schema knows.
func (t toolbox) argument(tool string, names ...string) string {
	for _, s := range t.tools {
		if s.Name != tool {
			continue
		}
		var schema struct{ Properties map[string]json.RawMessage }
		if json.Unmarshal(s.Schema, &schema) != nil {
			break
		}
		for _, name := range names {
			if _, ok := schema.Properties[name]; ok {
				return name
			}
		}
	}
	return names[0]
}

// missing is said when a tool that is needed is not there.
func (t toolbox) missing(tool string) step {
	text := "For that I would call `" + tool + "`, but that tool is not available to me here"
	if len(t.tools) == 0 {
		text += "; I have none at all."
	} else {
		text += ". I have: " + list(t.names()) + "."
	}
	return said(text)
}

func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "`" + w + "`"
	}
	if n := len(quoted) - 1; n > 0 {
		return strings.Join(quoted[:n], ", ") + " and " + quoted[n]
	}
	return strings.Join(quoted, "")
}
