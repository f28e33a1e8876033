package main

import (
	"log/slog"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory makes the garbage collector prefer memory to time, of which a bot
// that waits for models has plenty, and tells it of the cgroup's limit, so that
// it works harder before the bot is killed. GOGC and GOMEMLIMIT in the
// environment win.
func limitMemory(log *slog.Logger) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return // not Linux
	}
	limit := cgroupLimit("/sys/fs/cgroup", string(own))
	if limit <= 0 {
		return
	}
	// A tenth is left for what the collector doesn't count: SQLite's mappings,
	// stacks, the binary itself.
	soft := limit - limit/10
	debug.SetMemoryLimit(soft)
	log.Debug("memory limit", "cgroup", limit, "soft", soft)
}

// cgroupLimit returns the lowest memory limit of the process's cgroup and those
// above it, 0 if there is none. own is /proc/self/cgroup.
func cgroupLimit(root, own string) int64 {
	lowest := int64(math.MaxInt64)
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		file, base := "memory.max", root
		switch {
		case fields[1] == "memory": // version 1
			file, base = "memory.limit_in_bytes", filepath.Join(root, "memory")
		case fields[0] != "0":
			continue
		}
		for dir := path.Clean("/" + fields[2]); ; dir = path.Dir(dir) {
			if n := readLimit(filepath.Join(base, dir, file)); n > 0 {
				lowest = min(lowest, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	// Version 1 says "no limit" by a number near 2^63.
	if lowest >= math.MaxInt64/2 {
		return 0
	}
	return lowest
}

func readLimit(file string) int64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0 // "max"
	}
	return n
}
