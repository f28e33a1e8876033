package casetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"clawbot/agentcore"
)

// Validate runs cases of a schema and the exact text that a model sent for it.
func (runner) Validate(t *testing.T, c Case) {
	var in struct {
		Schema       json.RawMessage `json:"schema"`
		ArgumentsRaw string          `json:"argumentsRaw"`
	}
	decode(t, c.Input, &in)
	tool := &agentcore.Tool{Name: "tool", Schema: in.Schema}
	args, err := agentcore.ValidateArguments(tool, json.RawMessage(in.ArgumentsRaw))

	var wrong []string
	for _, expected := range alternatives(t, c.Expected) {
		problem := compareValidation(t, expected, args, err)
		if problem == "" {
			return
		}
		wrong = append(wrong, problem)
	}
	t.Errorf("no accepted outcome:\n%s", strings.Join(wrong, "\n"))
}

func compareValidation(t *testing.T, expected map[string]json.RawMessage, args json.RawMessage, err error) string {
	var ok bool
	decode(t, expected["ok"], &ok)
	if ok != (err == nil) {
		return fmt.Sprintf("ok is %v, want %v: %s %v", err == nil, ok, args, err)
	}
	if !ok {
		for _, mention := range stringsOf(t, expected["errorMentions"]) {
			if !strings.Contains(err.Error(), mention) {
				return fmt.Sprintf("the error lacks %q:\n%v", mention, err)
			}
		}
		return ""
	}
	if want := expected["arguments"]; want != nil && !reflect.DeepEqual(exact(t, args), exact(t, want)) {
		return fmt.Sprintf("arguments are %s, want %s", args, want)
	}
	for _, part := range stringsOf(t, expected["argumentsJsonContains"]) {
		if !bytes.Contains(args, []byte(part)) {
			return fmt.Sprintf("arguments are %s and lack %s", args, part)
		}
	}
	return ""
}

func stringsOf(t *testing.T, raw json.RawMessage) (list []string) {
	if raw != nil {
		decode(t, raw, &list)
	}
	return list
}

// exact decodes JSON without losing digits.
func exact(t *testing.T, raw []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}
