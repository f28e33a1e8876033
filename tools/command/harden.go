package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// harden gives a program the arguments that keep it from running what the files
// that it reads name.
func (b *builder) harden(program string, args []string) []string {
	switch program {
	case "sed":
		if guardedSed(append([]string{"sed"}, args...)) == "" {
			return append([]string{"--sandbox"}, args...)
		}
	case "git":
		return b.hardenGit(args)
	}
	return args
}

// gitSettings override what a repository's own configuration could make git
// run.
var gitSettings = [][2]string{
	{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.pager", "cat"}, {"core.editor", "false"},
	{"core.sshCommand", "false"}, {"core.askPass", "false"}, {"credential.helper", ""}, {"gpg.program", "false"}, {"gpg.x509.program", "false"}, {"gpg.ssh.program", "false"},
	{"protocol.ext.allow", "never"}, {"safe.bareRepository", "explicit"}, {"safe.directory", "*"},
	{"submodule.recurse", "false"}, {"log.showSignature", "false"}, {"gc.auto", "0"}, {"maintenance.auto", "false"},
}

func gitEnvironment() []string {
	env := []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
		"GIT_OPTIONAL_LOCKS=0", "GIT_ATTR_NOSYSTEM=1", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(gitSettings))}
	for i, s := range gitSettings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}

func (b *builder) hardenGit(args []string) []string {
	if len(b.plan.Env) == 0 {
		b.plan.Env = gitEnvironment()
	}
	if why := b.repository(); why != "" && b.plan.Doubt == "" {
		b.plan.Doubt = why
	}
	if len(args) == 0 {
		return args
	}
	var extra []string
	switch args[0] {
	case "diff", "log", "show", "whatchanged", "diff-files", "diff-index", "diff-tree":
		extra = []string{"--no-ext-diff", "--no-textconv", "--ignore-submodules=all"}
	case "status":
		extra = []string{"--ignore-submodules=all"}
	case "blame", "grep":
		extra = []string{"--no-textconv"}
	}
	return slices.Concat(args[:1], extra, args[1:])
}

// gitHarmless are the settings that a repository may have without a person
// looking at it: section and key, the section's name left out.
var gitHarmless = words(`core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase
	core.precomposeunicode core.symlinks core.autocrlf core.eol core.safecrlf core.quotepath core.abbrev
	remote.url remote.fetch branch.remote branch.merge branch.rebase user.name user.email init.defaultbranch
	color.ui color.diff color.status pull.rebase push.default diff.renames diff.algorithm log.date status.short status.branch`)

// maxSettings bounds a repository's configuration, in bytes.
const maxSettings = 256 << 10

// repository looks at the configuration that git would read here and says why
// it could make git run something.
func (b *builder) repository() string {
	for dir := b.dir; ; dir = path.Dir(dir) {
		info, err := b.root.Lstat(path.Join(dir, ".git"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if dir == "." {
				return ""
			}
			continue
		case err != nil || !info.IsDir():
			return "the repository's .git is not a plain directory"
		}
		if _, err := b.root.Lstat(path.Join(dir, ".git", "commondir")); err == nil {
			return "the repository's configuration lies elsewhere"
		}
		f, err := b.root.OpenFile(path.Join(dir, ".git", "config"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		if err != nil {
			return "the repository's configuration can't be read"
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
			return "the repository's configuration is no small file"
		}
		return unusualSetting(io.LimitReader(f, maxSettings))
	}
}

// unusualSetting returns a sentence about the first setting that is not known to
// be harmless.
func unusualSetting(r io.Reader) string {
	section := ""
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[':
			name, rest, ok := strings.Cut(line[1:], "]")
			if !ok || strings.TrimSpace(rest) != "" {
				return "the repository's configuration can't be judged"
			}
			section, _, _ = strings.Cut(strings.ToLower(name), " ")
			section, _, _ = strings.Cut(section, ".")
			continue
		}
		key, _, _ := strings.Cut(line, "=")
		setting := section + "." + strings.ToLower(strings.TrimSpace(key))
		if !gitHarmless[setting] || strings.HasSuffix(line, `\`) {
			return fmt.Sprintf("the repository's configuration sets %s, which can make git run programs", Escaped(setting))
		}
	}
	if lines.Err() != nil {
		return "the repository's configuration can't be judged"
	}
	return ""
}
