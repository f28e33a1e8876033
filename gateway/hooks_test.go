package gateway

import (
	"context"
	"errors"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/tools"
)

// hooking is a toolbox with hooks.
type hooking struct {
	toolset
	before func(call agentcore.Call, scope *tools.Scope) (agentcore.BeforeResult, error)
	after  func(result agentcore.Result) (agentcore.AfterResult, error)
}

func (h hooking) Before(ctx context.Context, call agentcore.Call) (agentcore.BeforeResult, error) {
	return h.before(call, tools.ScopeOf(ctx))
}

func (h hooking) After(_ context.Context, _ agentcore.Call, result agentcore.Result) (agentcore.AfterResult, error) {
	return h.after(result)
}

func TestHooksBlockReplaceAndSeeResults(t *testing.T) {
	pass := func(agentcore.Call, *tools.Scope) (agentcore.BeforeResult, error) {
		return agentcore.BeforeResult{}, nil
	}
	keep := func(agentcore.Result) (agentcore.AfterResult, error) { return agentcore.AfterResult{}, nil }
	for name, test := range map[string]struct {
		before func(agentcore.Call, *tools.Scope) (agentcore.BeforeResult, error)
		after  func(agentcore.Result) (agentcore.AfterResult, error)
		ran    string
		says   string
	}{
		"nothing": {pass, keep, `{"a":1}`, "ran"},
		"blocks": {func(_ agentcore.Call, s *tools.Scope) (agentcore.BeforeResult, error) {
			return agentcore.BeforeResult{Block: true, Reason: "not for " + s.Role + " in " + s.Session}, nil
		}, keep, "", "not for owner in " + sess},
		"replaces": {func(agentcore.Call, *tools.Scope) (agentcore.BeforeResult, error) {
			return agentcore.BeforeResult{Arguments: []byte(`{"b":2}`)}, nil
		}, keep, `{"b":2}`, "ran"},
		"fails": {func(agentcore.Call, *tools.Scope) (agentcore.BeforeResult, error) {
			return agentcore.BeforeResult{}, errors.New("the hook broke")
		}, keep, "", "the hook broke"},
		"cleans": {pass, func(agentcore.Result) (agentcore.AfterResult, error) {
			return agentcore.AfterResult{Content: &[]agentcore.Block{agentcore.Text{Text: "cleaned"}}}, nil
		}, `{"a":1}`, "cleaned"},
		"fails after": {pass, func(agentcore.Result) (agentcore.AfterResult, error) {
			return agentcore.AfterResult{}, errors.New("broke")
		}, `{"a":1}`, "The tool completed"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ran := ""
				act := &agentcore.Tool{Name: "act", Description: "act", Schema: []byte(`{"type":"object"}`),
					Execute: func(_ context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
						ran = string(call.Arguments)
						return agentcore.TextResult("ran"), nil
					}}
				c, s := newChat("chat"), newStore(t)
				m := &script{steps: []step{call("c1", "act", `{"a":1}`), say("done")}}
				b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: hooking{toolset{act}, test.before, test.after}}))
				c.send(t, direct(sess, "1", "work"))
				settled(t, b)
				messages := m.asked()[1].Messages
				if got := messages[len(messages)-1].Text(); ran != test.ran || !strings.Contains(got, test.says) {
					t.Errorf("ran %q, said %q", ran, got)
				}
				valid(t, s, sess)
			})
		})
	}
}
