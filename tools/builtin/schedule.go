package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed schedule.md
var scheduleProse string

// elsewhere are arguments by which models try to reach another conversation.
var elsewhere = []string{"to", "room", "channel", "chat", "conversation", "target", "recipient", "user"}

// schedule leaves what can be set, and for whom, to the conversation.
func schedule() tools.Tool {
	return tools.Tool{
		Descriptor: describe("schedule", "Schedule", scheduleProse, `{
			"type": "object",
			"properties": {
				"action": {"type": "string", "enum": ["set", "list", "cancel"]},
				"text": {"type": "string", "description": "What is to be done then"},
				"in": {"type": "string", "description": "Duration from now: 20m, 2h30m, 3d"},
				"at": {"type": "string", "description": "Date and time: 2026-12-24T18:00"},
				"cron": {"type": "string", "description": "minute hour day month weekday"},
				"zone": {"type": "string", "description": "IANA time zone"},
				"id": {"type": "string", "description": "Which to cancel"}
			},
			"required": ["action"]
		}`),
		Mode:    agentcore.Sequential,
		Telling: tellSchedule,
		Execute: runSchedule,
	}
}

func runSchedule(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
	args, err := arguments[tools.ScheduleRequest](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	given, err := arguments[map[string]json.RawMessage](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	for _, name := range elsewhere {
		if value, ok := given[name]; ok && string(value) != "null" {
			return agentcore.Result{}, fmt.Errorf("%s can't be given: what is scheduled here is done here. To schedule something in another conversation, it must be asked for there", name)
		}
	}
	chat := tools.ScopeOf(ctx).Conversation
	if chat == nil {
		return agentcore.Result{}, errors.New("there is no conversation here in which anything could be done later")
	}
	spec, err := json.Marshal(args)
	if err != nil {
		return agentcore.Result{}, err
	}
	raw, err := chat.Schedule(ctx, spec)
	if err != nil {
		return agentcore.Result{}, err
	}
	var answer tools.ScheduleAnswer
	if err := json.Unmarshal(raw, &answer); err != nil {
		return agentcore.Result{}, fmt.Errorf("the conversation's answer can't be read: %w", err)
	}
	return agentcore.TextResult(answer.Text), nil
}

func tellSchedule(raw json.RawMessage) string {
	var args tools.ScheduleRequest
	if json.Unmarshal(raw, &args) != nil {
		return ""
	}
	parts := []string{args.Action, args.In, args.At, args.Cron, args.ID, args.Text}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}
