package casetest

import (
	"fmt"
	"regexp"
)

var mistralInvariants = map[string]func(any, invariant) string{"mistral.ids": mistralIDs}

var nineAlphanumerics = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

// mistralIDs: ids are nine alphanumerics, of their own for each call, and each
// has its result.
func mistralIDs(body any, _ invariant) string {
	calls, results := map[string]int{}, map[string]int{}
	for i, m := range objects(at(body, "messages")) {
		for _, c := range objects(m["tool_calls"]) {
			id, _ := c["id"].(string)
			if calls[id]++; !nineAlphanumerics.MatchString(id) || calls[id] > 1 {
				return fmt.Sprintf("message %d has a call with the id %q, which is impossible or taken", i, id)
			}
		}
		if m["role"] == "tool" {
			id, _ := m["tool_call_id"].(string)
			if results[id]++; calls[id] != 1 || results[id] != 1 {
				return fmt.Sprintf("message %d answers %q: %d calls, %d results", i, id, calls[id], results[id])
			}
		}
	}
	if len(calls) != len(results) {
		return fmt.Sprintf("%d calls, %d results", len(calls), len(results))
	}
	return ""
}
