package command

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// wrappers run the program that their arguments name, so that to allow one is
// to allow everything.
var wrappers = words(`sh bash dash ash zsh ksh mksh fish csh tcsh rbash busybox toybox env nice nohup timeout time gtime stdbuf
	setsid xargs parallel sudo doas su runuser chroot unshare nsenter command exec eval source . builtin trap coproc watch script
	expect ssh scp sftp flock strace ltrace gdb lldb valgrind ionice chrt taskset setarch linux32 linux64 i386 x86_64 prlimit
	systemd-run at batch crontab start-stop-daemon run-parts dbus-run-session dbus-launch xvfb-run firejail bwrap docker podman
	kubectl setpriv capsh choom numactl unbuffer socat nc ncat netcat pkexec machinectl faketime fakeroot proot rlwrap catchsegv
	ld.so ld-linux.so ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 entr inotifywait start sg newgrp login init tini dumb-init
	vi vim view ex ed nvim nano emacs less more most man info pico screen tmux mc ftp telnet mail mailx hg sl jj bzr fossil`)

// steady programs do the same thing every time they are called the same way:
// none reads a file that tells it what to run. Only they are allowed for good,
// for what else there is nobody can list.
var steady = words(`ls cat head tail wc grep egrep fgrep find sort uniq cut tr nl tac rev seq echo printf pwd date stat file du df
	basename dirname realpath readlink diff cmp comm join paste fold fmt pr expand unexpand column od xxd hexdump strings md5sum
	sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base32 base64 true false test expr factor shuf numfmt tsort
	mkdir rmdir touch cp mv rm ln chmod truncate mktemp sync tee dd
	id whoami groups uname hostname arch nproc uptime free ps pgrep kill sleep cal tree gzip gunzip zcat bzip2 bunzip2 xz unxz zstd`)

// words makes a set of the names.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		set[name] = true
	}
	return set
}

// version is what a program's name may end in: python3, perl5.36, lua5.4.
var version = regexp.MustCompile(`[-.]?[0-9][0-9.]*$`)

func in(set map[string]bool, program string) bool {
	name := path.Base(program)
	return set[name] || set[version.ReplaceAllString(name, "")]
}

func wraps(program string) bool { return in(wrappers, program) }

// changes reports whether the program may do something else the next time,
// although it is called the same way.
func changes(program string) bool { return !steady[program] }

// options that make a program run another, or write, where it is expected to
// look only. Long ones count in every abbreviation.
var options = map[string][]string{
	"find":  {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"},
	"sort":  {"--compress-program", "--output", "-o"},
	"tar":   {"--checkpoint-action", "--to-command", "--use-compress-program", "-I", "--rsh-command", "--rmt-command", "--info-script", "--new-volume-script", "-F"},
	"rg":    {"--pre", "--hostname-bin", "--search-zip", "-z"},
	"fd":    {"--exec", "--exec-batch", "-x", "-X"},
	"split": {"--filter"}, "sdiff": {"--diff-program", "-o", "--output"}, "diff3": {"--diff-program"},
	"diff": {"--paginate", "-l"}, "ag": {"--pager"}, "ack": {"--pager", "--ackrc"}, "bat": {"--pager"}, "batcat": {"--pager"},
	"svn": {"--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config-option", "--config-dir"}, "openssl": {"-engine", "-provider", "-provider-path", "-config"},
	"nm": {"--plugin"}, "ar": {"--plugin"}, "ranlib": {"--plugin"}, "gpg": {"--exec-path", "--options", "--homedir", "--agent-program", "--photo-viewer"},
	"zip": {"--unzip-command", "-T"}, "rsync": {"--rsh", "--rsync-path", "-e"}, "cpio": {"--rsh-command"},
	"wget": {"--use-askpass", "--execute", "-e"}, "tree": {"-o", "-R"}, "install": {"--strip-program"},
	"tcpdump": {"-z", "-w"}, "file": {"--compile", "-C", "--uncompress", "-z", "-Z"}, "date": {"--set", "-s"}, "curl": {"--config", "-K"},
}

// guarded says why a person must look at the command although its program may
// be allowed; nothing if none need.
func guarded(words []string) string {
	name := path.Base(words[0])
	switch {
	case wraps(name):
		return fmt.Sprintf("%s runs other programs", name)
	case strings.Contains(words[0], "/") && !inPath(words[0]):
		return fmt.Sprintf("%s is not one of the system's programs", words[0])
	}
	switch version.ReplaceAllString(name, "") {
	case "git":
		return guardedGit(words)
	case "sed":
		return guardedSed(words)
	case "awk", "gawk", "mawk", "nawk":
		return guardedAwk(words)
	case "uniq", "xxd":
		if operands(words[1:]) > 1 {
			return name + " writes its second file"
		}
	case "tar":
		if why := guardedTar(words[1:]); why != "" {
			return why
		}
	case "fdfind":
		name = "fd"
	case "gsort", "gfind", "gdiff":
		name = name[1:]
	case "gtar", "bsdtar":
		name = "tar"
		if why := guardedTar(words[1:]); why != "" {
			return why
		}
	}
	for _, word := range words[1:] {
		for _, option := range options[name] {
			if isOption(word, option) {
				return fmt.Sprintf("%s %s runs programs or writes files", name, option)
			}
		}
	}
	return ""
}

// isOption reports whether the word is, or may be read as, the option.
func isOption(word, option string) bool {
	switch {
	case strings.HasPrefix(option, "--"):
		given, _, _ := strings.Cut(word, "=")
		return len(given) > 2 && strings.HasPrefix(given, "--") && strings.HasPrefix(option, given)
	case len(option) == 2: // a letter, perhaps among others
		return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.IndexByte(word, option[1]) > 0
	default:
		return word == option
	}
}

func operands(args []string) int {
	return len(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return len(a) > 1 && a[0] == '-' }))
}

