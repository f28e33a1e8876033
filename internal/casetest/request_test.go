package casetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Request runs cases of a transcript on the adapter: the body that it is sent
// as must satisfy every invariant of the case.
func (runner) Request(t *testing.T, c Case) {
	var in requestInput
	decode(t, c.Input, &in)
	if in.Model == "" {
		in.Model = "m1"
	}
	name := "case"
	if in.Provider != "" {
		name = in.Provider
	}
	model, ok := newModel(t, c.Meta.Provider, providers.Config{Name: name, BaseURL: hosts[in.Provider]}, in.Model)
	if !ok {
		missing(t, c)
		return
	}
	req := &agentcore.Request{Messages: in.transcript(t, model.Info().Ref)}
	raw := model.Request(req).Bytes()
	if again := model.Request(req).Bytes(); !bytes.Equal(raw, again) {
		t.Errorf("the same request is encoded differently the second time:\n%s\n%s", raw, again)
	}
	checkInvariants(t, c, raw)
}

type requestInput struct {
	Provider string
	Model    string
	Messages []neutralMessage
}

type neutralMessage struct {
	Role       string
	Content    []neutralBlock
	API        string
	Provider   string
	Model      string
	StopReason string
	ToolCallID string
	ToolName   string
	IsError    bool
}

type neutralBlock struct {
	Type, Text, Thinking, Signature string
	ThoughtSignature                string
	ID, Name                        string
	Arguments                       json.RawMessage
	Data                            []byte
	MIMEType                        string
	Redacted                        bool
}

// transcript makes messages of a neutral history. An assistant without a model
// is the one that is asked now.
func (in requestInput) transcript(t *testing.T, ref agentcore.ModelRef) []*agentcore.Message {
	var messages []*agentcore.Message
	for i, n := range in.Messages {
		m := &agentcore.Message{ID: fmt.Sprintf("m%d", i), Role: agentcore.Role(n.Role), IsError: n.IsError,
			ToolCallID: n.ToolCallID, ToolName: n.ToolName, Stop: agentcore.StopReason(n.StopReason)}
		for _, b := range n.Content {
			m.Content = append(m.Content, b.block(t))
		}
		if m.Role == agentcore.RoleAssistant {
			n.author(m, ref)
		}
		messages = append(messages, m)
	}
	return messages
}

func (b neutralBlock) block(t *testing.T) agentcore.Block {
	switch b.Type {
	case "text":
		return agentcore.Text{Text: b.Text, Signature: b.ThoughtSignature}
	case "thinking":
		return agentcore.Thinking{Text: b.Thinking, Signature: b.Signature, Redacted: b.Redacted}
	case "image":
		return agentcore.Image{Data: b.Data, MIMEType: b.MIMEType}
	case "toolCall":
		return agentcore.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Arguments, Signature: b.ThoughtSignature}
	}
	t.Fatalf("unknown block type %q", b.Type)
	return nil
}

func (n neutralMessage) author(m *agentcore.Message, ref agentcore.ModelRef) {
	m.Model = ref
	if n.Model != "" {
		m.Model.ID = n.Model
	}
	if n.Provider != "" {
		m.Model.Provider = n.Provider
	}
	if a, ok := adapters[n.API]; ok {
		m.Model.Format = a.format
	} else if n.API != "" {
		m.Model.Format = n.API
	}
	if m.Stop == "" {
		m.Stop = agentcore.StopEnd
		if len(m.ToolCalls()) > 0 {
			m.Stop = agentcore.StopToolUse
		}
	}
}

// invariant is one condition of a case on a request body.
type invariant struct {
	Op    string
	Path  string
	Value any
}

// invariants check a decoded body and say what is wrong, "" if nothing is.
// Each wire format has its own in a file of its own.
func invariants() map[string]func(body any, want invariant) string {
	all := map[string]func(any, invariant) string{
		"eq":      func(body any, w invariant) string { return differs(at(body, w.Path), w.Value) },
		"regex":   matches,
		"anyText": func(body any, w invariant) string { return anywhere(body, w.Value, strings.Contains) },
		"anyValue": func(body any, w invariant) string {
			return anywhere(body, w.Value, func(a, b string) bool { return a == b })
		},
	}
	for _, more := range []map[string]func(any, invariant) string{anthropicInvariants, openaiInvariants, geminiInvariants, mistralInvariants} {
		maps.Copy(all, more)
	}
	return all
}

func checkInvariants(t *testing.T, c Case, raw []byte) {
	t.Helper()
	var body any
	decode(t, raw, &body)
	var expected struct{ Invariants []invariant }
	decode(t, c.Expected, &expected)
	if len(expected.Invariants) == 0 {
		t.Error("the case has no invariants")
	}
	for _, want := range expected.Invariants {
		check, ok := invariants()[want.Op]
		if !ok {
			t.Errorf("no check for the invariant %q", want.Op)
			continue
		}
		if problem := check(body, want); problem != "" {
			t.Errorf("%s %s: %s\n%s", want.Op, want.Path, problem, raw)
		}
	}
}

// at follows a path of keys and (negative) indexes.
func at(v any, path string) any {
	for segment := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[segment]
		case []any:
			i, err := strconv.Atoi(segment)
			if i < 0 {
				i += len(node)
			}
			if err != nil || i < 0 || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

func differs(got, want any) string {
	if sameJSON(got, want) {
		return ""
	}
	return fmt.Sprintf("is %v, want %v", got, want)
}

func matches(body any, want invariant) string {
	got, _ := at(body, want.Path).(string)
	pattern, _ := want.Value.(string)
	if regexp.MustCompile(pattern).MatchString(got) {
		return ""
	}
	return fmt.Sprintf("%q does not match %s", got, pattern)
}

func anywhere(v, want any, same func(string, string) bool) string {
	text, _ := want.(string)
	found := false
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			found = found || same(v, text)
		case []any:
			for _, e := range v {
				visit(e)
			}
		case map[string]any:
			for _, e := range v {
				visit(e)
			}
		}
	}
	if visit(v); found {
		return ""
	}
	return fmt.Sprintf("%q is nowhere", text)
}

// objects returns the objects of an array.
func objects(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, e := range list {
		o, _ := e.(map[string]any)
		out = append(out, o)
	}
	return out
}
