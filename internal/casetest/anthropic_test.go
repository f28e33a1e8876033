package casetest

import (
	"fmt"
	"strings"
)

var anthropicInvariants = map[string]func(any, invariant) string{
	"anthropic.toolPairing":     anthropicPairing,
	"anthropic.resultsLead":     anthropicPairing,
	"anthropic.noBlankText":     anthropicBlank,
	"anthropic.nonEmptyContent": anthropicEmpty,
	"anthropic.inputsAreObjects": func(body any, _ invariant) string {
		for _, m := range objects(at(body, "messages")) {
			for _, b := range objects(m["content"]) {
				if _, ok := b["input"].(map[string]any); b["type"] == "tool_use" && !ok {
					return fmt.Sprintf("the input of %v is no object", b["id"])
				}
			}
		}
		return ""
	},
}

// anthropicPairing: after an assistant message with tool_use the next message
// is the user's and begins with exactly one tool_result for each; there is no
// tool_result anywhere else.
func anthropicPairing(body any, _ invariant) string {
	open := map[string]bool{}
	for i, m := range objects(at(body, "messages")) {
		if len(open) > 0 && m["role"] != "user" {
			return fmt.Sprintf("message %d should answer the calls", i)
		}
		leading := true
		for _, b := range objects(m["content"]) {
			if b["type"] != "tool_result" {
				leading = false
				continue
			}
			id, _ := b["tool_use_id"].(string)
			if !leading || !open[id] {
				return fmt.Sprintf("message %d has a tool_result %q that is stray, doubled or late", i, id)
			}
			delete(open, id)
		}
		if len(open) > 0 {
			return fmt.Sprintf("message %d leaves calls %v without a result", i, open)
		}
		for _, b := range objects(m["content"]) {
			if id, _ := b["id"].(string); b["type"] == "tool_use" {
				if m["role"] != "assistant" || open[id] {
					return fmt.Sprintf("message %d has a misplaced or doubled call %q", i, id)
				}
				open[id] = true
			}
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("calls %v have no result", open)
	}
	return ""
}

func anthropicBlank(body any, _ invariant) string {
	problem := ""
	walk(body, func(o map[string]any) {
		if text, ok := o["text"].(string); ok && o["type"] == "text" && strings.TrimSpace(text) == "" {
			problem = "a text block is blank"
		}
	})
	return problem
}

func anthropicEmpty(body any, _ invariant) string {
	for i, m := range objects(at(body, "messages")) {
		text, _ := m["content"].(string)
		if len(objects(m["content"])) == 0 && text == "" {
			return fmt.Sprintf("message %d has no content", i)
		}
	}
	return ""
}