var gitOptions = []string{"--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--exec", "--upload-pack", "--receive-pack",
	"--config", "--git-dir", "--work-tree", "--exec-path", "--super-prefix", "--template", "--separate-git-dir", "--paginate", "--edit", "--gpg-sign", "--show-signature"}

// guardedGit lets pass only commands whose first word is what git is to do.
func guardedGit(words []string) string {
	if len(words) < 2 || strings.HasPrefix(words[1], "-") {
		return "git with options before its command can run other programs"
	}
	if !gitBuiltins[words[1]] {
		return fmt.Sprintf("git %s may be an alias for anything", words[1])
	}
	for _, word := range words[2:] {
		for _, option := range gitOptions {
			if isOption(word, option) {
				return fmt.Sprintf("git %s can run other programs or write files", option)
			}
		}
		if word == "-c" || words[1] == "grep" && isOption(word, "-O") {
			return "git " + word + " can run other programs"
		}
	}
	return ""
}

// gitBuiltins are git's own commands that start nothing by design.
var gitBuiltins = words(`add blame branch cat-file checkout cherry commit count-objects describe diff diff-files diff-index diff-tree
	for-each-ref grep init log ls-files ls-tree merge-base mv name-rev reset restore rev-list rev-parse rm shortlog show
	show-branch show-ref stash status switch symbolic-ref tag var whatchanged`)

// guardedTar refuses an archive on another machine, which tar reaches by a
// program, in every way to name one.
func guardedTar(args []string) string {
	for _, word := range args {
		if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "--") {
			word = value
		}
		if host, _, ok := strings.Cut(word, ":"); ok && !strings.Contains(host, "/") {
			return "tar reaches other machines for names with a colon"
		}
	}
	return ""
}

// guardedSed lets pass scripts that run in sed's own sandbox, which [Build]
// switches on.
func guardedSed(words []string) string {
	for _, word := range words[1:] {
		for _, option := range []string{"--in-place", "--file", "-i", "-f"} {
			if isOption(word, option) && !strings.HasPrefix(word, "-e") {
				return "sed " + option + " writes files, or runs what a file says"
			}
		}
	}
	return ""
}

// awkOptions read programs or write files. -W takes any long one as its word.
var awkOptions = []string{"--file", "--exec", "--include", "--load", "--source", "--debug", "--dump-variables", "--pretty-print", "--profile",
	"-f", "-E", "-i", "-l", "-W", "-D", "-d", "-o", "-p"}

var awkActs = regexp.MustCompile(`system|getline|[|>]|@|ENVIRON|printf?\s.*>`)

func guardedAwk(words []string) string {
	for _, word := range words[1:] {
		for _, option := range awkOptions {
			if isOption(word, option) && !strings.HasPrefix(word, "-F") && !strings.HasPrefix(word, "-v") {
				return "awk " + option + " runs what a file says, or writes one"
			}
		}
		if awkActs.MatchString(word) {
			return "this awk program can run other programs or write files"
		}
	}
	return ""
}
