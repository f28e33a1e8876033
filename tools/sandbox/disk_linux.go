package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// disk is a file system that a command writes to, with what was free on it when
// the command began.
type disk struct {
	path string
	free int64
}

// tolerated is what a command may write to a disk that was full before it, in
// bytes.
const tolerated = 64 << 20

// disks are where the command can write.
func disks(paths ...string) []disk {
	var list []disk
	for _, path := range paths {
		if free, ok := freeOn(path); path != "" && ok {
			list = append(list, disk{path, free})
		}
	}
	return list
}

func freeOn(path string) (bytes int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}

// filled says whether the command has used up what the machine needs. Many
// files can do what the limit of one does not let it do. A disk that was as full
// before is not the command's fault until it has taken more.
func (p *Process) filled() string { return filled(p.disks, p.limits.DiskFree, freeOn) }

func filled(disks []disk, least int64, freeOn func(path string) (int64, bool)) string {
	for _, d := range disks {
		free, ok := freeOn(d.path)
		if ok && free < least && d.free-free > tolerated {
			return fmt.Sprintf("it left less than %d MB free on the disk", least>>20)
		}
	}
	return ""
}
