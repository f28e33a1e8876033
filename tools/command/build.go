package command

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"clawbot/tools/sandbox"
)

// Plan is a line made ready to run: argument vectors, with programs and the
// directory found and pinned.
type Plan struct {
	Pipelines []sandbox.Pipeline
	// Dir is the absolute path of the directory, DirIs what it was.
	Dir   string
	DirIs fs.FileInfo
	Env   []string
	// Binding is the same for two plans only if they run the same programs
	// (by path, device and inode) with the same arguments in the same
	// directory.
	Binding string
	// Rule is like Binding, but survives an update of the programs: what a
	// person allows for good.
	Rule string
	// Doubt says why a person must look at it although its words are harmless:
	// what it would read names programs to run.
	Doubt string
}

// ErrNotFound is wrapped by the error for a program that isn't there.
var ErrNotFound = errors.New("not found")

// builtins of a shell that are no programs.
var shellOnly = words(`cd . source export unset set alias unalias eval exec exit return shift trap umask ulimit wait jobs fg bg
	read type hash command builtin local declare typeset readonly let pushd popd dirs history getopts times break continue`)

// maxGlob bounds how many words a pattern may become.
const maxGlob = 4000

// Build finds what the line names, in the workspace whose root and absolute
// path are given. cwd is relative to it. An opaque line becomes a plan for
// /bin/sh.
func Build(line *Line, root *os.Root, workspace, cwd string) (*Plan, error) {
	dir, err := directory(root, workspace, cwd, line.Dir)
	if err != nil {
		return nil, err
	}
	p := &Plan{Dir: path.Join(workspace, dir)}
	if p.DirIs, err = root.Lstat(dir); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	b := builder{root: root, workspace: workspace, dir: dir, plan: p}
	b.bind.Dir = identity(p.Dir, p.DirIs)
	if line.Opaque != "" {
		err = b.shell(line.Text)
	} else {
		err = b.pipelines(line)
	}
	if err != nil {
		return nil, err
	}
	p.Binding, p.Rule = b.hashes()
	return p, nil
}

// directory returns the directory to run in, relative to the workspace, without
// links in it.
func directory(root *os.Root, workspace, cwd, cd string) (string, error) {
	dir := "."
	for _, step := range []string{cwd, cd} {
		if step == "" {
			continue
		}
		if path.IsAbs(step) {
			inside, err := filepath.Rel(workspace, step)
			if err != nil || !filepath.IsLocal(inside) {
				return "", fmt.Errorf("%s is outside of the workspace: commands run inside it", step)
			}
			dir = inside
			continue
		}
		dir = path.Join(dir, step)
	}
	if dir != "." && !filepath.IsLocal(dir) {
		return "", fmt.Errorf("%s is outside of the workspace: commands run inside it", dir)
	}
	for d := dir; d != "."; d = path.Dir(d) {
		info, err := root.Lstat(d)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("the directory %s does not exist: list_dir shows what is there", dir)
		case err != nil:
			return "", fmt.Errorf("%s: %w", dir, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return "", fmt.Errorf("%s is a link: name the directory itself", d)
		case !info.IsDir():
			return "", fmt.Errorf("%s is no directory", d)
		}
	}
	return dir, nil
}

type builder struct {
	root           *os.Root
	workspace, dir string
	plan           *Plan
	bind           binding
}

// binding is what is hashed.
type binding struct {
	Dir       string     `json:"dir"`
	Programs  []string   `json:"programs"`
	Pipelines []Pipeline `json:"pipelines,omitempty"`
	Shell     string     `json:"shell,omitempty"`
}

func (b *builder) hashes() (exact, rule string) {
	hash := func() string {
		data, _ := json.Marshal(b.bind) // texts and numbers always encode
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	}
	exact = hash()
	b.bind.Dir = b.plan.Dir
	for i, p := range b.bind.Programs {
		b.bind.Programs[i], _, _ = strings.Cut(p, "\x00")
	}
	return exact, hash()
}

func identity(file string, info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%s\x00%d:%d", file, st.Dev, st.Ino)
	}
	return file
}

// shell makes a plan that lets /bin/sh read the text.
func (b *builder) shell(text string) error {
	if strings.ContainsRune(text, 0) {
		return errors.New("the command holds a NUL byte, which no program can be given")
	}
	program, err := b.find("sh")
	if err != nil {
		return err
	}
	b.bind.Shell = text
	b.plan.Pipelines = []sandbox.Pipeline{{Stages: []sandbox.Stage{{Path: program, Args: []string{"-c", text}}}}}
	return nil
}

