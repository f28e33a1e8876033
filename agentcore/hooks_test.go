package agentcore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"clawbot/agentcore"
)

// hooks sets the hooks that the script's hooks section asks for.
func (c *conversation) hooks(cfg *agentcore.Config) {
	cfg.BeforeToolCall = func(_ context.Context, call agentcore.Call) (agentcore.BeforeResult, error) {
		return c.before(call)
	}
	cfg.AfterToolCall = func(_ context.Context, call agentcore.Call, _ agentcore.Result) (agentcore.AfterResult, error) {
		return c.after(call)
	}
	cfg.ResolveDeferredTool = func(_ context.Context, name string) (*agentcore.Tool, error) {
		for _, action := range c.hookFor["resolve "+name] {
			return nil, c.fail(action)
		}
		for _, tool := range c.tools {
			if tool.deferred && tool.name == name {
				return tool.build(c), nil
			}
		}
		return nil, nil
	}
	cfg.PrepareNextTurn = func(_ context.Context, turn agentcore.Turn) (*agentcore.NextTurn, error) {
		actions := c.hookFor[fmt.Sprint("next ", turn.Iteration)]
		if len(actions) == 0 {
			return nil, nil
		}
		kind, name, _ := strings.Cut(actions[0], " ")
		switch kind {
		case "model":
			return &agentcore.NextTurn{Model: &conversationModel{c, name}}, nil
		case "thinking":
			level := agentcore.ThinkingLevel(name)
			return &agentcore.NextTurn{Thinking: &level}, nil
		case "messages":
			return &agentcore.NextTurn{Messages: []*agentcore.Message{user(name)}}, nil
		}
		return nil, c.fail(actions[0])
	}
	cfg.ShouldStopAfterTurn = func(_ context.Context, turn agentcore.Turn) (bool, error) {
		actions := c.hookFor[fmt.Sprint("stop ", turn.Iteration)]
		if len(actions) > 0 && actions[0] != "" {
			return false, c.fail(actions[0])
		}
		return len(actions) > 0, nil
	}
	if actions := c.hookFor["transform"]; actions != nil {
		cfg.TransformContext = func(_ context.Context, messages []*agentcore.Message) ([]*agentcore.Message, error) {
			return messages, c.fail(actions[0])
		}
	}
	if actions := c.hookFor["followup"]; actions != nil {
		cfg.FollowUpMessages = func(context.Context) ([]*agentcore.Message, error) {
			if len(actions) == 0 {
				return nil, nil
			}
			action := actions[0]
			actions = actions[1:]
			return nil, c.fail(action)
		}
	}
}

func (c *conversation) before(call agentcore.Call) (agentcore.BeforeResult, error) {
	for _, action := range c.hookFor["before "+call.Name] {
		verb, rest, _ := strings.Cut(action, " ")
		switch verb {
		case "block":
			return agentcore.BeforeResult{Block: true, Reason: rest}, nil
		case "args":
			return agentcore.BeforeResult{Arguments: json.RawMessage(rest)}, nil
		}
		if err := c.fail(action); err != nil {
			return agentcore.BeforeResult{}, err
		}
	}
	return agentcore.BeforeResult{}, nil
}

func (c *conversation) after(call agentcore.Call) (over agentcore.AfterResult, err error) {
	for _, action := range c.hookFor["after "+call.Name] {
		verb, rest, _ := strings.Cut(action, " ")
		yes := rest != "false"
		switch verb {
		case "content":
			over.Content = &[]agentcore.Block{agentcore.Text{Text: rest}}
		case "iserror":
			over.IsError = &yes
		case "terminate":
			over.Terminate = &yes
		case "stop":
			over.StopAfterBatch = true
		default:
			if err := c.fail(action); err != nil {
				return over, err
			}
		}
	}
	return over, nil
}

// fail does "error TEXT" and "panic TEXT", or an action.
func (c *conversation) fail(action string) error {
	verb, rest, _ := strings.Cut(action, " ")
	switch verb {
	case "error":
		return errors.New(rest)
	case "panic":
		panic(rest)
	}
	c.act(action)
	return nil
}
