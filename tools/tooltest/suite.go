// Package tooltest has the suite that every tool passes, wherever it comes
// from: what the loop, the planner and people rely on.
package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"clawbot/agentcore"
	"clawbot/tools"
)

// Case is one tool with calls that are known to work.
type Case struct {
	Tool tools.Tool
	// Valid are arguments of calls that succeed in a workspace with the file
	// notes.txt, which reads "one\ntwo\nthree\n"; at least one.
	Valid []string
	// Approve makes the suite approve what the tool's judge asks about.
	Approve bool
	// Slow tools reach outside of the process; they are not called many times
	// at once.
	Slow bool
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// maxProse bounds a description: every request carries it.
const maxProse = 4 << 10

// Run runs the suite on one tool.
func Run(t *testing.T, c Case) {
	t.Helper()
	t.Run("it is described", func(t *testing.T) { described(t, &c) })
	t.Run("its schema is one, of an object", func(t *testing.T) { schema(t, &c) })
	t.Run("valid calls succeed and say something", func(t *testing.T) { valid(t, &c) })
	t.Run("whatever the arguments, it does not panic", func(t *testing.T) { hostile(t, &c) })
	t.Run("it returns soon after its context has ended", func(t *testing.T) { cancelled(t, &c) })
	t.Run("without a workspace or a conversation it fails in words", func(t *testing.T) { bare(t, &c) })
	t.Run("it may be called by many at once", func(t *testing.T) { parallel(t, &c) })
	t.Run("it says in one line what a call is about", func(t *testing.T) { telling(t, &c) })
	t.Run("what was not approved is refused by itself", func(t *testing.T) { unapproved(t, &c) })
}

func described(t *testing.T, c *Case) {
	d := &c.Tool.Descriptor
	switch {
	case !toolName.MatchString(d.Name):
		t.Errorf("name %q", d.Name)
	case strings.TrimSpace(d.Description) == "" || len(d.Description) > maxProse || !utf8.ValidString(d.Description):
		t.Errorf("a description of %d bytes", len(d.Description))
	case d.Executor == nil || c.Tool.Execute == nil:
		t.Error("nothing executes it")
	case d.Owner.Kind == "":
		t.Error("it has no owner")
	case strings.ContainsAny(c.Tool.Label+d.Title, "\n\r"):
		t.Error("its label is no line")
	}
}

func schema(t *testing.T, c *Case) {
	var s struct {
		Type       string
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(c.Tool.InputSchema, &s); err != nil || s.Type != "object" {
		t.Fatalf("schema %s: %v", c.Tool.InputSchema, err)
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			t.Errorf("%s is required and unknown", name)
		}
	}
	for name := range s.Properties {
		if !strings.Contains(c.Tool.Description, name) && !strings.Contains(string(s.Properties[name]), "description") {
			t.Errorf("nothing is said about %s", name)
		}
	}
	var schemas agentcore.Schemas
	for _, args := range c.Valid {
		if _, err := schemas.Validate(loopTool(&c.Tool), json.RawMessage(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func loopTool(tool *tools.Tool) *agentcore.Tool {
	return &agentcore.Tool{Name: tool.Name, Description: tool.Description, Schema: tool.InputSchema, Execute: tool.Execute}
}

// place is a workspace with a scope.
func place(t testing.TB) context.Context {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return tools.WithScope(t.Context(), &tools.Scope{Session: "test:1", Agent: "test", Sender: "1", Role: "owner", Workspace: root, Dir: dir, Conversation: chat{}, Memory: memory{}, History: history{}})
}

// history has one message.
type history struct{}

func (history) Search(context.Context, string, int) ([]tools.Said, error) {
	return []tools.Said{{Session: "test:2", At: time.Unix(1e9, 0), Text: "two"}}, nil
}

// memory takes everything.
type memory struct{}

func (memory) Remember(context.Context, string) (string, error) { return "kept", nil }
func (memory) Forget(context.Context, string) (string, error)   { return "gone", nil }

// chat takes what it is given.
type chat struct{}

func (chat) SendFile(_ context.Context, _, _ string, r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func (chat) Schedule(context.Context, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"text":"Nothing is scheduled here."}`), nil
}

// call runs one call, approved if the case says so.
func (c *Case) call(ctx context.Context, args string) (result agentcore.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	call := agentcore.Call{ID: "1", Name: c.Tool.Name, Arguments: json.RawMessage(args)}
	if c.Approve && c.Tool.Judge != nil {
		d, err := c.Tool.Judge(ctx, call)
		if err != nil {
			return result, err
		}
		ctx = tools.WithApproval(ctx, d.Binding)
	}
	return c.Tool.Execute(ctx, call, func(agentcore.Update) {})
}

var errPanic = errors.New("panic")

func valid(t *testing.T, c *Case) {
	if len(c.Valid) == 0 {
		t.Fatal("the case has no valid call")
	}
	for _, args := range c.Valid {
		result, err := c.call(place(t), args)
		if err != nil || result.IsError {
			t.Errorf("%s: %v %+v", args, err, result)
			continue
		}
		m := agentcore.Message{Content: result.Content}
		if len(result.Content) == 0 || strings.TrimSpace(m.Text()) == "" {
			t.Errorf("%s: it said nothing", args)
		}
		if len(result.Details) > 0 && !json.Valid(result.Details) {
			t.Errorf("%s: details %s", args, result.Details)
		}
	}
}

func hostile(t *testing.T, c *Case) {
	var schemas agentcore.Schemas
	var s struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(c.Tool.InputSchema, &s) // looked at above
	values := []string{`null`, `""`, `"\u0000"`, `"../../etc/passwd"`, `"\ud800"`, `-1`, `1e300`, `[]`, `{}`, `true`, `"` + strings.Repeat("a/", 5000) + `"`, `"a\nb\u202e"`, `[[[{}]]]`}
	for name := range s.Properties {
		for _, value := range values {
			for _, base := range append([]string{`{}`}, c.Valid...) {
				args := with(base, name, value)
				checked, err := schemas.Validate(loopTool(&c.Tool), args)
				if err != nil {
					continue // it never arrives
				}
				if c.Slow && base != `{}` {
					continue
				}
				if _, err := c.call(place(t), string(checked)); errors.Is(err, errPanic) {
					t.Errorf("%s: %v", args, err)
				}
			}
		}
	}
}

// with returns the arguments with one of them replaced.
func with(args, name, value string) json.RawMessage {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(args), &fields) // the case's own
	fields[name] = json.RawMessage(value)
	out, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage(args)
	}
	return out
}

func cancelled(t *testing.T, c *Case) {
	ctx, cancel := context.WithCancel(place(t))
	cancel()
	for _, args := range c.Valid {
		if _, err := c.call(ctx, args); errors.Is(err, errPanic) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func bare(t *testing.T, c *Case) {
	for _, args := range c.Valid {
		_, err := c.call(t.Context(), args)
		if errors.Is(err, errPanic) || err != nil && strings.Contains(err.Error(), "nil pointer") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func parallel(t *testing.T, c *Case) {
	calls := 16
	if c.Slow {
		calls = 3
	}
	ctx := place(t)
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			if _, err := c.call(ctx, c.Valid[0]); errors.Is(err, errPanic) {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func telling(t *testing.T, c *Case) {
	if c.Tool.Telling == nil {
		return
	}
	for _, args := range append([]string{`{}`, `null`, `[]`, `{"path":1}`, ``, `{`}, c.Valid...) {
		_ = c.Tool.Telling(json.RawMessage(args)) // it must only not panic
	}
}

func unapproved(t *testing.T, c *Case) {
	if c.Tool.Judge == nil {
		return
	}
	for _, args := range c.Valid {
		ctx := place(t)
		call := agentcore.Call{ID: "1", Name: c.Tool.Name, Arguments: json.RawMessage(args)}
		d, err := c.Tool.Judge(ctx, call)
		if err != nil || d.Verdict == tools.Allow {
			continue
		}
		if d.Verdict == tools.Ask && (d.Show == "" || d.Binding == "") {
			t.Errorf("%s: a person can't decide on %+v", args, d)
		}
		for _, approval := range []string{"", "another"} {
			if _, err := c.Tool.Execute(tools.WithApproval(ctx, approval), call, func(agentcore.Update) {}); err == nil {
				t.Errorf("%s: it ran with the approval %q", args, approval)
			}
		}
	}
}
