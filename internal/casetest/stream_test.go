package casetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Stream runs cases of a vendor's event stream, served over HTTP, on the wire
// format's adapter: as the case delivers it, and one byte per write.
func (runner) Stream(t *testing.T, c Case) {
	if _, ok := adapters[c.Meta.Provider]; !ok {
		missing(t, c)
		return
	}
	for _, deliver := range slices.Compact([]string{c.Meta.Deliver, "every-byte"}) {
		t.Run(strings.TrimSpace("deliver "+deliver), func(t *testing.T) { runStream(t, c, deliver) })
	}
}

type streamExpected struct {
	Text       string `json:"text"`
	Thinking   string `json:"thinking"`
	ToolCalls  []streamCall
	StopReason string
	Error      *struct {
		Contains  []string `json:"contains"`
		Any       bool     `json:"any"`
		Retryable *bool    `json:"retryable"`
	}
	Usage     map[string]int64
	UniqueIDs bool `json:"uniqueIds"`
	IDPattern string
	Replay    []map[string]any
	// Signatures are those of calls, by their ids; null: none.
	Signatures map[string]*string
}

type streamCall struct {
	ID        string
	Name      string
	Arguments any
}

func runStream(t *testing.T, c Case, deliver string) {
	var tools []agentcore.ToolSpec
	var names []string
	if json.Unmarshal(c.Meta.Tools, &names) == nil {
		for _, name := range names {
			tools = append(tools, agentcore.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
		}
	} else if len(c.Meta.Tools) > 0 {
		tools = c.tools(t)
	}
	got, model := serveStream(t, c, deliver, tools)
	var problems []string
	for _, fields := range alternatives(t, c.Expected) {
		raw, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		var want streamExpected
		decode(t, raw, &want)
		problem := compareStream(got, want)
		if problem == "" {
			checkReplay(t, model, got, want)
			return
		}
		problems = append(problems, problem)
	}
	t.Errorf("%s\n(got text %q, stop %q, error %v, calls %v)", strings.Join(problems, "\nor: "), got.Text(), got.Stop, got.Error, got.ToolCalls())
}

// serveStream returns the message that the adapter makes of the case's stream.
func serveStream(t *testing.T, c Case, deliver string, tools []agentcore.ToolSpec) (*agentcore.Message, wireModel) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, c.Input, deliver)
	}))
	defer server.Close()
	model, _ := newModel(t, c.Meta.Provider, providers.Config{BaseURL: server.URL}, "m1")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req := &agentcore.Request{Tools: tools, Messages: []*agentcore.Message{{ID: "u", Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: "q"}}}}}
	var a agentcore.Assembler
	next := 0
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			failure, ok := errors.AsType[*agentcore.Error](err)
			if !ok {
				t.Fatalf("the error is a %T, not an *agentcore.Error: %v", err, err)
			}
			m := a.Partial(agentcore.StopError, failure)
			return m, model
		}
		if ev.Type == agentcore.StreamDone {
			m := a.Finish(ev)
			m.ID = "a"
			return m, model
		}
		if ev.Index > next {
			t.Fatalf("index %d follows %d", ev.Index, next-1)
		}
		if ev.Index == next {
			next++
		}
		a.Add(ev)
	}
	t.Fatal("the stream ended with neither an end nor an error")
	return nil, nil
}

func write(w http.ResponseWriter, body []byte, deliver string) {
	flush := http.NewResponseController(w).Flush
	for len(body) > 0 {
		n := len(body)
		switch deliver {
		case "every-byte":
			n = 1
		case "after-first-CR":
			if at := bytes.IndexByte(body, '\r'); at >= 0 {
				n = at + 1
			}
		}
		if _, err := w.Write(body[:n]); err != nil {
			return
		}
		if flush() != nil {
			return
		}
		body = body[n:]
	}
}

// stopName gives a stop reason the name that cases use.
func stopName(m *agentcore.Message) string {
	switch m.Stop {
	case agentcore.StopRefusal, agentcore.StopAborted:
		return "error"
	}
	return string(m.Stop)
}

// compareStream says in what a message is not what a case expects.
func compareStream(got *agentcore.Message, want streamExpected) string {
	text, thinking := joined(got)
	switch {
	case stopName(got) != want.StopReason:
		return fmt.Sprintf("stop reason %q, want %q", stopName(got), want.StopReason)
	case want.StopReason == "error" && !strings.HasPrefix(want.Text, text), want.StopReason != "error" && text != want.Text:
		return fmt.Sprintf("text %q, want %q", text, want.Text)
	case want.Thinking != "" && thinking != want.Thinking:
		return fmt.Sprintf("thinking %q, want %q", thinking, want.Thinking)
	}
	if problem := compareError(got.Error, want); problem != "" {
		return problem
	}
	if problem := compareCalls(executable(got), want); problem != "" {
		return problem
	}
	usage := map[string]int64{"input": got.Usage.Input, "output": got.Usage.Output, "cacheRead": got.Usage.CacheRead,
		"cacheWrite": got.Usage.CacheWrite, "total": got.Usage.Total(), "totalTokens": got.Usage.Total()}
	for name, n := range want.Usage {
		if usage[name] != n {
			return fmt.Sprintf("usage %s = %d, want %d", name, usage[name], n)
		}
	}
	return ""
}

