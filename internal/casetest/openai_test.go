package casetest

import (
	"fmt"
	"slices"
	"strings"
)

var openaiInvariants = map[string]func(any, invariant) string{
	"openai.toolPairing":       openaiPairing,
	"openai.reasoningContent":  openaiReasoning,
	"responses.pairing":        responsesPairing,
	"responses.itemIds":        responsesIDs,
	"responses.reasoningOrder": responsesOrder,
	"strict.closed":            strictClosed,
}

// openaiPairing: tool_calls are followed at once by one tool message each.
func openaiPairing(body any, _ invariant) string {
	open := map[string]bool{}
	for i, m := range objects(at(body, "messages")) {
		if m["role"] == "tool" {
			id, _ := m["tool_call_id"].(string)
			if !open[id] {
				return fmt.Sprintf("message %d answers %q, which is not open", i, id)
			}
			delete(open, id)
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("message %d comes before the results of %v", i, open)
		}
		for _, c := range objects(m["tool_calls"]) {
			id, _ := c["id"].(string)
			open[id] = true
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("calls %v have no result", open)
	}
	return ""
}

func openaiReasoning(body any, _ invariant) string {
	for i, m := range objects(at(body, "messages")) {
		if _, ok := m["reasoning_content"].(string); m["role"] == "assistant" && !ok {
			return fmt.Sprintf("message %d has no reasoning_content", i)
		}
	}
	return ""
}

func responsesPairing(body any, _ invariant) string {
	calls, results := map[string]int{}, map[string]int{}
	for i, item := range objects(at(body, "input")) {
		id, _ := item["call_id"].(string)
		switch item["type"] {
		case "function_call":
			calls[id]++
		case "function_call_output":
			if results[id]++; calls[id] == 0 {
				return fmt.Sprintf("item %d answers %q, which was not called", i, id)
			}
		default:
			continue
		}
		if id == "" || len(id) > 64 {
			return fmt.Sprintf("item %d has the call_id %q", i, id)
		}
	}
	for id := range calls {
		if calls[id] != 1 || results[id] != 1 {
			return fmt.Sprintf("%q: %d calls, %d results", id, calls[id], results[id])
		}
	}
	return ""
}

func responsesIDs(body any, _ invariant) string {
	for i, item := range objects(at(body, "input")) {
		if id, ok := item["id"].(string); ok && item["type"] == "function_call" && !strings.HasPrefix(id, "fc") {
			return fmt.Sprintf("item %d has the id %q", i, id)
		}
	}
	return ""
}

// responsesOrder: a reasoning item is followed by what it led to, and a call
// that carries an item id has its reasoning before it.
func responsesOrder(body any, _ invariant) string {
	items := objects(at(body, "input"))
	for i, item := range items {
		if item["type"] == "reasoning" {
			if i+1 == len(items) || items[i+1]["type"] != "function_call" && items[i+1]["type"] != "reasoning" && items[i+1]["role"] != "assistant" {
				return fmt.Sprintf("the reasoning item %d is not followed by its item", i)
			}
		}
		if id, ok := item["id"].(string); ok && item["type"] == "function_call" && strings.HasPrefix(id, "fc_") {
			if i == 0 || items[i-1]["type"] != "reasoning" && items[i-1]["type"] != "function_call" {
				return fmt.Sprintf("the call %d has an item id without its reasoning", i)
			}
		}
	}
	return ""
}

// strictClosed: a strict schema is closed in every object.
func strictClosed(tool any, _ invariant) string {
	problem := ""
	walk(tool, func(o map[string]any) {
		if o["strict"] != true {
			return
		}
		walk(o["parameters"], func(node map[string]any) {
			properties, isObject := node["properties"].(map[string]any)
			if node["type"] != "object" && !isObject {
				if types, ok := node["type"].([]any); !ok || !slices.Contains(types, any("object")) {
					return
				}
			}
			required, _ := node["required"].([]any)
			if node["additionalProperties"] != false || len(required) != len(properties) {
				problem = fmt.Sprintf("an object is not closed: %v", node)
			}
			for name := range properties {
				if !slices.Contains(required, any(name)) {
					problem = fmt.Sprintf("%q is not required", name)
				}
			}
		})
	})
	return problem
}
