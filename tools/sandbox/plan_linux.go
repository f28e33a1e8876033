package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// runPlan runs pipelines as a shell would, and returns the last one's status.
// It runs inside the confinement.
func runPlan(data string) (code int, err error) {
	var plan []Pipeline
	if err := json.Unmarshal([]byte(data), &plan); err != nil {
		return 0, fmt.Errorf("decode the plan: %w", err)
	}
	for _, p := range plan {
		if p.When == OnSuccess && code != 0 || p.When == OnFailure && code == 0 {
			continue
		}
		code = runPipeline(p.Stages)
		if p.Negate {
			code = map[bool]int{true: 1, false: 0}[code == 0]
		}
	}
	return code, nil
}

// runPipeline starts the stages, each reading from the one before it, and waits
// for all of them.
func runPipeline(stages []Stage) int {
	commands := make([]*exec.Cmd, len(stages))
	var read *os.File
	code := 0
	for i, s := range stages {
		cmd := exec.Command(s.Path, s.Args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if read != nil {
			cmd.Stdin = read
		}
		var next, write *os.File
		if i < len(stages)-1 {
			var err error
			if next, write, err = os.Pipe(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 126
			}
			cmd.Stdout = write
		}
		err := cmd.Start()
		for _, f := range []*os.File{read, write} {
			if f != nil {
				_ = f.Close() // the child has its own
			}
		}
		read = next
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.Path, errors.Unwrap(err))
			code = 126
			continue
		}
		commands[i] = cmd
	}
	for i, cmd := range commands {
		if cmd == nil {
			continue
		}
		err := cmd.Wait()
		if i == len(commands)-1 {
			code = exitCode(err)
		}
	}
	return code
}
