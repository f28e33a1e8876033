package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// setLimits bounds what one process, and each that it starts, may use; pid 0 is
// this process. In a user namespace of its own (fresh), the number of processes
// is counted apart from the user's others, from Linux 5.14 on; root is never
// bound by it.
func setLimits(pid int, l Limits, fresh bool) error {
	limits := map[int]uint64{
		unix.RLIMIT_CPU:    uint64(max(l.CPU/time.Second, 1)),
		unix.RLIMIT_DATA:   uint64(l.Memory),
		unix.RLIMIT_FSIZE:  uint64(l.FileSize),
		unix.RLIMIT_NOFILE: uint64(l.OpenFiles),
		unix.RLIMIT_CORE:   0,
	}
	if fresh && os.Geteuid() != 0 && kernelAtLeast(5, 14) {
		limits[unix.RLIMIT_NPROC] = uint64(l.Processes)
	}
	for resource, value := range limits {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
			return fmt.Errorf("read a limit of the command: %w", err)
		}
		value = min(value, now.Max)
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil); err != nil {
			return fmt.Errorf("limit the command: %w", err)
		}
	}
	return nil
}

func kernelAtLeast(major, minor int) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	parts := strings.SplitN(unix.ByteSliceToString(name.Release[:]), ".", 3)
	if len(parts) < 2 {
		return false
	}
	x, _ := strconv.Atoi(parts[0])
	y, _ := strconv.Atoi(strings.TrimRight(parts[1], "-abcdefghijklmnopqrstuvwxyz+"))
	return x > major || x == major && y >= minor
}
