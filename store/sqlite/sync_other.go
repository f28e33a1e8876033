//go:build !linux

package sqlite

import "os"

// barrier returns when what was written to f is on the disk.
func barrier(f *os.File) error { return f.Sync() }
