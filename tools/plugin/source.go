package plugin

import (
	"context"
	"encoding/json"
	"fmt"

	"clawbot/agentcore"
	"clawbot/tools"
)

// Source returns the plugin's tools, named PLUGIN__TOOL.
func (m *Manifest) Source() tools.Source {
	source := tools.Source{Name: "plugin:" + m.Name, Kind: tools.Extension}
	for i := range m.Tools {
		source.Tools = append(source.Tools, m.tool(&m.Tools[i]))
	}
	return source
}

func (m *Manifest) tool(t *Tool) tools.Tool {
	out := tools.Tool{
		Descriptor: tools.Descriptor{
			Name: m.Name + "__" + t.Name, Title: t.Title, Description: t.Description, InputSchema: t.schema,
			Owner:    tools.Owner{Kind: tools.Plugin, ID: m.Name},
			Executor: &tools.Executor{Kind: tools.Plugin, ID: m.Name, Name: t.Name},
		},
		Mode:       agentcore.Sequential,
		Idempotent: t.Idempotent,
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			return m.execute(ctx, t, call)
		},
	}
	if t.Mode == "parallel" {
		out.Mode = agentcore.Parallel
	}
	return out
}

// answer is the document that a tool writes.
type answer struct {
	Text    string          `json:"text"`
	IsError bool            `json:"is_error"`
	Details json.RawMessage `json:"details"`
	Images  []struct {
		MIMEType string `json:"mime"`
		Data     []byte `json:"data"` // base64
	} `json:"images"`
}

func (m *Manifest) execute(ctx context.Context, t *Tool, call agentcore.Call) (agentcore.Result, error) {
	var a answer
	if err := m.run(ctx, t.Command, t.timeout, newRequest(ctx, "tool", t.Name, call.Arguments), &a); err != nil {
		return agentcore.Result{}, err
	}
	out := agentcore.Result{IsError: a.IsError, Details: a.Details}
	if a.Text != "" {
		out.Content = append(out.Content, agentcore.Text{Text: tools.Untrusted("the plugin "+m.Name, a.Text)})
	}
	for _, i := range a.Images {
		out.Content = append(out.Content, agentcore.Image{MIMEType: i.MIMEType, Data: i.Data})
	}
	if len(out.Content) == 0 {
		out.Content = append(out.Content, agentcore.Text{Text: "(no output)"})
	}
	return out, nil
}

// Before asks the plugins' tool_call hooks, one after the other, each about the
// arguments that the one before it left. A hook that fails blocks.
func Before(ctx context.Context, plugins []*Manifest, call agentcore.Call) (agentcore.BeforeResult, error) {
	var out agentcore.BeforeResult
	for _, m := range plugins {
		if len(m.Hooks.ToolCall) == 0 {
			continue
		}
		var said struct {
			Block     bool            `json:"block"`
			Reason    string          `json:"reason"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if err := m.run(ctx, m.Hooks.ToolCall, hookTimeout, newRequest(ctx, "tool_call", call.Name, call.Arguments), &said); err != nil {
			return agentcore.BeforeResult{}, fmt.Errorf("blocked, since a hook failed: %w", err)
		}
		if said.Block {
			out = agentcore.BeforeResult{Block: true, Reason: said.Reason}
			if out.Reason == "" {
				out.Reason = fmt.Sprintf("Blocked by the plugin %s.", m.Name)
			}
			return out, nil
		}
		if said.Arguments != nil {
			out.Arguments, call.Arguments = said.Arguments, said.Arguments
		}
	}
	return out, nil
}

// After shows the result to the plugins' tool_result hooks, one after the other,
// which may replace its text.
func After(ctx context.Context, plugins []*Manifest, call agentcore.Call, r agentcore.Result) (agentcore.AfterResult, error) {
	var out agentcore.AfterResult
	message := agentcore.Message{Content: r.Content}
	now := result{Text: message.Text(), IsError: r.IsError}
	for _, m := range plugins {
		if len(m.Hooks.ToolResult) == 0 {
			continue
		}
		in := newRequest(ctx, "tool_result", call.Name, call.Arguments)
		in.Result = &now
		var said struct {
			Text    *string `json:"text"`
			IsError *bool   `json:"is_error"`
		}
		if err := m.run(ctx, m.Hooks.ToolResult, hookTimeout, in, &said); err != nil {
			return agentcore.AfterResult{}, err
		}
		if said.Text != nil {
			now.Text = *said.Text
			out.Content = new(replaceText(r.Content, now.Text))
		}
		if said.IsError != nil {
			now.IsError = *said.IsError
			out.IsError = said.IsError
		}
	}
	return out, nil
}

// replaceText puts the text in the place of all texts, and keeps what else there
// is.
func replaceText(content []agentcore.Block, text string) []agentcore.Block {
	out := []agentcore.Block{agentcore.Text{Text: text}}
	for _, b := range content {
		if _, ok := b.(agentcore.Text); !ok {
			out = append(out, b)
		}
	}
	return out
}
