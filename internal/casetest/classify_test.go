package casetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Classify runs cases of vendors' errors: which mean that the context is too
// long, and how long a vendor asks to wait.
func (runner) Classify(t *testing.T, c Case) {
	var in struct {
		Now    time.Time
		Errors []vendorError
	}
	decode(t, c.Input, &in)
	var want struct {
		ContextOverflow    []int
		NotContextOverflow []int
		DelayMs            map[string]*float64
		ToleranceMs        float64
	}
	decode(t, c.Expected, &want)
	for _, e := range in.Errors {
		body := e.body(t)
		class, _ := providers.Classify(providers.ParseFailure(e.Status, body))
		if slices.Contains(want.ContextOverflow, e.N) && class != agentcore.ErrContextOverflow ||
			slices.Contains(want.NotContextOverflow, e.N) && class == agentcore.ErrContextOverflow {
			t.Errorf("error %d is of class %q: %s", e.N, class, body)
		}
		delay, expected := want.DelayMs[strconv.Itoa(e.N)]
		if !expected {
			continue
		}
		header := http.Header{}
		for name, value := range e.Headers {
			header.Set(name, value)
		}
		got, ok := providers.RetryAfter(header, body, in.Now)
		switch {
		case delay == nil && ok:
			t.Errorf("error %d: a delay of %s, want none", e.N, got)
		case delay != nil && (!ok || float64(got.Milliseconds()) < *delay-want.ToleranceMs || float64(got.Milliseconds()) > *delay+want.ToleranceMs):
			t.Errorf("error %d: a delay of %s (%v), want %v ms", e.N, got, ok, *delay)
		}
	}
}

type vendorError struct {
	N       int
	Status  int
	Message string
	Code    any
	Type    string
	Headers map[string]string
	Body    json.RawMessage
}

// body is the error's body: as the case has it, or in the shape that most
// vendors use.
func (e vendorError) body(t *testing.T) []byte {
	t.Helper()
	if len(e.Body) > 0 {
		return e.Body
	}
	raw, err := json.Marshal(map[string]any{"error": map[string]any{"message": e.Message, "code": e.Code, "type": e.Type}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
