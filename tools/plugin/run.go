package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"clawbot/tools"
)

const (
	// maxAnswer bounds what a program may write, in bytes.
	maxAnswer = 8 << 20
	maxStderr = 4 << 10
)

// request is the document that a program reads.
type request struct {
	Type      string          `json:"type"` // tool, tool_call or tool_result
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    *result         `json:"result,omitempty"` // of tool_result
	// Where and for whom the call runs.
	Session   string `json:"session"`
	Sender    string `json:"sender"`
	Role      string `json:"role"`
	Workspace string `json:"workspace,omitempty"`
}

// result is what a tool said.
type result struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
}

func newRequest(ctx context.Context, kind, tool string, arguments json.RawMessage) request {
	scope := tools.ScopeOf(ctx)
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	return request{Type: kind, Tool: tool, Arguments: arguments, Session: scope.Session, Sender: scope.Sender, Role: scope.Role, Workspace: scope.Dir}
}

// run runs a program of the plugin and decodes its answer. An empty answer
// leaves it as it is.
func (m *Manifest) run(ctx context.Context, command []string, timeout time.Duration, in request, answer any) error {
	document, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("plugin %s: %w", m.Name, err)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	program := command[0]
	if strings.HasPrefix(program, "./") || strings.HasPrefix(program, "../") {
		program = filepath.Join(m.dir, program)
	}
	cmd := exec.CommandContext(bounded, program, command[1:]...)
	cmd.Dir, cmd.Env = m.dir, m.environment()
	cmd.Stdin = bytes.NewReader(document)
	out, problems := &limited{limit: maxAnswer}, &limited{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = out, problems
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	cmd.Cancel = func() error { killGroup(cmd); return nil }
	err = cmd.Run()
	killGroup(cmd) // and what it left in the background
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bounded.Err() != nil:
		return fmt.Errorf("the plugin %s did not answer within %s", m.Name, timeout)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return fmt.Errorf("the plugin %s failed: %w%s", m.Name, err, m.told(problems))
	case out.over:
		return fmt.Errorf("the plugin %s wrote more than %d bytes", m.Name, maxAnswer)
	case len(bytes.TrimSpace(out.kept)) == 0:
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(out.kept))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(answer); err != nil {
		return fmt.Errorf("the plugin %s did not answer with one JSON document: %w", m.Name, err)
	}
	if decoder.More() {
		return fmt.Errorf("the plugin %s wrote more than one JSON document", m.Name)
	}
	return nil
}

func (m *Manifest) environment() []string {
	var env []string
	for _, name := range append([]string{"PATH", "HOME", "LANG", "TMPDIR"}, m.Env...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// limited keeps the beginning of what is written.
type limited struct {
	kept  []byte
	limit int
	over  bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.limit - len(l.kept)
	l.over = l.over || len(p) > room
	l.kept = append(l.kept, p[:min(len(p), room)]...)
	return len(p), nil
}

// told is what a program wrote to stderr, which may be about text from outside.
func (m *Manifest) told(l *limited) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(l.kept), "\uFFFD"))
	if text == "" {
		return ""
	}
	return ": " + tools.Untrusted("the plugin "+m.Name, text)
}
