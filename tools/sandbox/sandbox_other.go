//go:build !linux

package sandbox

import (
	"context"
	"fmt"
)

type mechanism struct{ kind Kind }

func find(Config) (*mechanism, error) {
	return nil, fmt.Errorf("%w: it needs Linux; run clawbot in a container or a virtual machine to use commands", ErrUnavailable)
}

// Process is a command that runs.
type Process struct{}

// Start fails: see the package's documentation.
func (s *Sandbox) Start(context.Context, Command) (*Process, error) {
	_, err := s.probe()
	return nil, err
}

// Wait returns how the command ended.
func (p *Process) Wait() Result { return Result{} }

// Kill ends the command; why is what its result says.
func (p *Process) Kill(string) {}

// Done is closed when the command has ended.
func (p *Process) Done() <-chan struct{} { return nil }

// Write writes to the command's stdin.
func (p *Process) Write([]byte) (int, error) { return 0, ErrUnavailable }

// CloseInput ends the command's stdin.
func (p *Process) CloseInput() error { return nil }

// Main does nothing where there is no sandbox.
func Main() {}
