package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// LockedError says that another process has the database open.
type LockedError struct {
	Path string
	PID  int // 0 if unknown
}

// Error names the process and says what to do.
func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is in use by %s: stop that clawbot first, or set store.path to another file", e.Path, who)
}

// errTaken is what tryLock returns when another has the lock.
var errTaken = errors.New("the lock is taken")

// lock takes the OS lock on the database. The file stays when it is released:
// removing it would let two processes lock two files of one name.
func lock(path string) (*os.File, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: clawbot must be able to write the database's folder: change its owner or mode, or set store.path", err)
	}
	if err := tryLock(f); err != nil {
		defer f.Close()
		if errors.Is(err, errTaken) {
			return nil, &LockedError{Path: path, PID: readPID(f)}
		}
		return nil, fmt.Errorf("lock %s: %w: the file system must support locks, so keep the database on a local disk", name, err)
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readPID(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
