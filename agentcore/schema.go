package agentcore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// maxSchemas bounds a cache of compiled schemas; a full one starts over.
const maxSchemas = 1024

// Schemas validates the arguments of tool calls and keeps the compiled schemas,
// one per tool. Share one between loops that share tools. The zero value is
// ready and safe for concurrent use.
type Schemas struct {
	mu       sync.Mutex
	compiled map[schemaKey]*compiledSchema
}

// schemaKey identifies a schema by its memory, which the cache keeps alive: a
// tool and its copies share it, and finding it costs no hashing.
type schemaKey struct {
	data *byte
	len  int
}

type compiledSchema struct {
	once   sync.Once
	text   json.RawMessage
	schema *jsonschema.Schema // nil accepts any object
	err    error
}

func (s *Schemas) get(text json.RawMessage) (*jsonschema.Schema, error) {
	if len(text) == 0 {
		return nil, nil
	}
	key := schemaKey{&text[0], len(text)}
	s.mu.Lock()
	c := s.compiled[key]
	if c == nil {
		if s.compiled == nil || len(s.compiled) >= maxSchemas {
			s.compiled = make(map[schemaKey]*compiledSchema)
		}
		c = &compiledSchema{text: text}
		s.compiled[key] = c
	}
	s.mu.Unlock()
	c.once.Do(func() { c.schema, c.err = compileSchema(c.text) })
	return c.schema, c.err
}

// compileSchema compiles with the draft that the schema declares. Most tools
// declare none, and mix the words of several drafts, so the others are tried
// in turn. References to other documents are refused: nothing is ever loaded.
func compileSchema(text json.RawMessage) (*jsonschema.Schema, error) {
	doc, _, err := parseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	switch doc.(type) {
	case nil:
		return nil, nil
	case map[string]any, bool:
	default:
		return nil, errors.New("the schema is neither an object nor a boolean")
	}
	dropUnusable(doc)
	drafts := []*jsonschema.Draft{jsonschema.Draft2020, jsonschema.Draft7, jsonschema.Draft4}
	schema, err := compileDraft(doc, drafts[0])
	if err == nil {
		return schema, nil
	}
	if obj, ok := doc.(map[string]any); ok {
		delete(obj, "$schema")
	}
	for _, draft := range drafts {
		if schema, again := compileDraft(doc, draft); again == nil {
			return schema, nil
		}
	}
	return nil, err
}

func compileDraft(doc any, draft *jsonschema.Draft) (schema *jsonschema.Schema, err error) {
	defer func() {
		if p := recover(); p != nil { // the compiler trusts its input in places
			schema, err = nil, fmt.Errorf("the schema can't be compiled: %v", p)
		}
	}()
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	const url = "tool:///schema"
	c := jsonschema.NewCompiler()
	c.Draft = draft
	c.LoadURL = func(ref string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("the schema refers to %s; references must stay inside the schema", ref)
	}
	if err := c.AddResource(url, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	schema, err = c.Compile(url)
	if err != nil {
		return nil, firstCause(err)
	}
	return schema, nil
}

// firstCause makes a compiler's error short and free of our own URL.
func firstCause(err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		if e := errors.Unwrap(err); e != nil {
			return e
		}
		return err
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	return fmt.Errorf("the schema is invalid at %q: %s", location(invalid.InstanceLocation), invalid.Message)
}

// dropUnusable removes patterns that are fine in ECMAScript but not in Go
// (look-ahead): losing one check beats losing the tool.
func dropUnusable(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, item := range s {
			dropUnusable(item)
		}
	case map[string]any:
		if pattern, ok := s["pattern"].(string); ok {
			if _, err := regexp.Compile(pattern); err != nil {
				delete(s, "pattern")
			}
		}
		if patterns, ok := s["patternProperties"].(map[string]any); ok {
			for pattern := range patterns {
				if _, err := regexp.Compile(pattern); err != nil {
					delete(patterns, pattern)
				}
			}
		}
		for key, item := range s {
			switch key {
			case "const", "enum", "default", "examples", "example":
			default:
				dropUnusable(item)
			}
		}
	}
}
