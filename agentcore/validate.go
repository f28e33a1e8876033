package agentcore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// ValidateArguments checks args against the tool's schema after coercing what
// was meant: strings that hold numbers, booleans, arrays or objects, null for
// an optional property that is not nullable, nothing at all for no arguments.
// It returns args unchanged when they fit, and otherwise the coerced ones,
// re-encoded with every digit of their integers. The error is a
// [*ValidationError], written for the model.
//
// It compiles the schema on every call; [Schemas.Validate] compiles it once.
func ValidateArguments(tool *Tool, args json.RawMessage) (json.RawMessage, error) {
	return new(Schemas).Validate(tool, args)
}

// Validate is [ValidateArguments] with the schema compiled once.
func (s *Schemas) Validate(tool *Tool, args json.RawMessage) (json.RawMessage, error) {
	valid, err := s.check(tool, args)
	return valid.text, err
}

// ValidationError says which arguments of a call are wrong. Its text is made
// for a model to read: one line per issue, led by a JSON Pointer, and the
// arguments as they were received, of bounded length.
type ValidationError struct {
	Tool     string
	Issues   []Issue
	Received json.RawMessage
}

// Issue is one thing wrong with arguments.
type Issue struct {
	Path    string // JSON Pointer; empty for the arguments as a whole
	Message string
}

const (
	maxIssues      = 20
	maxIssueLength = 400  // bytes
	maxReceived    = 2000 // bytes of arguments repeated to the model
)

// Error returns the text for the model.
func (e *ValidationError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Validation failed for tool %q:\n", e.Tool)
	for i, issue := range e.Issues {
		if i == maxIssues {
			fmt.Fprintf(&b, "- and %d more\n", len(e.Issues)-i)
			break
		}
		path := issue.Path
		if path == "" {
			path = "root"
		}
		fmt.Fprintf(&b, "- %s: %s\n", clip(path, maxIssueLength), clip(issue.Message, maxIssueLength))
	}
	b.WriteString("\nReceived arguments:\n")
	b.WriteString(received(e.Received))
	return b.String()
}

func received(args json.RawMessage) string {
	if len(args) <= maxReceived {
		var buf bytes.Buffer
		if json.Indent(&buf, args, "", "  ") == nil && buf.Len() <= 2*maxReceived {
			return buf.String()
		}
	}
	return clip(string(args[:min(len(args), maxReceived)]), maxReceived) + leftOut(len(args)-maxReceived)
}

func leftOut(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("\n[%d more bytes]", n)
}

