package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed list_dir.md
var listDirProse string

// maxEntries bounds what one listing shows.
const maxEntries = 1000

func listDir() tools.Tool {
	return tools.Tool{
		Descriptor: describe("list_dir", "List directory", listDirProse, `{
			"type": "object",
			"properties": {"path": {"type": "string", "description": "Directory relative to the workspace"}}
		}`),
		Idempotent: true,
		Telling:    telling("path"),
		Execute:    runListDir,
	}
}

func runListDir(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
	args, err := arguments[struct{ Path string }](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	root, name, err := located(ctx, args.Path)
	if err != nil {
		return agentcore.Result{}, err
	}
	entries, err := readDir(root, name)
	if err != nil {
		return agentcore.Result{}, err
	}
	return agentcore.TextResult(formatEntries(entries)), nil
}

func readDir(root *os.Root, name string) ([]fs.DirEntry, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, explain(name, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: use read_file", name)
	}
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, explain(name, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func formatEntries(entries []fs.DirEntry) string {
	if len(entries) == 0 {
		return "(empty directory)"
	}
	var out strings.Builder
	for i, entry := range entries {
		if i == maxEntries {
			fmt.Fprintf(&out, "... and %d more\n", len(entries)-maxEntries)
			break
		}
		name := shownName(entry.Name())
		switch {
		case entry.IsDir():
			fmt.Fprintf(&out, "%s/\n", name)
		case entry.Type()&fs.ModeSymlink != 0:
			fmt.Fprintf(&out, "%s@\n", name)
		default:
			size := int64(0)
			if info, err := entry.Info(); err == nil {
				size = info.Size()
			}
			fmt.Fprintf(&out, "%s  %d\n", name, size)
		}
	}
	return out.String()
}
