package gateway

import (
	"context"
	"fmt"

	"clawbot/agentcore"
	"clawbot/tools"
)

type (
	beforeHook func(context.Context, agentcore.Call) (agentcore.BeforeResult, error)
	afterHook  func(context.Context, agentcore.Call, agentcore.Result) (agentcore.AfterResult, error)
)

// hooks returns the toolbox's, nil if it has none.
func (e *environment) hooks() (beforeHook, afterHook) {
	h, ok := e.r.t.g.cfg.Toolbox.(Hooks)
	if !ok {
		return nil, nil
	}
	return func(ctx context.Context, call agentcore.Call) (agentcore.BeforeResult, error) {
			ctx, err := e.scoped(ctx, call.Name)
			if err != nil {
				return agentcore.BeforeResult{}, err
			}
			return h.Before(ctx, call)
		}, func(ctx context.Context, call agentcore.Call, result agentcore.Result) (agentcore.AfterResult, error) {
			ctx, err := e.scoped(ctx, call.Name)
			if err != nil {
				return agentcore.AfterResult{}, err
			}
			return h.After(ctx, call, result)
		}
}

// scoped puts the call's scope into ctx, if it may be made at all.
func (e *environment) scoped(ctx context.Context, name string) (context.Context, error) {
	_, scope, err := e.enter(name)
	if err != nil {
		return ctx, err
	}
	return tools.WithScope(ctx, scope), nil
}

// hooked asks the hooks about a call that is made outside of the loop.
func (e *environment) hooked(ctx context.Context, call agentcore.Call) (agentcore.Call, string, error) {
	before, _ := e.hooks()
	if before == nil {
		return call, "", nil
	}
	said, err := before(ctx, call)
	switch {
	case err != nil:
		return call, "", err
	case said.Block && said.Reason != "":
		return call, said.Reason, nil
	case said.Block:
		return call, "Tool execution was blocked", nil
	case said.Arguments == nil:
		return call, "", nil
	}
	e.mu.Lock()
	t := e.allowed[call.Name]
	e.mu.Unlock()
	if t == nil {
		return call, "", fmt.Errorf("%s is gone", call.Name)
	}
	call.Arguments, err = e.r.t.g.schemas.Validate(t, said.Arguments)
	return call, "", err
}

// shown lets the hooks see a result outside of the loop.
func (e *environment) shown(ctx context.Context, call agentcore.Call, result agentcore.Result) (agentcore.Result, error) {
	_, after := e.hooks()
	if after == nil {
		return result, nil
	}
	said, err := after(ctx, call, result)
	if err != nil {
		return refused(fmt.Sprintf("The tool completed, but what follows it failed: %v. Do not run it again for this reason.", err)), nil
	}
	if said.Content != nil {
		result.Content = *said.Content
	}
	if said.IsError != nil {
		result.IsError = *said.IsError
	}
	return result, nil
}