// clip shortens s to about limit bytes and makes it valid UTF-8.
func clip(s string, limit int) string {
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// checked is a call's arguments after validation.
type checked struct {
	text  json.RawMessage
	value any // decoded; nil when the text is not JSON
}

func (s *Schemas) check(tool *Tool, args json.RawMessage) (checked, error) {
	fail := func(path, message string) error {
		return &ValidationError{Tool: tool.Name, Issues: []Issue{{path, message}}, Received: args}
	}
	text := args
	if trimmed := bytes.TrimSpace(args); len(trimmed) == 0 || string(trimmed) == "null" {
		text = json.RawMessage("{}")
	}
	decoded, plain, err := parseJSON(text)
	if err != nil {
		var bad *jsonError
		errors.As(err, &bad)
		return checked{}, fail(bad.path, upperFirst(bad.what))
	}
	schema, err := s.get(tool.Schema)
	if err != nil {
		return checked{}, fail("", fmt.Sprintf("This tool can't be used, because its own schema is broken: %v", err))
	}
	value := decoded
	if inner, ok := value.(string); ok { // the object, encoded twice
		if again, _, err := parseJSON([]byte(inner)); err == nil {
			value = again
		}
	}
	if _, ok := value.(map[string]any); !ok {
		return checked{value: decoded}, fail("", "Expected object")
	}
	if _, twice := decoded.(string); !twice && plain && (schema == nil || schema.Validate(value) == nil) {
		return checked{text, value}, nil
	}
	if schema != nil {
		c := coercer{steps: maxCoerceSteps}
		value = c.coerce(schema, value)
		if err := schema.Validate(value); err != nil {
			return checked{value: decoded}, &ValidationError{Tool: tool.Name, Issues: issues(err), Received: args}
		}
		if same(decoded, value) {
			return checked{text, value}, nil
		}
	}
	encoded, err := encode(value)
	if err != nil {
		return checked{value: decoded}, fail("", err.Error())
	}
	return checked{encoded, value}, nil
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// issues makes the validator's tree of errors a sorted list.
func issues(err error) []Issue {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []Issue{{"", err.Error()}}
	}
	list := collect(nil, invalid)
	slices.SortStableFunc(list, func(a, b Issue) int { return strings.Compare(a.Path, b.Path) })
	list = slices.Compact(list)
	if len(list) == 0 {
		list = []Issue{{"", "Unknown validation error"}}
	}
	return list
}

func collect(list []Issue, e *jsonschema.ValidationError) []Issue {
	path := location(e.InstanceLocation)
	keyword := e.KeywordLocation[strings.LastIndexByte(e.KeywordLocation, '/')+1:]
	switch {
	case (keyword == "anyOf" || keyword == "oneOf") && len(e.Causes) > 0:
		return append(list, unionIssues(path, e.Causes)...)
	case len(e.Causes) > 0:
		for _, cause := range e.Causes {
			list = collect(list, cause)
		}
		return list
	}
	switch keyword {
	case "required":
		for _, name := range quoted(e.Message) {
			list = append(list, Issue{path + pointer(name), "Expected required property"})
		}
		return list
	case "additionalProperties", "unevaluatedProperties":
		for _, name := range quoted(e.Message) {
			list = append(list, Issue{path + pointer(name), "Unexpected property"})
		}
		return list
	}
	return append(list, Issue{path, phrase(e.Message)})
}

// unionIssues reports the branch of a union that the value came closest to:
// the one that recognised its type. If none did, the types are listed.
func unionIssues(path string, branches []*jsonschema.ValidationError) []Issue {
	var types []string
	var closest []Issue
	for _, branch := range branches {
		list := collect(nil, branch)
		if len(list) == 1 && list[0].Path == path && strings.HasPrefix(list[0].Message, "Expected ") {
			types = append(types, strings.TrimPrefix(list[0].Message, "Expected "))
		} else if closest == nil || len(list) < len(closest) {
			closest = list
		}
	}
	if closest != nil {
		return closest
	}
	return []Issue{{path, "Expected " + strings.Join(slices.Compact(types), " or ")}}
}

// phrase puts the validator's messages into the words of the other issues.
func phrase(message string) string {
	switch {
	case strings.HasPrefix(message, "expected "):
		message, _, _ = strings.Cut(message, ", but got ")
	case strings.HasPrefix(message, "value must be "):
		message = "expected " + strings.TrimPrefix(message, "value must be ")
	case message == "not allowed":
		message = "Unexpected property"
	}
	return upperFirst(message)
}

// location undoes the validator's URL escaping, which leaves a JSON Pointer.
func location(escaped string) string {
	if plain, err := url.PathUnescape(escaped); err == nil {
		return plain
	}
	return escaped
}

// quoted returns the names in the validator's list of single-quoted names.
func quoted(list string) []string {
	var names []string
	for {
		start := strings.IndexByte(list, '\'')
		if start < 0 {
			return names
		}
		end := start + 1
		for end < len(list) && list[end] != '\'' {
			if list[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(list) {
			return names
		}
		inner := strings.NewReplacer(`\'`, `'`, `"`, `\"`).Replace(list[start+1 : end])
		if name, err := strconv.Unquote(`"` + inner + `"`); err == nil {
			names = append(names, name)
		}
		list = list[end+1:]
	}
}
