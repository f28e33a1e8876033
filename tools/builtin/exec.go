package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"time"

	"clawbot/agentcore"
	"clawbot/tools"
	"clawbot/tools/sandbox"
)

//go:embed exec.md
var execProse string

const (
	defaultWall = 120 * time.Second
	// maxOutput bounds what is kept of a command's output, in bytes.
	maxOutput = 256 << 10
	// liveOutput bounds what an update repeats of it.
	liveOutput = 4 << 10
	liveEvery  = 250 * time.Millisecond
)

func execTool(c *commands) tools.Tool {
	return tools.Tool{
		Descriptor: describe("exec", "Run command", execProse, `{
			"type": "object",
			"properties": {
				"command": {"type": "string", "minLength": 1, "description": "The command line"},
				"cwd":     {"type": "string", "description": "Directory relative to the workspace"},
				"timeout": {"type": "integer", "minimum": 1, "maximum": 600, "description": "Seconds"}
			},
			"required": ["command"]
		}`),
		Mode:    agentcore.Sequential,
		Telling: telling("command"),
		Judge:   c.judge,
		Execute: c.exec,
	}
}

type execDetails struct {
	Code  int    `json:"code"`
	Ended string `json:"ended,omitempty"`
	MS    int64  `json:"ms"`
	Bytes int64  `json:"bytes"`
}

func (c *commands) exec(ctx context.Context, call agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error) {
	args, err := arguments[struct {
		Command, CWD string
		Timeout      int
	}](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	p, err := c.permitted(ctx, args.Command, args.CWD)
	if err != nil {
		return agentcore.Result{}, err
	}
	wall := defaultWall
	if args.Timeout > 0 {
		wall = time.Duration(args.Timeout) * time.Second
	}
	out := sandbox.NewCapture(maxOutput)
	process, err := c.start(ctx, p, sandbox.Command{Output: out, Limits: sandbox.Limits{Wall: wall}})
	if err != nil {
		return agentcore.Result{}, err
	}
	show(process, out, update)
	result := process.Wait()
	if result.Ended != "" && ctx.Err() != nil {
		return agentcore.Result{}, context.Cause(ctx)
	}
	details, _ := json.Marshal(execDetails{result.Code, result.Ended, result.Took.Milliseconds(), out.Total()}) // numbers and a text
	r := agentcore.TextResult(ending(result) + "\n" + output(out.String()))
	r.Details = details
	r.IsError = result.Ended != "" || result.Code >= 126
	return r, nil
}

// show reports the end of the output while the command runs.
func show(p *sandbox.Process, out *sandbox.Capture, update func(agentcore.Update)) {
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	shown := int64(0)
	for {
		select {
		case <-p.Done():
			return
		case <-tick.C:
			if total := out.Total(); total != shown {
				shown = total
				update(agentcore.Update{Content: []agentcore.Block{agentcore.Text{Text: out.Last(liveOutput)}}})
			}
		}
	}
}
