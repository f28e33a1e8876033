package casetest

import (
	"fmt"
	"slices"
	"strings"
)

var geminiInvariants = map[string]func(any, invariant) string{
	"gemini.responseCount": geminiPairing,
	"gemini.idsMatch":      geminiIDs,
	"gemini.signatureKept": func(body any, want invariant) string {
		found := false
		walk(body, func(o map[string]any) {
			found = found || o["functionCall"] != nil && o["thoughtSignature"] == want.Value
		})
		if found {
			return ""
		}
		return fmt.Sprintf("the signature %v is on no call", want.Value)
	},
	"gemini.keywords":      geminiKeywords,
	"gemini.noEmptyObject": geminiNotEmpty,
}

// parts returns the values of one kind of part in a content.
func parts(content map[string]any, kind string) []map[string]any {
	var out []map[string]any
	for _, p := range objects(content["parts"]) {
		if v, ok := p[kind].(map[string]any); ok {
			out = append(out, v)
		}
	}
	return out
}

// geminiPairing: a model's content with N calls is followed by a content with
// N responses to them, in their order; there are none anywhere else, and no two
// contents of a model follow one another.
func geminiPairing(body any, _ invariant) string {
	var open []map[string]any
	role := any("")
	for i, c := range objects(at(body, "contents")) {
		responses := parts(c, "functionResponse")
		if len(responses) != len(open) {
			return fmt.Sprintf("content %d has %d responses to %d calls", i, len(responses), len(open))
		}
		for n, r := range responses {
			if r["name"] != open[n]["name"] {
				return fmt.Sprintf("response %d of content %d is of %v, the call of %v", n, i, r["name"], open[n]["name"])
			}
		}
		if open = parts(c, "functionCall"); len(open) > 0 && c["role"] != "model" || c["role"] == "model" && role == "model" {
			return fmt.Sprintf("the calls of content %d are spread or not the model's", i)
		}
		role = c["role"]
	}
	if len(open) > 0 {
		return "the last calls have no response"
	}
	return ""
}

// geminiIDs: a call and its response both carry the same id, or neither does.
func geminiIDs(body any, _ invariant) string {
	contents := objects(at(body, "contents"))
	for i, c := range contents[:max(len(contents)-1, 0)] {
		for n, call := range parts(c, "functionCall") {
			responses := parts(contents[i+1], "functionResponse")
			if n >= len(responses) || responses[n]["id"] != call["id"] {
				return fmt.Sprintf("call %d of content %d has the id %v, which its response has not", n, i, call["id"])
			}
		}
	}
	return ""
}

var openAPI = strings.Fields(`type format title description nullable enum items minItems maxItems properties required minProperties
	maxProperties minLength maxLength pattern minimum maximum anyOf propertyOrdering example default`)

// declared returns the schemas that are sent as parameters.
func declared(tools any) []map[string]any {
	var out []map[string]any
	walk(tools, func(o map[string]any) {
		if p, ok := o["parameters"].(map[string]any); ok && o["name"] != nil {
			out = append(out, p)
		}
	})
	return out
}

func geminiKeywords(tools any, _ invariant) string {
	for _, schema := range declared(tools) {
		if problem := beyondOpenAPI(schema); problem != "" {
			return problem
		}
	}
	return ""
}

func beyondOpenAPI(node map[string]any) string {
	for key := range node {
		if !slices.Contains(openAPI, key) {
			return fmt.Sprintf("the keyword %q", key)
		}
	}
	if f, ok := node["format"].(string); ok && !slices.Contains([]string{"enum", "date-time", "int32", "int64", "float", "double"}, f) {
		return fmt.Sprintf("the format %q", f)
	}
	if _, ok := node["type"].(string); node["type"] != nil && !ok {
		return fmt.Sprintf("the type %v", node["type"])
	}
	properties, _ := node["properties"].(map[string]any)
	required, _ := node["required"].([]any)
	for _, name := range required {
		if text, _ := name.(string); properties[text] == nil {
			return fmt.Sprintf("%v is required and not there", name)
		}
	}
	children := objects(node["anyOf"])
	for _, p := range properties {
		child, _ := p.(map[string]any)
		children = append(children, child)
	}
	if items, ok := node["items"]; ok {
		child, _ := items.(map[string]any)
		children = append(children, child)
	}
	for _, child := range children {
		if child == nil {
			return "a schema that is no object"
		}
		if problem := beyondOpenAPI(child); problem != "" {
			return problem
		}
	}
	return ""
}

func geminiNotEmpty(tools any, _ invariant) string {
	for _, schema := range declared(tools) {
		properties, _ := schema["properties"].(map[string]any)
		if kind, _ := schema["type"].(string); len(properties) == 0 || !strings.EqualFold(kind, "object") {
			return fmt.Sprintf("an empty object: %v", schema)
		}
	}
	return ""
}
