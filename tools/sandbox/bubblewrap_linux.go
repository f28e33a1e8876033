package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// innerSelf is where our own binary is seen in the namespace when it has to run
// a plan there.
const innerSelf = "/.clawbot"

// infoTimeout bounds how long bubblewrap may take to tell its child's id.
const infoTimeout = 10 * time.Second

// bubblewrap prepares a command in namespaces of its own. bwrap sets them up,
// tells the id of the process that will run the command, and waits: then that
// process is put into its cgroup, gets its limits, and what it sees is checked,
// before anything of the command has run.
func (m *mechanism) bubblewrap(p *Process, c *Command) (*launch, error) {
	ids, err := identify(c)
	if err != nil {
		return nil, err
	}
	pipes, err := newPipes(3)
	if err != nil {
		return nil, err
	}
	infoRead, info := pipes[0][0], pipes[0][1]
	block, blockWrite := pipes[1][0], pipes[1][1]
	filter, filterWrite := pipes[2][0], pipes[2][1]
	l := &launch{files: []io.Closer{infoRead, blockWrite}}
	_, err = filterWrite.Write(seccompFilter(familiesOf(c.Network, true), nil)) // far less than a pipe holds
	err = errors.Join(err, filterWrite.Close())

	args := bubblewrapArgs(c)
	// The child's descriptors are 3, 4 and 5, in the order of ExtraFiles.
	args = append(args, "--info-fd", "3", "--block-fd", "4", "--seccomp", "5")
	command, cerr := m.inner(c)
	if err = errors.Join(err, cerr); err != nil {
		for _, f := range []io.Closer{infoRead, info, block, blockWrite, filter} {
			_ = f.Close()
		}
		return nil, err
	}
	if command[0] == innerSelf {
		args = append(args, "--ro-bind", m.self, innerSelf)
	}
	args = append(append(args, "--remount-ro", "/", "--chdir", c.Dir, "--"), command...)
	p.cmd = exec.Command(m.bwrap, args...)
	p.cmd.Env = environment("/tmp", c.Env)
	p.cmd.Dir = "/"
	p.cmd.ExtraFiles = []*os.File{info, block, filter}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	space := &namespace{}
	p.tree = space
	l.ready = func() error {
		_ = errors.Join(info.Close(), block.Close(), filter.Close()) // bwrap has its own
		return p.admit(space, ids, infoRead, blockWrite)
	}
	return l, nil
}

// admit lets the command begin, once everything about it is as it should be.
func (p *Process) admit(space *namespace, ids *identities, info, block *os.File) error {
	var told struct {
		PID int `json:"child-pid"`
	}
	_ = info.SetReadDeadline(time.Now().Add(infoTimeout)) // pipes have deadlines
	if err := json.NewDecoder(info).Decode(&told); err != nil || told.PID <= 1 {
		return fmt.Errorf("bubblewrap did not set up its namespaces (%w); see its message in the output, or run clawbot doctor", err)
	}
	space.pid.Store(int64(told.PID))
	if err := p.group.add(told.PID); err != nil {
		return err
	}
	if err := setLimits(told.PID, p.limits, true); err != nil {
		return err
	}
	if err := space.settled(); err != nil {
		return err
	}
	if err := ids.verify("/proc/" + strconv.Itoa(told.PID) + "/root"); err != nil {
		return err
	}
	_, err := block.Write([]byte{1})
	return err
}

// inner is what bwrap executes: the command itself, or our own binary for a
// plan of several.
func (m *mechanism) inner(c *Command) ([]string, error) {
	if s, ok := c.single(); ok {
		return append([]string{s.Path}, s.Args...), nil
	}
	plan, err := encodePlan(c.Pipelines)
	if err != nil {
		return nil, err
	}
	return []string{innerSelf, marker, modePlan, plan}, nil
}

func bubblewrapArgs(c *Command) []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"}
	if c.Network {
		args = append(args, "--share-net")
	}
	for _, path := range system(c.Network) {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if info.Mode()&os.ModeSymlink != 0 && path[:4] != "/etc" {
			if to, err := os.Readlink(path); err == nil {
				args = append(args, "--symlink", to, path)
			}
			continue
		}
		args = append(args, "--ro-bind-try", path, path)
	}
	return append(args,
		"--proc", "/proc", "--dev", "/dev",
		"--size", strconv.FormatInt(c.Limits.Memory/4, 10), "--tmpfs", "/tmp",
		"--bind", c.Workspace, c.Workspace)
}

// newPipes makes n pipes, or none.
func newPipes(n int) ([][2]*os.File, error) {
	pipes := make([][2]*os.File, 0, n)
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range pipes {
				_ = errors.Join(p[0].Close(), p[1].Close())
			}
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		pipes = append(pipes, [2]*os.File{r, w})
	}
	return pipes, nil
}
