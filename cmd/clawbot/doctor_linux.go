package main

import (
	"golang.org/x/sys/unix"
)

// networkMagic are the file systems of other machines, by statfs(2)'s f_type.
var networkMagic = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.SMB2_SUPER_MAGIC: "SMB",
	0xff534d42:            "CIFS",
	0x00c36400:            "CephFS",
}

func volumeOf(dir string) (volume, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return volume{}, err
	}
	return volume{free: int64(s.Bavail) * s.Bsize, network: networkMagic[int64(uint32(s.Type))]}, nil
}

// unsynchronised reports that the kernel knows of no clock that its own follows.
func unsynchronised() bool {
	var t unix.Timex
	_, err := unix.Adjtimex(&t)
	return err == nil && t.Status&unix.STA_UNSYNC != 0
}
