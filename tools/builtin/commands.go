package builtin

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"clawbot/agentcore"
	"clawbot/tools"
	"clawbot/tools/command"
	"clawbot/tools/sandbox"
)

// commands is what exec and process have in common: which command lines may
// run, and where.
type commands struct {
	sandbox *sandbox.Sandbox
	rules   atomic.Pointer[commandRules]
}

// commandRules are what may change while commands run; see [Tools.SetCommands].
type commandRules struct {
	policy  command.Policy
	network bool
}

func (c *commands) set(policy command.Policy, network bool) {
	if policy.Allow == nil {
		policy.Allow = command.DefaultAllow()
	}
	c.rules.Store(&commandRules{policy, network})
}

// prepared is a command line that was read, judged and made ready.
type prepared struct {
	line     *command.Line
	plan     *command.Plan
	decision tools.Decision
}

// prepare reads and judges a command line. An error is for the model.
func (c *commands) prepare(ctx context.Context, text, cwd string) (*prepared, error) {
	root, dir, err := workspace(ctx)
	if err != nil {
		return nil, err
	}
	line, err := command.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := line.Expand(root, dir, cwd); err != nil {
		return nil, err
	}
	p := &prepared{line: line}
	judged := c.rules.Load().policy.Judge(line)
	p.decision = tools.Decision{Reason: judged.Reason, Show: command.Escaped(line.Text)}
	if judged.Verdict == command.Deny {
		p.decision.Verdict = tools.Deny
		return p, nil
	}
	if p.plan, err = command.Build(line, root, dir, cwd); err != nil {
		return nil, err
	}
	if judged.Verdict == command.Allow && p.plan.Doubt != "" {
		judged = command.Judgement{Reason: p.plan.Doubt}
		p.decision.Reason = judged.Reason
	}
	if judged.Verdict == command.Allow {
		p.decision.Verdict = tools.Allow
	}
	p.decision.Where = shownDir(dir, p.plan.Dir)
	p.decision.Binding = p.plan.Binding
	if judged.Storable {
		p.decision.Rule = "exec/" + p.plan.Rule
	}
	return p, nil
}

// shownDir is a directory as people know it: relative to the workspace.
func shownDir(workspace, dir string) string {
	relative, err := filepath.Rel(workspace, dir)
	if err != nil || relative == "." {
		return "the workspace"
	}
	return command.Escaped(path.Join("workspace", relative))
}

// errChanged is for a call that is not what was approved any more.
var errChanged = errors.New("not run: since it was approved, the command's program, directory or files have changed; ask again")

// permitted prepares a command line that is about to run, and refuses what
// nobody approved.
func (c *commands) permitted(ctx context.Context, text, cwd string) (*prepared, error) {
	p, err := c.prepare(ctx, text, cwd)
	if err != nil {
		return nil, err
	}
	switch approved := tools.Approved(ctx); {
	case p.decision.Verdict == tools.Deny:
		return nil, errors.New("not run: " + p.decision.Reason)
	case p.decision.Verdict == tools.Allow:
		return p, nil
	case approved == "":
		return nil, fmt.Errorf("not run, since a person must approve it and nobody was asked: %s", p.decision.Reason)
	case approved != p.decision.Binding:
		return nil, errChanged
	}
	return p, nil
}

// start starts a prepared command.
func (c *commands) start(ctx context.Context, p *prepared, run sandbox.Command) (*sandbox.Process, error) {
	root, dir, err := workspace(ctx)
	if err != nil {
		return nil, err
	}
	if run.WorkspaceIs, err = root.Stat("."); err != nil {
		return nil, fmt.Errorf("the workspace: %w", err)
	}
	run.Pipelines, run.Workspace, run.Dir, run.DirIs = p.plan.Pipelines, dir, p.plan.Dir, p.plan.DirIs
	run.Env, run.Network = p.plan.Env, c.rules.Load().network
	process, err := c.sandbox.Start(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("the command was not run: %w", err)
	}
	return process, nil
}

// ending says how a command ended, in one line.
func ending(r sandbox.Result) string {
	took := r.Took.Round(10 * time.Millisecond)
	switch {
	case r.Ended != "":
		return fmt.Sprintf("Killed after %s: %s (exit status %d).", took, r.Ended, r.Code)
	case r.Code > 128 && r.Code < 128+65:
		return fmt.Sprintf("Exit status %d (signal %d, %s) after %s.", r.Code, r.Code-128, signalName(r.Code-128), took)
	default:
		return fmt.Sprintf("Exit status %d after %s.", r.Code, took)
	}
}

func signalName(n int) string {
	names := map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
		11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS"}
	if name, ok := names[n]; ok {
		return name
	}
	return "by a signal"
}

// output frames what a program wrote.
func output(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(no output)"
	}
	return tools.Untrusted("the command's output", text)
}

// judge is the judge of tools that run their argument "command".
func (c *commands) judge(ctx context.Context, call agentcore.Call) (tools.Decision, error) {
	args, err := arguments[struct{ Command, CWD string }](call)
	if err != nil {
		return tools.Decision{}, err
	}
	p, err := c.prepare(ctx, args.Command, args.CWD)
	if err != nil {
		return tools.Decision{}, err
	}
	return p.decision, nil
}
