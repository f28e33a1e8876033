package builtin

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed write_file.md
var writeFileProse string

func writeFile(locks *pathLocks) tools.Tool {
	return tools.Tool{
		Descriptor: describe("write_file", "Write file", writeFileProse, `{
			"type": "object",
			"properties": {
				"path":    {"type": "string", "minLength": 1, "description": "File relative to the workspace"},
				"content": {"type": "string", "description": "The whole new content"}
			},
			"required": ["path", "content"]
		}`),
		Mode:       agentcore.Sequential,
		Idempotent: true,
		Telling:    telling("path"),
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			return runWriteFile(ctx, locks, call)
		},
	}
}

func runWriteFile(ctx context.Context, locks *pathLocks, call agentcore.Call) (agentcore.Result, error) {
	args, err := arguments[struct{ Path, Content string }](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	root, name, unlock, err := locked(ctx, locks, args.Path)
	if err != nil {
		return agentcore.Result{}, err
	}
	defer unlock()
	created, err := replaceFile(root, name, []byte(args.Content))
	if err != nil {
		return agentcore.Result{}, explain(name, err)
	}
	verb := "Replaced"
	if created {
		verb = "Created"
	}
	return agentcore.TextResult(fmt.Sprintf("%s %s (%d bytes).", verb, name, len(args.Content))), nil
}

// replaceFile writes data under a temporary name in the same directory and
// moves it into place, so that nobody sees half a file. It keeps the mode of a
// file that is there, and refuses to replace what is not a regular file.
func replaceFile(root *os.Root, name string, data []byte) (created bool, err error) {
	mode := fs.FileMode(0o644)
	// A link is followed, so that the file it names is replaced and not the link.
	target, err := resolveLink(root, name)
	if err != nil {
		return false, err
	}
	switch info, err := root.Lstat(target); {
	case errors.Is(err, fs.ErrNotExist):
		created = true
		if err := root.MkdirAll(path.Dir(target), 0o755); err != nil {
			return false, err
		}
	case err != nil:
		return false, err
	default:
		if err := checkRegular(name, info); err != nil {
			return false, err
		}
		mode = info.Mode().Perm()
	}
	// Not of the target's name, which may be as long as a name can be.
	temporary := path.Join(path.Dir(target), "."+rand.Text()[:16]+".tmp")
	if err := root.WriteFile(temporary, data, mode); err != nil {
		_ = root.Remove(temporary) // the error that matters is the write's
		return false, err
	}
	if err := root.Rename(temporary, target); err != nil {
		_ = root.Remove(temporary)
		return false, err
	}
	return created, nil
}

// resolveLink follows symbolic links by name, at most as many as the system
// would. Whether the end lies inside the workspace is for os.Root to say.
func resolveLink(root *os.Root, name string) (string, error) {
	for range 40 {
		info, err := root.Lstat(name)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return name, nil // a missing file is for the caller to judge
		}
		to, err := root.Readlink(name)
		if err != nil {
			return "", err
		}
		if path.IsAbs(to) {
			return "", outside(name)
		}
		name = path.Join(path.Dir(name), to)
	}
	return "", fmt.Errorf("%s: too many links", name)
}
