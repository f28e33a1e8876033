package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed apply_patch.md
var applyPatchProse string

func applyPatch(locks *pathLocks) tools.Tool {
	return tools.Tool{
		Descriptor: describe("apply_patch", "Apply patch", applyPatchProse, `{
			"type": "object",
			"properties": {"patch": {"type": "string", "minLength": 1, "description": "A unified diff"}},
			"required": ["patch"]
		}`),
		Mode: agentcore.Sequential,
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			return runApplyPatch(ctx, locks, call)
		},
	}
}

// change is what a patch does to one file. From and to are equal unless it is
// renamed; from is empty for a new file, to for one that is deleted.
type change struct {
	from, to string
	content  string
	mode     fs.FileMode
	report   string
}

func runApplyPatch(ctx context.Context, locks *pathLocks, call agentcore.Call) (agentcore.Result, error) {
	args, err := arguments[struct{ Patch string }](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	root, dir, err := workspace(ctx)
	if err != nil {
		return agentcore.Result{}, err
	}
	patches, err := parsePatch(args.Patch)
	if err != nil {
		return agentcore.Result{}, err
	}
	unlock, err := lockAll(ctx, locks, patches, dir)
	if err != nil {
		return agentcore.Result{}, err
	}
	defer unlock()
	var changes []change
	for i := range patches {
		c, err := patches[i].plan(root, dir)
		if err != nil {
			return agentcore.Result{}, fmt.Errorf("nothing was changed: %w", err)
		}
		changes = append(changes, c)
	}
	var report strings.Builder
	for i, c := range changes {
		if err := c.make(root); err != nil {
			done := "nothing was changed"
			if i > 0 {
				done = "the files before it are changed: " + strings.TrimSpace(report.String())
			}
			return agentcore.Result{}, fmt.Errorf("%w; %s", explain(c.name(), err), done)
		}
		fmt.Fprintln(&report, c.report)
	}
	return agentcore.TextResult(strings.TrimSpace(report.String())), nil
}

// lockAll locks the files in one order, so that two patches never wait for each
// other.
func lockAll(ctx context.Context, locks *pathLocks, patches []filePatch, dir string) (unlock func(), err error) {
	var names []string
	for _, p := range patches {
		for _, name := range []string{p.from, p.to} {
			if name == "" {
				continue
			}
			clean, err := clean(name, dir)
			if err != nil {
				return nil, err
			}
			names = append(names, path.Join(dir, clean))
		}
	}
	slices.Sort(names)
	var held []func()
	unlock = func() {
		for _, u := range held {
			u()
		}
	}
	for _, name := range slices.Compact(names) {
		u, err := locks.lock(ctx, name)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, u)
	}
	return unlock, nil
}

// plan finds out what the patch makes of its file, without touching it.
func (p *filePatch) plan(root *os.Root, dir string) (change, error) {
	c := change{mode: 0o644}
	var err error
	for _, n := range []struct {
		name string
		to   *string
	}{{p.from, &c.from}, {p.to, &c.to}} {
		if n.name == "" {
			continue
		}
		if *n.to, err = clean(n.name, dir); err != nil {
			return c, err
		}
	}
	text := ""
	if c.from != "" {
		var info fs.FileInfo
		if text, info, err = readText(root, c.from); err != nil {
			return c, err
		}
		c.mode = info.Mode().Perm()
	}
	if c.to != "" && c.to != c.from {
		if _, err := root.Lstat(c.to); !errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("%s exists already: patch it, or delete it first", c.to)
		}
	}
	var where string
	if c.content, where, err = p.apply(c.name(), text); err != nil {
		return c, err
	}
	switch {
	case c.from == "":
		c.report = fmt.Sprintf("Created %s.", c.to)
	case c.to == "":
		if c.content != "" {
			return c, fmt.Errorf("%s: the patch deletes the file but not all of its lines", c.from)
		}
		c.report = fmt.Sprintf("Deleted %s.", c.from)
	case c.from != c.to:
		c.report = fmt.Sprintf("Renamed %s to %s%s.", c.from, c.to, where)
	default:
		c.report = fmt.Sprintf("Patched %s%s.", c.to, where)
	}
	return c, nil
}

func (c *change) name() string {
	if c.to != "" {
		return c.to
	}
	return c.from
}

func (c *change) make(root *os.Root) error {
	if c.to != "" {
		if _, err := replaceFile(root, c.to, []byte(c.content)); err != nil {
			return err
		}
		if c.from != c.to && c.from != "" {
			if err := root.Chmod(c.to, c.mode); err != nil {
				return err
			}
		}
	}
	if c.from != "" && c.from != c.to {
		return root.Remove(c.from)
	}
	return nil
}
