package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// groups are the places where a cgroup for a command can be made. All methods
// work on nil, where there are none.
type groups struct {
	// pids and memory are directories of the version 1 controllers, or the
	// same directory of version 2. Empty: not writable.
	pids, memory string
	v2           bool
	made         *atomic.Int64
}

const cgroupRoot = "/sys/fs/cgroup"

// findGroups tries by making a cgroup whether our own allows that. It also
// removes what a bot that was killed left behind.
func findGroups() *groups {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	g := &groups{made: new(atomic.Int64)}
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			switch controller {
			case "pids":
				g.pids = usable(filepath.Join(cgroupRoot, "pids", parts[2]), "pids.max")
			case "memory":
				g.memory = usable(filepath.Join(cgroupRoot, "memory", parts[2]), "memory.limit_in_bytes")
			}
		}
		if parts[0] == "0" && g.pids == "" && g.memory == "" {
			dir := filepath.Join(cgroupRoot, parts[2])
			g.pids, g.memory = usable(dir, "pids.max"), usable(dir, "memory.max")
			g.v2 = g.pids != "" || g.memory != ""
		}
	}
	if g.pids == "" && g.memory == "" {
		return nil
	}
	return g
}

// usable returns dir if a cgroup made in it has the file.
func usable(dir, file string) string {
	removeStale(dir)
	trial := filepath.Join(dir, groupName(0))
	if err := os.Mkdir(trial, 0o755); err != nil {
		return ""
	}
	defer os.Remove(trial)
	if _, err := os.Stat(filepath.Join(trial, file)); err != nil {
		return ""
	}
	return dir
}

const groupPrefix = "clawbot-"

func groupName(n int64) string { return fmt.Sprintf("%s%d-%d", groupPrefix, os.Getpid(), n) }

func removeStale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), groupPrefix)
		owner, _, _ := strings.Cut(name, "-")
		pid, err := strconv.Atoi(owner)
		if ours && err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // refused while it is in use
		}
	}
}

// group is the cgroup of one command; nil where there can be none.
type group struct {
	dirs   []string
	limits Limits
	memory string // the directory that bounds memory
	pids   string
	v2     bool
}

// make makes a cgroup with the limits. One that can't be made is done without:
// the watch and the limits of single processes hold.
func (g *groups) make(l Limits) *group {
	if g == nil {
		return nil
	}
	name := groupName(g.made.Add(1))
	made := &group{limits: l, v2: g.v2}
	if g.pids != "" {
		made.pids = made.directory(filepath.Join(g.pids, name), map[string]string{"pids.max": strconv.Itoa(l.Processes)})
	}
	if g.memory != "" {
		bytes := strconv.FormatInt(l.Memory, 10)
		files := map[string]string{"memory.limit_in_bytes": bytes}
		if g.v2 {
			files = map[string]string{"memory.max": bytes, "memory.swap.max": "0"}
		}
		made.memory = made.directory(filepath.Join(g.memory, name), files)
	}
	return made
}

func (g *group) directory(dir string, files map[string]string) string {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return ""
	}
	if !contains(g.dirs, dir) {
		g.dirs = append(g.dirs, dir)
	}
	for file, value := range files {
		err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644)
		if err != nil && !strings.Contains(file, "swap") { // there may be no swap to bound
			return ""
		}
	}
	return dir
}

func contains(list []string, s string) bool {
	return slices.Contains(list, s)
}

func (g *group) add(pid int) error {
	if g == nil {
		return nil
	}
	for _, dir := range g.dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
			return fmt.Errorf("put the command into its cgroup: %w", err)
		}
	}
	return nil
}

func (g *group) boundsMemory() bool { return g != nil && g.memory != "" }

// excess says which limit the kernel enforced; nothing if none.
func (g *group) excess() string {
	if !g.boundsMemory() {
		return ""
	}
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	data, err := os.ReadFile(filepath.Join(g.memory, file))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok && strings.TrimSpace(n) != "0" {
			return fmt.Sprintf("it used more than %d MB of memory", g.limits.Memory>>20)
		}
	}
	return ""
}

func (g *group) remove() {
	if g == nil {
		return
	}
	for _, dir := range g.dirs {
		_ = os.Remove(dir) // busy only while the kernel lets go; a later start removes it
	}
}
