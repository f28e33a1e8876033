package builtin

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed search_history.md
var searchHistoryProse string

const (
	usualFound = 8
	mostFound  = 20
)

func searchHistory() tools.Tool {
	return tools.Tool{
		Descriptor: describe("search_history", "Search history", searchHistoryProse, `{
			"type": "object",
			"properties": {
				"query": {"type": "string", "minLength": 1, "maxLength": 500, "description": "Words that must all have occurred"},
				"limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many messages at most"}
			},
			"required": ["query"]
		}`),
		Idempotent: true,
		Telling:    telling("query"),
		Execute:    runSearchHistory,
	}
}

func runSearchHistory(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
	args, err := arguments[struct {
		Query string
		Limit int
	}](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	history := tools.ScopeOf(ctx).History
	if history == nil {
		return agentcore.Result{}, errors.New("there is no history here to search")
	}
	found, err := history.Search(ctx, args.Query, min(max(cmp.Or(args.Limit, usualFound), 1), mostFound))
	if err != nil {
		return agentcore.Result{}, err
	}
	if len(found) == 0 {
		return agentcore.TextResult("Nothing was found: try fewer or other words, in the language it was said in."), nil
	}
	var b strings.Builder
	b.WriteString("What was said in earlier conversations, the latest first:\n")
	for _, f := range found {
		who, where := "the person", ""
		if f.ByAgent {
			who = "you"
		}
		if f.Here {
			where = ", earlier in this conversation"
		}
		fmt.Fprintf(&b, "\n- %s, %s%s: %s", f.At.Format("Monday, 2 January 2006, 15:04"), who, where, tools.Defuse(f.Text))
	}
	return agentcore.TextResult(b.String()), nil
}
