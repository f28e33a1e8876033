package main

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// releaseText gives back the pages of the program's own file that starting up
// needed and running does not. They are clean: the kernel reads the file's copy
// in its cache again as soon as one is touched, sixteen at a time. What was
// written to since it was mapped, as relocations are, stays.
func releaseText() {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range cleanMappings(maps, own) {
		// A refusal costs memory, nothing else.
		_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// cleanMappings returns the mappings of file in smaps that can't be written and
// have no page of their own.
func cleanMappings(smaps []byte, file string) (clean []mapping) {
	var m mapping
	lines := bufio.NewScanner(bytes.NewReader(smaps))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if from, to, ok := strings.Cut(fields[0], "-"); ok {
			m = mapping{}
			low, err1 := strconv.ParseUint(from, 16, 64)
			high, err2 := strconv.ParseUint(to, 16, 64)
			if err1 == nil && err2 == nil && len(fields[1]) == 4 && fields[1][1] == '-' && strings.HasSuffix(lines.Text(), " "+file) {
				m = mapping{uintptr(low), uintptr(high)}
			}
			continue
		}
		if fields[0] == "Anonymous:" && fields[1] == "0" && m.to > m.from {
			clean = append(clean, m)
		}
	}
	return clean
}
