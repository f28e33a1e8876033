package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// watchEvery is how often a command's processes are counted. Where cgroups
// bound them it is a second line.
const watchEvery = 200 * time.Millisecond

// tree is all the processes of a command.
type tree interface {
	// kill ends them all; it does not wait.
	kill(p *Process)
	// pids lists them, as far as can be seen.
	pids() (dir string, pids []string)
}

// excess says which limit the processes are beyond; nothing if they are within.
func (p *Process) excess() string {
	dir, pids := p.tree.pids()
	if len(pids) > p.limits.Processes {
		return fmt.Sprintf("it had more than %d processes", p.limits.Processes)
	}
	if p.group.boundsMemory() {
		return ""
	}
	var resident int64
	for _, pid := range pids {
		resident += residentOf(filepath.Join(dir, pid, "statm"))
	}
	if resident > p.limits.Memory {
		return fmt.Sprintf("it used more than %d MB of memory", p.limits.Memory>>20)
	}
	return ""
}

func residentOf(statm string) int64 {
	data, err := os.ReadFile(statm)
	if err != nil {
		return 0 // it has ended
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes numbers
	return pages * int64(os.Getpagesize())
}

// namespace is the processes of a pid namespace; pid is its first, as seen from
// outside, 0 until it is known.
type namespace struct{ pid atomic.Int64 }

func (n *namespace) kill(p *Process) {
	// The first process takes all others with it. bwrap, outside, follows, and
	// is killed for the time when there is no first process yet.
	if pid := n.pid.Load(); pid > 0 {
		_ = syscall.Kill(int(pid), syscall.SIGKILL) // gone already is as good
	}
	_ = p.cmd.Process.Kill()
}

// pids reads the namespace's own /proc, where there is nobody else.
func (n *namespace) pids() (dir string, pids []string) {
	dir = fmt.Sprintf("/proc/%d/root/proc", n.pid.Load())
	return dir, numbered(dir)
}

// settled waits until the namespace's first process is blocked with everything
// mounted: its root is then not ours any more.
func (n *namespace) settled() error {
	root := fmt.Sprintf("/proc/%d/root", n.pid.Load())
	outside, err := os.Stat("/")
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(infoTimeout); time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
		inside, err := os.Stat(root + "/")
		if err != nil {
			return errors.New("bubblewrap ended before the command began; see its message in the output")
		}
		if os.SameFile(inside, outside) {
			continue
		}
		if _, err := os.Stat(root + "/proc/1"); err == nil {
			if _, err := os.Lstat(root + "/newroot"); err != nil {
				return nil
			}
		}
	}
	return errors.New("bubblewrap did not set up its namespaces in time")
}

// below is the processes below a supervisor of ours, which adopts orphans.
type below struct{}

func (b *below) kill(p *Process) {
	// The supervisor kills all of them when the pipe to it closes, and ends.
	_ = p.lifeline.Close()
}

func (b *below) pids() (dir string, pids []string) { return "/proc", nil }

// supervisedTree counts what is below a supervisor.
type supervisedTree struct {
	below
	pid atomic.Int64
}

func (s *supervisedTree) pids() (dir string, pids []string) {
	for _, pid := range descendants(int(s.pid.Load())) {
		pids = append(pids, strconv.Itoa(pid))
	}
	return "/proc", pids
}

// descendants lists the processes below pid.
func descendants(pid int) []int {
	children := map[int][]int{}
	for _, name := range numbered("/proc") {
		data, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state parent …; the name may hold anything.
		rest := string(data[strings.LastIndexByte(string(data), ')')+1:])
		if fields := strings.Fields(rest); len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			child, _ := strconv.Atoi(name)
			children[parent] = append(children[parent], child)
		}
	}
	var all []int
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		all = append(all, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

func numbered(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // what could be read
	numbers := names[:0]
	for _, name := range names {
		if name[0] >= '0' && name[0] <= '9' {
			numbers = append(numbers, name)
		}
	}
	return numbers
}
