package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// confine confines this process and becomes the command. It returns only if it
// fails, and then nothing of the command has run.
func confine(data string) error {
	s, err := decodeSpec(data)
	if err != nil {
		return err
	}
	argv, err := s.argv()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // what follows holds for a thread, and exec takes over this one
	if err := os.Chdir(s.Dir); err != nil {
		return err
	}
	if s.Landlock {
		if err := s.restrict(); err != nil {
			return err
		}
	}
	// Last, for this process needs memory, too, until it is the command.
	if err := setLimits(0, s.Limits, false); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", argv[0], syscall.Exec(argv[0], argv, s.Env))
}

// argv is what the confined process becomes: the command, or our own binary for
// a plan of several.
func (s *spec) argv() ([]string, error) {
	c := Command{Pipelines: s.Pipelines}
	if stage, ok := c.single(); ok {
		return append([]string{stage.Path}, stage.Args...), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	plan, err := encodePlan(s.Pipelines)
	if err != nil {
		return nil, err
	}
	return []string{self, marker, modePlan, plan}, nil
}

// restrict takes away all but what the command needs, or fails.
func (s *spec) restrict() error {
	if architecture() == 0 {
		return errors.New("no filter of system calls is known for " + runtime.GOARCH + "; install bubblewrap")
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	handled := landlock.V6
	if s.Network {
		handled.HandledAccessNet = 0
	}
	err = handled.Restrict(
		landlock.RODirs(existing(system(s.Network), true)...),
		landlock.ROFiles(append(existing(system(s.Network), false), self)...),
		landlock.RWDirs(s.Workspace, s.Temp).WithRefer(),
		landlock.PathAccess(llsys.AccessFSReadFile|llsys.AccessFSWriteFile|llsys.AccessFSIoctlDev, "/dev/null", "/dev/zero", "/dev/full"),
		landlock.ROFiles("/dev/urandom", "/dev/random"),
	)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return s.filter()
}

// byPath are the calls that change a file's mode, owner, times or attributes by
// its path, which Landlock does not restrict. By an open descriptor they work:
// only what may be opened can be changed then.
func byPath() []int {
	return append([]int{sysFchmodat2, sysSetxattrat, sysRemovexattrat,
		unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR}, legacyByPath...)
}

// filter installs the filter of system calls on this thread. Sockets are
// refused altogether without a network: Landlock knows only some kinds.
func (s *spec) filter() error {
	program := seccompFilter(familiesOf(s.Network, false), byPath())
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	fprog := unix.SockFprog{Len: uint16(len(program) / size), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&fprog)), 0, 0)
	runtime.KeepAlive(program)
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

// dropCapabilities makes a root that can do no more than its files' owner.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EINVAL) && !(errors.Is(err, unix.EPERM) && os.Geteuid() != 0) {
			return fmt.Errorf("drop capabilities: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

func existing(paths []string, dirs bool) []string {
	var found []string
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() == dirs {
			found = append(found, path)
		}
	}
	return found
}
