package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a command that runs. Whoever starts one must Wait for it.
type Process struct {
	limits Limits
	began  time.Time
	cmd    *exec.Cmd
	group  *group
	tree   tree
	stdin  io.WriteCloser
	// closed on kill and at the end; the supervisor ends when it is
	lifeline io.Closer
	temp     string // removed at the end
	disks    []disk

	mu     sync.Mutex
	ended  string
	killed chan struct{}

	done   chan struct{}
	result Result
}

// endPatience is how long output is still read after the command's end. Nothing
// that could write is alive then.
const endPatience = 2 * time.Second

func (m *mechanism) start(ctx context.Context, c Command) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	c.Dir = cmp.Or(c.Dir, c.Workspace)
	c.Limits = c.Limits.withDefaults()
	p := &Process{limits: c.Limits, began: time.Now(), killed: make(chan struct{}), done: make(chan struct{})}
	output, pipe, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	launch, err := m.launch(p, &c)
	if err == nil {
		p.cmd.Stdout, p.cmd.Stderr = pipe, pipe
		err = p.input(&c)
	}
	if err != nil {
		_ = errors.Join(output.Close(), pipe.Close())
		p.cleanUp()
		return nil, err
	}
	p.disks = disks(c.Workspace, p.temp)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		copyOutput(c.Output, output)
	}()
	started := make(chan error, 1)
	go p.work(ctx, launch, started, pipe, output, copied)
	if err := <-started; err != nil {
		<-p.done
		return nil, fmt.Errorf("sandbox: start the command: %w", err)
	}
	return p, nil
}

// launch is how one mechanism brings its process to life.
type launch struct {
	// ready is called when the process has started and before the command
	// begins. On an error it is killed.
	ready func() error
	files []io.Closer // ours to close at the end
}

func (m *mechanism) launch(p *Process, c *Command) (*launch, error) {
	p.group = m.groups.make(c.Limits)
	if m.kind == Bubblewrap {
		return m.bubblewrap(p, c)
	}
	return m.supervised(p, c)
}

func (p *Process) input(c *Command) (err error) {
	if !c.Input {
		return nil // os/exec opens /dev/null
	}
	p.stdin, err = p.cmd.StdinPipe()
	return err
}

// work starts the process and sees it to its end, on one OS thread: the signal
// that kills the process when its parent dies is sent when the thread does.
func (p *Process) work(ctx context.Context, l *launch, started chan<- error, pipe, output *os.File, copied <-chan struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	err := p.cmd.Start()
	_ = pipe.Close() // the process has its own
	if err == nil {
		if err = l.ready(); err != nil {
			p.Kill("it could not be confined")
			_ = p.cmd.Wait() // the error that matters is the one before
		}
	}
	if err != nil {
		_ = output.Close()
		<-copied
		p.release(l)
		started <- err
		return
	}
	started <- nil
	stop := p.guard(ctx)
	status := p.cmd.Wait()
	stop()
	p.release(l)
	patience := time.AfterFunc(endPatience, func() { _ = output.Close() })
	<-copied
	patience.Stop()
	_ = output.Close() // read to its end
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result = Result{Code: exitCode(status), Ended: p.ended, Took: time.Since(p.began)}
}

// guard kills the process when its time is up, when ctx ends or when it grows
// beyond its limits. The returned function ends it.
func (p *Process) guard(ctx context.Context) (stop func()) {
	ended := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		wall := time.NewTimer(p.limits.Wall)
		defer wall.Stop()
		look := time.NewTicker(watchEvery)
		defer look.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ctx.Done():
				p.Kill("it was cancelled")
				return
			case <-wall.C:
				p.Kill(fmt.Sprintf("its time of %s was up", p.limits.Wall))
				return
			case <-look.C:
				if why := cmp.Or(p.excess(), p.filled()); why != "" {
					p.Kill(why)
					return
				}
			}
		}
	}()
	return func() {
		close(ended)
		<-finished
	}
}

// release lets go of all that the process held, and of what it left.
func (p *Process) release(l *launch) {
	if why := p.group.excess(); why != "" {
		p.mu.Lock()
		p.ended = cmp.Or(p.ended, why)
		p.mu.Unlock()
	}
	for _, f := range l.files {
		_ = f.Close() // pipes: nothing is lost
	}
	p.cleanUp()
}

func (p *Process) cleanUp() {
	p.group.remove()
	if p.temp != "" {
		_ = os.RemoveAll(p.temp) // a directory of ours in the system's temporary one
	}
}

// Kill ends the command and everything it started; why is what its result
// says. It does not wait.
func (p *Process) Kill(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.killed:
		return
	default:
	}
	close(p.killed)
	p.ended = cmp.Or(p.ended, why)
	p.tree.kill(p)
}

// Wait returns how the command ended. Nothing that it started is alive then.
func (p *Process) Wait() Result {
	<-p.done
	return p.result
}

// Done is closed when the command has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Write writes to the command's stdin, if it was started with Input.
func (p *Process) Write(data []byte) (int, error) {
	if p.stdin == nil {
		return 0, errors.New("the command was started without input")
	}
	return p.stdin.Write(data)
}

// CloseInput ends the command's stdin.
func (p *Process) CloseInput() error {
	if p.stdin == nil {
		return nil
	}
	return p.stdin.Close()
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return e.ExitCode()
	}
	return 126
}

func copyOutput(to io.Writer, from *os.File) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && to != nil {
			if _, werr := to.Write(buffer[:n]); werr != nil {
				to = nil // the command must not block on a pipe that nobody reads
			}
		}
		if err != nil {
			return
		}
	}
}