func joined(m *agentcore.Message) (text, thinking string) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Text:
			text += b.Text
		case agentcore.Thinking:
			thinking += b.Text
		}
	}
	return text, thinking
}

func compareError(got *agentcore.Error, want streamExpected) string {
	if want.Error == nil {
		return ""
	}
	if got == nil {
		got = &agentcore.Error{Message: "refused or no error"}
	}
	found := 0
	for _, part := range want.Error.Contains {
		if strings.Contains(strings.ToLower(got.Error()), strings.ToLower(part)) {
			found++
		}
	}
	if n := len(want.Error.Contains); found < n && (!want.Error.Any || found == 0) {
		return fmt.Sprintf("error %q, want it to contain %q", got, want.Error.Contains)
	}
	if r := want.Error.Retryable; r != nil && got.Retryable != *r {
		return fmt.Sprintf("error %q has retryable %v", got, got.Retryable)
	}
	return ""
}

// executable returns the calls that the loop would run.
func executable(m *agentcore.Message) []agentcore.ToolCall {
	if m.Stop != agentcore.StopToolUse {
		return nil
	}
	return slices.DeleteFunc(m.ToolCalls(), func(c agentcore.ToolCall) bool { return !json.Valid(c.Arguments) })
}

func compareCalls(got []agentcore.ToolCall, want streamExpected) string {
	if len(got) != len(want.ToolCalls) {
		return fmt.Sprintf("%d calls, want %d", len(got), len(want.ToolCalls))
	}
	ids := map[string]bool{}
	for i, c := range got {
		w := want.ToolCalls[i]
		if c.Name != w.Name || w.ID != "" && c.ID != w.ID {
			return fmt.Sprintf("call %d is %s %q, want %s %q", i, c.Name, c.ID, w.Name, w.ID)
		}
		var args any
		if json.Unmarshal(c.Arguments, &args) != nil || !sameJSON(args, w.Arguments) {
			return fmt.Sprintf("call %d has arguments %s, want %v", i, c.Arguments, w.Arguments)
		}
		if want.UniqueIDs && (c.ID == "" || ids[c.ID]) {
			return fmt.Sprintf("call %d has the id %q, which is empty or taken", i, c.ID)
		}
		if want.IDPattern != "" && !matchesID(want.IDPattern, c.ID) {
			return fmt.Sprintf("call %d has the id %q, want %s", i, c.ID, want.IDPattern)
		}
		if signature, ok := want.Signatures[c.ID]; ok && (signature == nil && c.Signature != "" || signature != nil && c.Signature != *signature) {
			return fmt.Sprintf("call %d has the signature %q", i, c.Signature)
		}
		ids[c.ID] = true
	}
	return ""
}

// matchesID matches an id against a pattern, which may begin with a negative
// lookahead; Go's patterns have none.
func matchesID(pattern, id string) bool {
	rest, anchored := strings.CutPrefix(pattern, "^(?!")
	if not, after, found := strings.Cut(rest, ")"); anchored && found {
		return !regexp.MustCompile("^(?:"+not+")").MatchString(id) && regexp.MustCompile("^"+after).MatchString(id)
	}
	return regexp.MustCompile(pattern).MatchString(id)
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// checkReplay checks that the next request sends back what the case names.
func checkReplay(t *testing.T, model wireModel, got *agentcore.Message, want streamExpected) {
	if len(want.Replay) == 0 {
		return
	}
	messages := []*agentcore.Message{{ID: "u", Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: "q"}}}, got}
	for _, c := range got.ToolCalls() {
		messages = append(messages, &agentcore.Message{ID: "r" + c.ID, Role: agentcore.RoleToolResult, ToolCallID: c.ID, ToolName: c.Name,
			Content: []agentcore.Block{agentcore.Text{Text: "done"}}})
	}
	var body any
	decode(t, model.Request(&agentcore.Request{Messages: messages}).Bytes(), &body)
	var objects []map[string]any
	walk(body, func(o map[string]any) { objects = append(objects, o) })
	at := 0
	for _, part := range want.Replay {
		for at < len(objects) && !hasAll(objects[at], part) {
			at++
		}
		if at == len(objects) {
			t.Errorf("%v is not sent back, or not in that order", part)
		}
	}
}

// walk visits every object in document order, as far as arrays tell it.
func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	case map[string]any:
		visit(v)
		for _, e := range v {
			walk(e, visit)
		}
	}
}

func hasAll(object, part map[string]any) bool {
	for key, value := range part {
		if !sameJSON(object[key], value) {
			return false
		}
	}
	return true
}
