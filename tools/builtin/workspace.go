package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"clawbot/tools"
)

// workspace returns the root that the call may touch and its absolute path.
func workspace(ctx context.Context) (*os.Root, string, error) {
	scope := tools.ScopeOf(ctx)
	if scope.Workspace == nil {
		return nil, "", tools.ErrNoWorkspace
	}
	return scope.Workspace, scope.Dir, nil
}

// clean turns what a model wrote as a path into one relative to the workspace.
// An absolute path is taken if it lies inside it.
func clean(name, dir string) (string, error) {
	switch {
	case name == "":
		return ".", nil
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return "", fmt.Errorf("path %q is not valid text", name)
	}
	if path.IsAbs(name) {
		inside, err := filepath.Rel(dir, name)
		if err != nil || dir == "" {
			return "", outside(name)
		}
		name = inside
	}
	name = path.Clean(name)
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", outside(name)
	}
	return name, nil
}

// located is the file or directory that a call names, relative to the workspace.
func located(ctx context.Context, path string) (root *os.Root, name string, err error) {
	root, dir, err := workspace(ctx)
	if err == nil {
		name, err = clean(path, dir)
	}
	return root, name, err
}

// locked is the file that a call names, once no other call works on it. The
// caller unlocks.
func locked(ctx context.Context, locks *pathLocks, file string) (root *os.Root, name string, unlock func(), err error) {
	if root, name, err = located(ctx, file); err != nil {
		return nil, "", nil, err
	}
	unlock, err = locks.lock(ctx, path.Join(tools.ScopeOf(ctx).Dir, name))
	return root, name, unlock, err
}

// maxEditable bounds the files that are changed in memory.
const maxEditable = 10 << 20

// readText reads a text file that is to be changed.
func readText(root *os.Root, name string) (string, fs.FileInfo, error) {
	f, info, err := openRegular(root, name)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, min(info.Size(), maxEditable)+1))
	switch {
	case err != nil:
		return "", nil, explain(name, err)
	case info.Size() > maxEditable || len(data) > maxEditable:
		return "", nil, fmt.Errorf("%s has %d bytes: only files up to %d can be changed", name, info.Size(), maxEditable)
	case isBinary(data[:min(len(data), sniffBytes)]) || bytes.IndexByte(data, 0) >= 0:
		return "", nil, fmt.Errorf("%s is a binary file: it can't be changed as text", name)
	}
	return string(data), info, nil
}

// shownName is a file's name as the model reads it: one with characters that
// could read as something else is quoted, in the form of a JSON string.
func shownName(name string) string {
	if !strings.ContainsFunc(name, isControl) && utf8.ValidString(name) {
		return name
	}
	return strconv.Quote(name)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }

func outside(name string) error {
	return fmt.Errorf("%s is outside of the workspace: use a path inside it, relative to its root", name)
}

// openRegular opens a regular file for reading. Opening never blocks on a FIFO
// and never follows a way out of the workspace; a file with several hard links
// is refused because one of its names may lie outside.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, explain(name, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(name, info)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, err
	}
	return f, info, nil
}

func checkRegular(name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a directory: use list_dir", name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", name)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return fmt.Errorf("%s has several hard links and may lie outside of the workspace: refused", name)
	}
	return nil
}

// explain turns a file system error into a sentence for the model, without
// paths of the machine.
func explain(name string, err error) error {
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist: list_dir shows what is there", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", name)
	case errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("%s: too many links", name)
	case errors.As(err, &pathErr):
		if strings.Contains(pathErr.Err.Error(), "escapes") {
			return outside(name)
		}
		return fmt.Errorf("%s: %w", name, pathErr.Err)
	default:
		return err // already a sentence
	}
}
