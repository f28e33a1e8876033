package sandbox

import (
	"bytes"
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"
)

// Numbers of system calls that are newer than the library's tables; they are
// the same on every architecture.
const (
	sysFchmodat2     = 452
	sysSetxattrat    = 463
	sysRemovexattrat = 466
)

// forbidden system calls reach around namespaces or into the kernel's less
// tried corners, and no command needs them.
var forbidden = []int{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_BPF, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_ACCT,
}

// families are the kinds of sockets a command may open. Others (vsock, packet,
// …) are not part of a network namespace or reach the machine itself.
func familiesOf(network, namespaced bool) []uint32 {
	switch {
	case namespaced:
		return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	case network:
		// Without a namespace a socket file could belong to any daemon.
		return []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	default:
		return nil
	}
}

// architecture is the kernel's name for what this binary is built for, 0 if it
// is not known here.
func architecture() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	case "riscv64":
		return unix.AUDIT_ARCH_RISCV64
	}
	return 0
}

// Offsets in the kernel's struct seccomp_data.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

const namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// seccompFilter is a program for the kernel that refuses the forbidden calls,
// the extra ones, new namespaces and sockets of other families. What is not
// refused is allowed: the namespaces or Landlock are the first line.
func seccompFilter(families []uint32, extra []int) []byte {
	var program []unix.SockFilter
	add := func(code uint16, jt, jf uint8, k uint32) {
		program = append(program, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
	}
	load := func(offset uint32) { add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }
	ret := func(action uint32) { add(unix.BPF_RET|unix.BPF_K, 0, 0, action) }
	refuse := func(errno unix.Errno) { ret(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
	equal := func(k uint32, jt, jf uint8) { add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, jt, jf, k) }

	load(offsetArch)
	equal(architecture(), 1, 0)
	ret(unix.SECCOMP_RET_KILL_PROCESS)
	load(offsetNumber)
	if runtime.GOARCH == "amd64" { // the x32 calls are the same ones under other numbers
		add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 0, 1, 0x40000000)
		refuse(unix.EPERM)
	}
	for _, list := range [][]int{forbidden, extra} {
		for _, number := range list {
			equal(uint32(number), 0, 1)
			refuse(unix.EPERM)
		}
	}
	// Its flags are in memory, where they can't be checked; callers fall back
	// to clone.
	equal(unix.SYS_CLONE3, 0, 1)
	refuse(unix.ENOSYS)

	equal(unix.SYS_CLONE, 0, 4)
	load(offsetArgs)
	add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, 0, 1, namespaceFlags)
	refuse(unix.EPERM)
	ret(unix.SECCOMP_RET_ALLOW)

	if extra != nil {
		// Times of an open file may be set (no path), those of a path not.
		equal(unix.SYS_UTIMENSAT, 0, 6)
		load(offsetArgs + 8)
		equal(0, 0, 2)
		load(offsetArgs + 12)
		equal(0, 1, 0)
		refuse(unix.EPERM)
		ret(unix.SECCOMP_RET_ALLOW)
		load(offsetNumber)
	}

	equal(unix.SYS_SOCKET, 0, uint8(2*len(families)+2))
	load(offsetArgs)
	for _, family := range families {
		equal(family, 0, 1)
		ret(unix.SECCOMP_RET_ALLOW)
	}
	refuse(unix.EAFNOSUPPORT)
	ret(unix.SECCOMP_RET_ALLOW)

	var out bytes.Buffer
	_ = binary.Write(&out, binary.NativeEndian, program) // a buffer takes all
	return out.Bytes()
}
