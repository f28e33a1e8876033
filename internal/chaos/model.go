package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"clawbot/internal/modeltest"
)

var (
	question = regexp.MustCompile(`\bq (\d+\.\d+)\b`)
	final    = regexp.MustCompile(`\bfinal((?: \d+\.\d+)+) `)
)

// answer is the model: it calls the tool once for every question that is open
// and then says which ones it has answered. Told that a call did not run, it
// calls again, and told that the outcome is unknown it leaves it.
func (s schedule) answer(_ context.Context, req *modeltest.Request) modeltest.Turn {
	var open []string
	calls := map[string]int{}
	again := map[string]bool{}
	of := map[string]string{} // question by call
	for _, m := range req.Messages {
		switch m.Role {
		case "user":
			if strings.Contains(m.Text, "the user stopped you here") {
				open = nil
			}
			for _, match := range question.FindAllStringSubmatch(m.Text, -1) {
				open = append(open, match[1])
			}
		case "assistant":
			for _, c := range m.Calls {
				var args struct{ ID string }
				if json.Unmarshal([]byte(c.Arguments), &args) == nil {
					calls[args.ID]++
					of[c.ID] = args.ID
				}
			}
			if len(m.Calls) == 0 && final.MatchString(m.Text+" ") {
				open = nil
			}
		case "tool":
			again[of[m.ToolCallID]] = strings.Contains(m.Text, "did not run")
		}
	}
	turn := modeltest.Turn{FirstAfter: s.think}
	for _, q := range open {
		if calls[q] == 0 || again[q] {
			turn.Calls = append(turn.Calls, modeltest.Call{
				ID: fmt.Sprintf("c%s-%d", q, calls[q]), Name: "touch", Arguments: fmt.Sprintf(`{"id":%q}`, q),
			})
		}
	}
	if len(turn.Calls) > 0 {
		return turn
	}
	turn.Text = "final " + strings.Join(open, " ") + " and that is all that there is to say about it."
	turn.Chunk, turn.Pace = 10, cmp.Or(s.pace, 15*time.Millisecond)
	return turn
}
