package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/tools"
	"clawbot/tools/command"
	"clawbot/tools/sandbox"
)

//go:embed process.md
var processProse string

const (
	maxProcesses  = 4 // running, of one conversation
	maxRemembered = 8 // of one conversation, those that have ended included
	processWall   = time.Hour
	maxWait       = 60
)

func processTool(c *commands, b *background) tools.Tool {
	t := &processRunner{c, b}
	return tools.Tool{
		Descriptor: describe("process", "Background process", processProse, `{
			"type": "object",
			"properties": {
				"action":  {"type": "string", "enum": ["start", "poll", "write", "kill", "list"]},
				"command": {"type": "string", "description": "For start"},
				"cwd":     {"type": "string", "description": "For start: directory relative to the workspace"},
				"id":      {"type": "string", "description": "For poll, write and kill"},
				"input":   {"type": "string", "description": "For write"},
				"close":   {"type": "boolean", "description": "For write: end stdin"},
				"wait":    {"type": "integer", "minimum": 0, "maximum": 60, "description": "For poll: seconds"}
			},
			"required": ["action"]
		}`),
		Mode:    agentcore.Sequential,
		Telling: telling("command"),
		Judge:   t.judge,
		Execute: t.execute,
	}
}

type processRunner struct {
	commands   *commands
	background *background
}

type processArgs struct {
	Action, Command, CWD, ID, Input string
	Close                           bool
	Wait                            int
}

// ownerRole is [tools.Scope]'s name for an owner.
const ownerRole = "owner"

// judge asks about what is started; what runs already was judged then. What is
// written to a program was not: an approval covers the command alone, so a
// program that reads commands from its input is a matter for its start.
func (t *processRunner) judge(ctx context.Context, call agentcore.Call) (tools.Decision, error) {
	args, err := arguments[processArgs](call)
	if err != nil {
		return tools.Decision{}, err
	}
	if args.Action != "start" {
		return tools.Decision{Verdict: tools.Allow}, nil
	}
	d, err := t.commands.judge(ctx, call)
	if err == nil && d.Verdict == tools.Ask {
		d.Rule = "" // an hour in the background is more than what a rule was made for
		d.Show += "\n(in the background, for up to an hour, with whatever the agent writes to its input)"
	}
	return d, err
}

func (t *processRunner) execute(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
	args, err := arguments[processArgs](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	session := tools.ScopeOf(ctx).Session
	if args.Action == "start" {
		return t.start(ctx, session, &args)
	}
	if args.Action == "list" {
		return agentcore.TextResult(t.background.list(session)), nil
	}
	j := t.background.find(session, args.ID)
	if j == nil {
		return agentcore.Result{}, fmt.Errorf("no process %q of this conversation runs here: it was killed, or ended with an earlier run of the bot; `list` shows those there are", args.ID)
	}
	switch args.Action {
	case "poll":
		return agentcore.TextResult(j.poll(ctx, time.Duration(min(args.Wait, maxWait))*time.Second)), nil
	case "write":
		// What was approved for one is not for another to steer.
		if scope := tools.ScopeOf(ctx); scope.Role != ownerRole && scope.Sender != j.starter {
			return agentcore.Result{}, fmt.Errorf("%s was started for somebody else: only they, or an owner, may have something written to it", j.id)
		}
		return j.write(args.Input, args.Close)
	default:
		j.process.Kill("you asked for it")
		j.process.Wait()
		return agentcore.TextResult(j.poll(ctx, 0)), nil
	}
}

func (t *processRunner) start(ctx context.Context, session string, args *processArgs) (agentcore.Result, error) {
	p, err := t.commands.permitted(ctx, args.Command, args.CWD)
	if err != nil {
		return agentcore.Result{}, err
	}
	j := &job{command: command.Escaped(p.line.Text), starter: tools.ScopeOf(ctx).Sender, began: time.Now(), log: newTail(64 << 10)}
	if err := t.background.add(session, j); err != nil {
		return agentcore.Result{}, err
	}
	// It outlives the call, and the run, but not the bot.
	own := context.WithoutCancel(ctx)
	j.process, err = t.commands.start(own, p, sandbox.Command{Output: j.log, Input: true, Limits: sandbox.Limits{Wall: processWall, CPU: processWall}})
	if err != nil {
		t.background.remove(session, j)
		return agentcore.Result{}, err
	}
	t.background.started(j)
	return agentcore.TextResult(fmt.Sprintf("Started as %s.\n%s", j.id, j.poll(ctx, time.Second/2))), nil
}

func (j *job) write(input string, end bool) (agentcore.Result, error) {
	if input != "" {
		if _, err := j.process.Write([]byte(input)); err != nil {
			return agentcore.Result{}, fmt.Errorf("%s reads no input any more: %w", j.id, err)
		}
	}
	if end {
		if err := j.process.CloseInput(); err != nil && !errors.Is(err, context.Canceled) {
			return agentcore.Result{}, fmt.Errorf("end the input of %s: %w", j.id, err)
		}
	}
	return agentcore.TextResult(fmt.Sprintf("Wrote %d bytes to %s.", len(input), j.id)), nil
}

// poll waits for news and returns them.
func (j *job) poll(ctx context.Context, wait time.Duration) string {
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case <-ctx.Done():
	case <-patience.C:
	case <-j.process.Done():
	case <-j.log.news():
	}
	state := j.state()
	text, skipped := j.log.take()
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", j.id, state)
	if skipped > 0 {
		fmt.Fprintf(&out, "[%d bytes before this were left out]\n", skipped)
	}
	out.WriteString(output(text))
	return out.String()
}

func (j *job) state() string {
	select {
	case <-j.process.Done():
		return ending(j.process.Wait())
	default:
		return fmt.Sprintf("running for %s", time.Since(j.began).Round(time.Second))
	}
}
