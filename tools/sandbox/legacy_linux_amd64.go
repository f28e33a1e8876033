package sandbox

import "golang.org/x/sys/unix"

// legacyByPath are the calls of [byPath] that newer architectures don't have.
var legacyByPath = []int{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
