package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// mechanism is what confines commands on this machine.
type mechanism struct {
	kind Kind
	// bwrap is bubblewrap's path.
	bwrap string
	// self is our own binary.
	self string
	// groups counts and bounds; nil where no cgroup can be made.
	groups *groups
}

// landlockABI is the first version in which a confined process can't signal
// others (Linux 6.12).
const landlockABI = 6

const remedy = "install bubblewrap (apt install bubblewrap), or allow unprivileged user namespaces to it, or use Linux 6.12 or later with Landlock; `sandbox = \"off\"` in [tools] runs commands unconfined"

// find tries what there is, the strongest first, by running a program in it.
func find(cfg Config) (*mechanism, error) {
	// What the bot inherited from whoever started it is not for its commands;
	// what it opens itself is closed on exec already.
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("sandbox: keep descriptors: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("sandbox: find the program's own file: %w", err)
	}
	base := mechanism{self: self, groups: findGroups()}
	var failed []error
	for _, kind := range []Kind{Bubblewrap, Landlock, Off} {
		if cfg.Kind != kind && (cfg.Kind != "" || kind == Off) {
			continue
		}
		m := base
		m.kind = kind
		if err := m.prepare(); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", kind, err))
			continue
		}
		return &m, nil
	}
	return nil, fmt.Errorf("%w: %w; %s", ErrUnavailable, errors.Join(failed...), remedy)
}

func (m *mechanism) prepare() error {
	switch m.kind {
	case Off:
		return nil
	case Bubblewrap:
		if m.bwrap = lookup("bwrap"); m.bwrap == "" {
			return errors.New("bwrap is not installed")
		}
	case Landlock:
		abi, err := llsys.LandlockGetABIVersion()
		if err != nil {
			return fmt.Errorf("the kernel has it switched off (%w)", err)
		}
		if abi < landlockABI {
			return fmt.Errorf("the kernel's version %d of it can't keep signals in; %d can", abi, landlockABI)
		}
	}
	return m.try()
}

// try runs a program that does nothing, so that a mechanism that is installed
// but forbidden (as in many containers) is not relied on.
func (m *mechanism) try() error {
	dir, err := os.MkdirTemp("", "clawbot-probe-*")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	program := lookup("true")
	if program == "" {
		return errors.New("there is no program `true` to try it with")
	}
	out := NewCapture(1000)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p, err := m.start(ctx, Command{Pipelines: []Pipeline{{Stages: []Stage{{Path: program}}}}, Workspace: dir, Output: out})
	if err != nil {
		return err
	}
	if result := p.Wait(); result.Code != 0 || result.Ended != "" {
		return fmt.Errorf("a trial ended with status %d %s: %s", result.Code, result.Ended, strings.TrimSpace(out.String()))
	}
	return nil
}

// lookup finds a program in [Path].
func lookup(name string) string {
	for dir := range strings.SplitSeq(Path, ":") {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// Start runs the command. When ctx ends, all of it is killed.
func (s *Sandbox) Start(ctx context.Context, c Command) (*Process, error) {
	m, err := s.probe()
	if err != nil {
		return nil, err
	}
	return m.start(ctx, c)
}

// system lists what of the machine a command may read.
func system(network bool) []string {
	paths := []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki", "/etc/ca-certificates", "/etc/mime.types", "/etc/terminfo",
		"/etc/profiles", "/etc/static",
	}
	if network {
		paths = append(paths, "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols")
	}
	return paths
}
