package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
)

// marker, as the first argument, turns our binary into one of the sandbox's
// helpers.
const marker = "__clawbot-sandbox"

// The helpers.
const (
	modeSupervise = "supervise" // keeps what is below it, and ends it
	modeConfine   = "confine"   // confines itself and becomes the command
	modePlan      = "plan"      // runs a plan of several programs
)

// maxPlan bounds what is handed to a helper, in bytes; the kernel takes no
// longer argument.
const maxPlan = 120 << 10

// Main must be the first thing that a program calls which uses this package
// (and a test's TestMain): in a child that was started as a helper of the
// sandbox it does what it was started for and does not return.
func Main() {
	if len(os.Args) != 4 || os.Args[1] != marker {
		return
	}
	var err error
	code := 0
	switch os.Args[2] {
	case modeSupervise:
		code, err = supervise(os.Args[3])
	case modeConfine:
		err = confine(os.Args[3]) // returns only if it fails
	case modePlan:
		code, err = runPlan(os.Args[3])
	default:
		err = fmt.Errorf("unknown helper %q", os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: "+err.Error())
		code = 126
	}
	os.Exit(code)
}

// spec is what the supervisor and the confined child are told.
type spec struct {
	Pipelines []Pipeline `json:"pipelines"`
	Dir       string     `json:"dir"`
	Workspace string     `json:"workspace"`
	Temp      string     `json:"temp"`
	Env       []string   `json:"env"`
	Landlock  bool       `json:"landlock"`
	Network   bool       `json:"network"`
	Limits    Limits     `json:"limits"`
}

func encode(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("sandbox: encode the command: %w", err)
	}
	if len(data) > maxPlan {
		return "", fmt.Errorf("sandbox: the command is too long: %d bytes, and at most %d can be passed on; put it into a file", len(data), maxPlan)
	}
	return string(data), nil
}

func encodePlan(plan []Pipeline) (string, error) { return encode(plan) }
