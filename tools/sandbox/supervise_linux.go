package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// self is the running binary, even if its file was replaced since it started.
const self = "/proc/self/exe"

// supervised prepares a command below a supervisor: our own binary, which waits
// for a byte on its pipe, starts the command, and ends all of it when the
// command ends or the pipe closes.
func (m *mechanism) supervised(p *Process, c *Command) (*launch, error) {
	ids, err := identify(c)
	if err != nil {
		return nil, err
	}
	if p.temp, err = os.MkdirTemp("", "clawbot-exec-*"); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s := spec{
		Pipelines: c.Pipelines, Dir: c.Dir, Workspace: c.Workspace, Temp: p.temp, Env: environment(p.temp, c.Env),
		Landlock: m.kind == Landlock, Network: c.Network, Limits: c.Limits,
	}
	data, err := encode(s)
	if err != nil {
		return nil, err
	}
	pipes, err := newPipes(1)
	if err != nil {
		return nil, err
	}
	read, write := pipes[0][0], pipes[0][1]
	p.cmd = exec.Command(self, marker, modeSupervise, data)
	p.cmd.Env = []string{}
	p.cmd.Dir = "/"
	p.cmd.ExtraFiles = []*os.File{read}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	t := &supervisedTree{}
	p.tree, p.lifeline = t, write
	return &launch{files: []io.Closer{write}, ready: func() error {
		_ = read.Close() // the supervisor has its own
		t.pid.Store(int64(p.cmd.Process.Pid))
		if err := p.group.add(p.cmd.Process.Pid); err != nil {
			return err
		}
		if err := ids.verify(""); err != nil {
			return err
		}
		_, err := write.Write([]byte{1})
		return err
	}}, nil
}

// supervise is the supervisor's main function.
func supervise(data string) (code int, err error) {
	// What is sent to end the bot must not leave orphans here; the pipe tells
	// when to end.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	lifeline := os.NewFile(3, "lifeline")
	syscall.CloseOnExec(3)
	if _, err := io.ReadFull(lifeline, make([]byte, 1)); err != nil {
		return 0, errors.New("the bot ended before the command began")
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("adopt orphans: %w", err)
	}
	child, err := os.StartProcess(self, []string{self, marker, modeConfine, data}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, err
	}
	// Only the command writes from here on: output ends when it does.
	for fd := range 3 {
		_ = syscall.Close(fd)
	}
	var ending atomic.Bool
	go func() {
		_, _ = lifeline.Read(make([]byte, 1)) // only its end is waited for
		ending.Store(true)
		killBelow()
	}()
	return reap(child.Pid, &ending), nil
}

// reap waits for everything below and returns the command's status. When the
// command has ended, or all is to end, what is left is killed until nothing is.
func reap(command int, ending *atomic.Bool) (code int) {
	code = 128 + int(syscall.SIGKILL)
	for {
		options := 0
		if ending.Load() {
			killBelow()
			options = syscall.WNOHANG
		}
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, options, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			return code
		case errors.Is(err, syscall.EINTR):
		case pid == command:
			code = status.ExitStatus()
			if status.Signaled() {
				code = 128 + int(status.Signal())
			}
			ending.Store(true)
		case pid == 0:
			time.Sleep(time.Millisecond)
		}
	}
}

// killBelow stops all that is below before it kills any, so that nothing can
// start more in between.
func killBelow() {
	all := descendants(os.Getpid())
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for _, pid := range all {
			_ = syscall.Kill(pid, signal) // it may have ended
		}
	}
}

func decodeSpec(data string) (*spec, error) {
	var s spec
	if err := json.Unmarshal([]byte(data), &s); err != nil {
		return nil, fmt.Errorf("decode the command: %w", err)
	}
	return &s, nil
}
