package builtin

import (
	"context"
	_ "embed"
	"errors"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed remember.md
var rememberProse string

//go:embed forget.md
var forgetProse string

// errNobody is returned where no person is known whose memory it could be.
var errNobody = errors.New("there is nobody here to remember anything about")

func remember() tools.Tool {
	return tools.Tool{
		Descriptor: describe("remember", "Remember", rememberProse, `{
			"type": "object",
			"properties": {"fact": {"type": "string", "minLength": 1, "description": "One short sentence"}},
			"required": ["fact"]
		}`),
		Mode: agentcore.Sequential,
		// The same fact twice is kept once.
		Idempotent: true,
		Telling:    telling("fact"),
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			args, err := arguments[struct{ Fact string }](call)
			if err != nil {
				return agentcore.Result{}, err
			}
			memory := tools.ScopeOf(ctx).Memory
			if memory == nil {
				return agentcore.Result{}, errNobody
			}
			return answered(memory.Remember(ctx, args.Fact))
		},
	}
}

func forget() tools.Tool {
	return tools.Tool{
		Descriptor: describe("forget", "Forget", forgetProse, `{
			"type": "object",
			"properties": {"id": {"type": "string", "minLength": 1, "maxLength": 40, "description": "The fact's id"}},
			"required": ["id"]
		}`),
		Mode:       agentcore.Sequential,
		Idempotent: true,
		Telling:    telling("id"),
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			args, err := arguments[struct{ ID string }](call)
			if err != nil {
				return agentcore.Result{}, err
			}
			memory := tools.ScopeOf(ctx).Memory
			if memory == nil {
				return agentcore.Result{}, errNobody
			}
			return answered(memory.Forget(ctx, args.ID))
		},
	}
}

func answered(text string, err error) (agentcore.Result, error) {
	if err != nil {
		return agentcore.Result{}, err
	}
	return agentcore.TextResult(text), nil
}