func (b *builder) pipelines(line *Line) error {
	for _, p := range line.Pipelines {
		out := sandbox.Pipeline{When: p.When, Negate: p.Negate}
		bound := Pipeline{When: p.When, Negate: p.Negate}
		for _, c := range p.Commands {
			args, err := b.expand(c)
			if err != nil {
				return err
			}
			program, err := b.find(args[0])
			if err != nil {
				return err
			}
			out.Stages = append(out.Stages, sandbox.Stage{Path: program, Args: b.harden(path.Base(program), args[1:])})
			bound.Commands = append(bound.Commands, Words{Words: args})
		}
		b.bind.Pipelines = append(b.bind.Pipelines, bound)
		b.plan.Pipelines = append(b.plan.Pipelines, out)
	}
	return nil
}

// Expand replaces the line's patterns by the names of the files they match in
// the workspace, so that what is judged is what runs. A pattern that matches
// nothing stays as it is, without its backslashes.
func (l *Line) Expand(root *os.Root, workspace, cwd string) error {
	dir, err := directory(root, workspace, cwd, l.Dir)
	if err != nil {
		return err
	}
	b := builder{root: root, workspace: workspace, dir: dir}
	for i := range l.Pipelines {
		for j, c := range l.Pipelines[i].Commands {
			args, err := b.expand(c)
			if err != nil {
				return err
			}
			l.Pipelines[i].Commands[j] = Words{Words: args}
		}
	}
	return nil
}

func (b *builder) expand(c Words) ([]string, error) {
	if len(c.Globs) == 0 {
		return c.Words, nil
	}
	var out []string
	for i, word := range c.Words {
		if !c.Globs[i] {
			out = append(out, word)
			continue
		}
		names, err := b.glob(word)
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
	}
	if len(out) > maxGlob {
		return nil, fmt.Errorf("the patterns match more than %d files: be more specific", maxGlob)
	}
	return out, nil
}

func (b *builder) glob(pattern string) ([]string, error) {
	clean := path.Clean(pattern)
	literal := strings.NewReplacer(`\\`, `\`, `\`, "").Replace(pattern)
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return []string{literal}, nil // the program will say that it isn't there
	}
	names, err := fs.Glob(b.root.FS(), path.Join(b.dir, clean))
	if err != nil {
		return nil, fmt.Errorf("the pattern %s: %w", pattern, err)
	}
	hidden := strings.HasPrefix(path.Base(clean), ".")
	names = slices.DeleteFunc(names, func(name string) bool { return !hidden && strings.HasPrefix(path.Base(name), ".") })
	if len(names) == 0 {
		return []string{literal}, nil
	}
	prefix := ""
	if strings.HasPrefix(pattern, "./") {
		prefix = "./"
	}
	for i, name := range names {
		if relative, err := filepath.Rel(b.dir, name); err == nil {
			names[i] = prefix + relative
		}
	}
	slices.Sort(names)
	return names, nil
}

// inPath reports whether the file is named in one of the directories in which
// programs are looked for.
func inPath(file string) bool {
	return path.IsAbs(file) && path.Clean(file) == file && slices.Contains(strings.Split(sandbox.Path, ":"), path.Dir(file))
}

// find returns the absolute path of a program: by the fixed path if it is a
// name, in the workspace if it is a path.
func (b *builder) find(name string) (string, error) {
	if !strings.Contains(name, "/") {
		for dir := range strings.SplitSeq(sandbox.Path, ":") {
			file := path.Join(dir, name)
			if info, err := os.Stat(file); err == nil && runnable(info) {
				b.bind.Programs = append(b.bind.Programs, identity(file, info))
				return file, nil
			}
		}
		if shellOnly[name] {
			return "", fmt.Errorf("%s is no program but a part of a shell: write the line so that it needs none, or begin it with `cd DIR &&`", name)
		}
		return "", fmt.Errorf("%s: %w; it is not installed in %s", name, ErrNotFound, sandbox.Path)
	}
	if inPath(name) {
		info, err := os.Stat(name)
		if err != nil || !runnable(info) {
			return "", fmt.Errorf("%s: %w", name, ErrNotFound)
		}
		b.bind.Programs = append(b.bind.Programs, identity(name, info))
		return name, nil
	}
	var inside string
	if path.IsAbs(name) {
		relative, err := filepath.Rel(b.workspace, name)
		if err != nil || !filepath.IsLocal(relative) {
			return "", fmt.Errorf("%s is neither a program of the system nor in the workspace", name)
		}
		inside = relative
	} else if inside = path.Join(b.dir, name); !filepath.IsLocal(inside) {
		return "", fmt.Errorf("%s is outside of the workspace", name)
	}
	info, err := b.root.Stat(inside)
	if err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: %w in the workspace", name, ErrNotFound)
	}
	if !runnable(info) {
		return "", fmt.Errorf("%s is not executable: run it with its interpreter", name)
	}
	file := path.Join(b.workspace, inside)
	b.bind.Programs = append(b.bind.Programs, identity(file, info))
	return file, nil
}

func runnable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }
