package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
