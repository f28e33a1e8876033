package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"
)

// Kind says what confines a command.
type Kind string

// The kinds.
const (
	Bubblewrap Kind = "bubblewrap"
	Landlock   Kind = "landlock"
	Off        Kind = "off" // limits only, by explicit configuration
)

// Config is what a [Sandbox] is made of.
type Config struct {
	// Kind, if set, is the only one tried; [Off] is used in no other way.
	Kind Kind
}

// Sandbox starts commands. It is safe for concurrent use.
type Sandbox struct {
	cfg   Config
	probe func() (*mechanism, error)
}

// ErrUnavailable is wrapped by the errors of a machine that can confine
// nothing; their text names the remedy.
var ErrUnavailable = errors.New("commands can't be confined on this machine")

// New returns a sandbox. What the machine offers is found out at first use,
// which takes some milliseconds, and then kept.
func New(cfg Config) *Sandbox {
	return &Sandbox{cfg: cfg, probe: sync.OnceValues(func() (*mechanism, error) { return find(cfg) })}
}

// Check returns what confines commands here, or why nothing does and what to
// do about it.
func (s *Sandbox) Check() (Kind, error) {
	m, err := s.probe()
	if err != nil {
		return "", err
	}
	return m.kind, nil
}

// Join says when a pipeline runs, going by the one before it.
type Join uint8

// The joins.
const (
	Always    Join = iota // the first one, or after ;
	OnSuccess             // after &&
	OnFailure             // after ||
)

// Stage is one program of a pipeline. Path is absolute; Args are without the
// program's name.
type Stage struct {
	Path string   `json:"path"`
	Args []string `json:"args,omitempty"`
}

// Pipeline is programs of which each reads what the one before it wrote. Its
// status is the last one's.
type Pipeline struct {
	When   Join    `json:"when,omitempty"`
	Negate bool    `json:"not,omitempty"`
	Stages []Stage `json:"stages"`
}

// Command is what to run. No shell is involved.
type Command struct {
	Pipelines []Pipeline
	// Workspace is the absolute path of the one directory that can be written.
	Workspace string
	// Dir is where the command starts: absolute, inside Workspace; default
	// Workspace.
	Dir string
	// WorkspaceIs and DirIs, if set, are what the two must be when the command
	// begins: a directory that was swapped for another is refused.
	WorkspaceIs, DirIs fs.FileInfo
	// Env is added to a clean environment; nothing is inherited.
	Env []string
	// Network gives the command the machine's network.
	Network bool
	// Input leaves stdin open for [Process.Write]; otherwise it is empty.
	Input bool
	// Output gets stdout and stderr in the order of their arrival, from one
	// goroutine. An error ends nothing: what follows is dropped.
	Output io.Writer
	Limits Limits
}

// Limits bound a command. Zero values are the defaults.
type Limits struct {
	Wall      time.Duration // from start to end; 2 minutes
	CPU       time.Duration // of each process; Wall
	Memory    int64         // bytes, all processes together; 1 GiB
	Processes int           // threads included where cgroups count; 256
	FileSize  int64         // bytes, of any file it writes; 512 MiB
	OpenFiles int           // 1024
	// DiskFree is what the command must leave free on the disks that it writes
	// to, in bytes; 256 MiB.
	DiskFree int64
}

func (l Limits) withDefaults() Limits {
	if l.Wall <= 0 {
		l.Wall = 2 * time.Minute
	}
	if l.CPU <= 0 {
		l.CPU = l.Wall
	}
	if l.Memory <= 0 {
		l.Memory = 1 << 30
	}
	if l.Processes <= 0 {
		l.Processes = 256
	}
	if l.FileSize <= 0 {
		l.FileSize = 512 << 20
	}
	if l.OpenFiles <= 0 {
		l.OpenFiles = 1024
	}
	if l.DiskFree <= 0 {
		l.DiskFree = 256 << 20
	}
	return l
}

// Result is how a command ended.
type Result struct {
	// Code is the exit status, 128 and the signal's number if it was killed.
	Code int
	// Ended says in words why the sandbox ended it: a limit, or the caller.
	// Empty if the command ended by itself.
	Ended string
	Took  time.Duration
}

// Run starts the command and waits for its end. It returns an error only if
// the command could not be started.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	p, err := s.Start(ctx, c)
	if err != nil {
		return Result{}, err
	}
	return p.Wait(), nil
}

// Path is where programs are looked for, in the sandbox and for it.
const Path = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// environment is all that a command inherits.
func environment(home string, extra []string) []string {
	return append([]string{
		"PATH=" + Path, "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "TERM=dumb", "USER=clawbot", "PAGER=cat",
	}, extra...)
}

func (c *Command) check() error {
	if len(c.Pipelines) == 0 {
		return errors.New("sandbox: the command is empty")
	}
	for _, p := range c.Pipelines {
		if len(p.Stages) == 0 {
			return errors.New("sandbox: a pipeline is empty")
		}
		for _, s := range p.Stages {
			if len(s.Path) == 0 || s.Path[0] != '/' {
				return fmt.Errorf("sandbox: the program %q is no absolute path", s.Path)
			}
		}
	}
	return nil
}

// single returns the only program of the command, if there is just one.
func (c *Command) single() (Stage, bool) {
	if len(c.Pipelines) == 1 && len(c.Pipelines[0].Stages) == 1 && !c.Pipelines[0].Negate {
		return c.Pipelines[0].Stages[0], true
	}
	return Stage{}, false
}
