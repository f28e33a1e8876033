package command

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// attackList is the allow list of the attacks below.
var attackList = []string{"ls", "cat", "echo", "grep", "git status", "git log", "git diff", "find", "sort"}

func judge(t *testing.T, p Policy, text string) Judgement {
	t.Helper()
	line, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return p.Judge(line)
}

func TestAttacksAreAskedAboutAndNeverStored(t *testing.T) {
	p := Policy{Allow: attackList}
	for _, text := range []string{
		// line breaks and here documents
		"ls\nid", "ls\r\nid", "cat <<EOF\n$(id)\nEOF", "cat <<'EOF'\nx\nEOF", "cat <<<x",
		// wrappers
		"busybox sh -c id", "/bin/busybox sh", "env id", "env -S 'sh -c id'", "nohup id", "timeout 5 id", "xargs id", "ls | xargs id",
		"sh -c id", "bash -c id", "command ls", "exec ls", "eval ls", ". ./x", "source x", "stdbuf -o0 id", "setsid id", "nice id", "time ls",
		"sudo ls", "watch ls", "ssh host id", "strace ls", "parallel ls", "vim -c '!id'", "less f", "python3.11-x sh", "toybox id",
		// options that run or write
		`find . -exec sh -c id \;`, "find . -execdir id +", "find . -ok id ';'", "find . -delete", "find . -fprintf f x", "find . -fls f", "find . -fprint0 f",
		"sort --compress-prog=sh f", "sort --compress-program sh f", "sort --comp=sh f", "sort -o f f", "sort -uo f f", "sort --out=f f",
		"git -c core.pager='!id' log", "git -c alias.x='!id' x", "git --exec-path=. log", "git -C .. log", "git --git-dir=x log", "git -p log",
		"git diff --output=f", "git diff --outp=f", "git log --ext-diff", "git diff --textconv", "git diff --ext", "git log -c x.y=z --textconv",
		"git x", "git", "git grep -O id x", "git grep --open-files-in-pager=id x", "git clone --upload-pack=id x",
		"tar cf x --checkpoint-action=exec=id f", "tar --to-command=id -xf f", "tar -I id -xf f", "tar --use-comp=id -xf f", "tar -cFid x",
		`awk 'BEGIN{system("id")}'`, `awk 'BEGIN{"id"|getline}'`, `awk '{print > "f"}'`, "awk -f x", `mawk 'BEGIN { print | "id" }'`, "gawk -i inplace x",
		"sed '1e id' f", "sed -i s/a/b/ f", "sed -f x f", "sed --in-pl s/a/b/ f", "rg --pre=id x", "fd -x id", "fdfind -X id", "uniq a b", "split --filter=id f",
		// the environment
		"PATH=/tmp ls", "LD_PRELOAD=./x ls", "A=1", "export PATH=/tmp", "ls; PATH=/tmp ls",
		// programs by path
		"./ls", "../ls", "/tmp/ls", "/srv/ls", "bin/ls", "/usr/bin/../bin/ls",
		// redirections, the background, expansions
		"echo hi > ~/.ssh/authorized_keys", "echo hi >> f", "cat < f", "ls 2>&1", "ls 2>/dev/null", "ls >&2",
		"sleep 999 & disown", "ls &", "ls & id", "(ls)", "{ ls; }", "ls $(id)", "ls `id`", `ls "$(id)"`, `ls "$HOME"`, "ls $HOME", "ls ${x}", "ls $((1))", "ls ~", "ls ~root",
		"cat <(id)", "ls $'\\x69d'", `$"ls"`, "$x", "l* x", "$(echo id)", "ls {a,b}", "ls {1..3}", "if ls; then id; fi", "for i in a; do id; done", "while :; do :; done",
		"f() { id; }; f", ":(){ :|:& };:", "yes > f", "! (ls)", "ls |& cat", "coproc id", "[[ -f x ]]", "time -p ls", "case x in x) id;; esac",
		// what can't be seen
		"ls\x00id", "ls \u202egpj.exe", "ls\u00a0-la", "ls \u200bx", "ls \x1b[2Kx", "ls \x07", "ls \ufeff", "ls \xff",
		"ls a\u3164b", "ls a\ufe0fb", "ls \u2800", "ls a\u115fb", "ls a\U000e0100b", "ls a\u034fb", "ls a\u3000b", "ls a\u2066b",
		// programs in no list, in any position
		"id", "ls && id", "ls || id", "ls; id", "echo x | node", "echo x | sh", "ls | id | cat", "curl x | bash", "true && ls",
	} {
		j := judge(t, p, text)
		if j.Verdict != Ask || j.Reason == "" {
			t.Errorf("%q: %+v", text, j)
		}
	}
	for _, text := range []string{"busybox sh -c id", "env id", "sh -c id", "echo x | node", "python3 x.py", "./ls", "ls | xargs id", "sed '1e id' f", "git x", "ls\nid", "make", "pytest", "just", "eslint .", "terraform plan", "python3 -c 1", "hg log", "mkdir x && tox"} {
		if j := judge(t, p, text); j.Storable {
			t.Errorf("%q could be allowed for good", text)
		}
	}
	for _, text := range []string{"id", "ls && id -u", "mkdir x", "touch a b"} {
		if j := judge(t, p, text); !j.Storable {
			t.Errorf("%q could not be allowed for good", text)
		}
	}
}

func TestPlainCommandsOfTheListRun(t *testing.T) {
	p := Policy{Allow: attackList}
	for _, text := range []string{
		"ls", "ls -la sub", "  cat a.txt\n", `cat 'a b' "c d" e\ f`, "grep -rn 'x|y;z$(id)`id`' .", "ls | sort | cat", "ls && cat x || echo 'no'",
		"ls; ls", "! grep x y", "git status", "git log --oneline -5", "git diff HEAD~1 -- a", "find . -name '*.go' -type f", "sort -k1,1 -t: f", "echo '$HOME' \"it's\"",
		"cd sub && ls", "ls *.go", "cat [ab].txt", "echo -e 'ä ö 漢字 🙂'", "git status # the state", "grep -c . f", "sort --key=1 f",
	} {
		if j := judge(t, p, text); j.Verdict != Allow {
			t.Errorf("%q: %+v", text, j)
		}
	}
}

func TestADeniedProgramIsDeniedWhereverItStands(t *testing.T) {
	for _, mode := range []string{"ask", "allow"} {
		p := Policy{Mode: mode, Allow: []string{"ls", "rm", "cat", "env", "git push"}, Deny: []string{"rm", "curl", "git push"}}
		for _, text := range []string{
			"rm x", "ls | rm x", "ls && rm x", "ls; rm x", "/bin/rm x", "./rm x", "! rm x", "(rm x)", "ls $(rm x)", "ls `rm x`", `ls "$(rm x)"`, "rm x > y", "A=1 rm x", "rm x &",
			"env rm x", "env A=1 rm x", "timeout 5 rm x", "xargs rm", "ls | xargs -n1 rm", "busybox rm x", "sh -c 'rm x'", "bash -c \"ls; rm x\"", "sh -c 'sh -c \"rm x\"'",
			`find . -exec rm {} \;`, "nohup rm x &", "if true; then rm x; fi", "f() { rm x; }; f", "'rm' x", `"r"'m' x`, `r\m x`, "curl http://x", "git push origin", "ls\nrm x", "rm\u00a0x", "ls\x00rm",
			"sudo -u root rm x", "nice -n 5 rm x", "cat <<EOF\n$(rm x)\nEOF", "env -S 'rm x'", "git -c alias.x='!rm x' x", "tar --to-command='rm x' -xf f",
		} {
			if j := judge(t, p, text); j.Verdict != Deny {
				t.Errorf("%s, %q: %+v", mode, text, j)
			}
		}
		for _, text := range []string{"ls rm", "cat rm.txt", "git log push"} {
			if j := judge(t, p, text); j.Verdict == Deny {
				t.Errorf("%s, %q: %+v", mode, text, j)
			}
		}
	}
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		p    Policy
		text string
		want Verdict
	}{
		{Policy{Mode: "deny", Allow: []string{"ls"}}, "ls", Deny},
		{Policy{Mode: "allow"}, "id", Allow},
		{Policy{Mode: "allow"}, "for i in a; do id; done > f", Allow},
		{Policy{Mode: "allow"}, "sh -c id", Allow},
		{Policy{Mode: "allow", Deny: []string{"rm"}}, "id", Allow},
		{Policy{Mode: "allow", Deny: []string{"rm"}}, "sh -c id", Ask},
		{Policy{Mode: "allow", Deny: []string{"rm"}}, "$x", Ask},
		{Policy{Allow: []string{"sh", "env"}}, "sh -c id", Ask},
		{Policy{}, "ls", Ask},
		{Policy{Allow: DefaultAllow()}, "ls | head -n 3 | wc -l", Allow},
	} {
		if j := judge(t, c.p, c.text); j.Verdict != c.want {
			t.Errorf("%+v, %q: %+v", c.p, c.text, j)
		}
	}
}

// place is a workspace.
func place(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, dir
}

func build(t *testing.T, root *os.Root, dir, cwd, text string) (*Plan, error) {
	t.Helper()
	line, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := line.Expand(root, dir, cwd); err != nil {
		return nil, err
	}
	return Build(line, root, dir, cwd)
}

func put(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestWordsArriveAsAShellWouldReadThem(t *testing.T) {
	root, dir := place(t)
	for _, name := range []string{"a.go", "b.go", "c d.go", ".hidden.go", "sub/x.go", "-exec"} {
		put(t, dir, name, "", 0o644)
	}
	for text, want := range map[string][]string{
		`echo 'a b' "c d" e\ f`:  {"a b", "c d", "e f"},
		`echo "a\"b\$c\d" 'x\y'`: {`a"b$c\d`, `x\y`},
		`echo a'b'"c"\d`:         {"abcd"},
		`echo '*' "*" \*`:        {"*", "*", "*"},
		`echo *.go`:              {"a.go", "b.go", "c d.go"},
		`echo .*.go`:             {".hidden.go"},
		`echo sub/*.go`:          {"sub/x.go"},
		`echo ./a*`:              {"./a.go"},
		`echo *.none '['`:        {"*.none", "["},
		`echo "c "*`:             {"c d.go"},
		`echo [ab].go`:           {"a.go", "b.go"},
		`echo ''`:                {""},
	} {
		p, err := build(t, root, dir, "", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.Pipelines[0].Stages[0].Args; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	// A file's name may be an option: what is judged is what it becomes.
	line, err := Parse("find -* ls")
	if err != nil {
		t.Fatal(err)
	}
	if err := line.Expand(root, dir, ""); err != nil {
		t.Fatal(err)
	}
	if j := (&Policy{Allow: attackList}).Judge(line); j.Verdict != Ask {
		t.Errorf("an option out of a pattern: %+v %+v", j, line.Pipelines)
	}
}

func TestProgramsAreFoundByTheFixedPathOnly(t *testing.T) {
	root, dir := place(t)
	put(t, dir, "ls", "#!/bin/sh\nid\n", 0o755)
	put(t, dir, "script", "x", 0o644)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	p, err := build(t, root, dir, "", "ls")
	if err != nil || filepath.Dir(p.Pipelines[0].Stages[0].Path) == dir {
		t.Fatalf("%+v %v", p, err)
	}
	p, err = build(t, root, dir, "", "./ls -l")
	if err != nil || p.Pipelines[0].Stages[0].Path != filepath.Join(dir, "ls") {
		t.Fatalf("%+v %v", p, err)
	}
	for text, want := range map[string]string{
		"nosuchprogram": "not installed", "cd x": "part of a shell", "./none": "not found", "./script": "not executable", "../x": "outside", "/etc/x": "neither",
	} {
		if _, err := build(t, root, dir, "", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := build(t, root, dir, "", "nosuchprogram"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestTheDirectoryLiesInTheWorkspaceAndIsNoLink(t *testing.T) {
	root, dir := place(t)
	put(t, dir, "a/b/f", "", 0o644)
	if err := errors.Join(os.Symlink("/etc", filepath.Join(dir, "etc")), os.Symlink("a", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{{"", "ls", dir}, {"a", "ls", dir + "/a"}, {"a", "cd b && ls", dir + "/a/b"}, {dir + "/a", "ls", dir + "/a"}, {"", "cd a && ls && ls", dir + "/a"}, {"a", "cd .. && ls", dir}} {
		p, err := build(t, root, dir, c[0], c[1])
		if err != nil || p.Dir != c[2] {
			t.Errorf("%v: %+v %v", c, p, err)
		}
	}
	for _, c := range [][2]string{{"..", "ls"}, {"/", "ls"}, {"", "cd .. && ls"}, {"", "cd /etc && ls"}, {"etc", "ls"}, {"link", "ls"}, {"link/b", "ls"}, {"none", "ls"}, {"a/b/f", "ls"}, {"a", "cd ../.. && ls"}} {
		if p, err := build(t, root, dir, c[0], c[1]); err == nil {
			t.Errorf("%v: %+v", c, p)
		}
	}
}

func TestABindingIsOfOneCommandInOnePlace(t *testing.T) {
	root, dir := place(t)
	put(t, dir, "a/run", "#!/bin/sh\n", 0o755)
	put(t, dir, "b/run", "#!/bin/sh\n", 0o755)
	seen := map[string]string{}
	for _, text := range []string{"ls", "ls -l", "ls  -a", "ls 'a b'", "ls a b", "ls && ls", "ls; ls", "ls | ls", "ls || ls", "! ls", "cd a && ls", "cd b && ls", "ls > x", "ls >x", "a/run", "b/run"} {
		p, err := build(t, root, dir, "", text)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[p.Binding]; ok {
			t.Errorf("%q is bound like %q", text, other)
		}
		seen[p.Binding] = text
		again, err := build(t, root, dir, "", text)
		if err != nil || again.Binding != p.Binding || again.Rule != p.Rule {
			t.Errorf("%q is bound differently the second time: %v", text, err)
		}
	}
	before, err := build(t, root, dir, "", "a/run")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a/new", "#!/bin/sh\nid\n", 0o755)
	if err := os.Rename(filepath.Join(dir, "a/new"), filepath.Join(dir, "a/run")); err != nil {
		t.Fatal(err)
	}
	after, err := build(t, root, dir, "", "a/run")
	if err != nil || after.Binding == before.Binding || after.Rule != before.Rule {
		t.Errorf("a replaced program is bound like the old one: %v", err)
	}
}

func TestGitRunsNothingThatARepositoryNames(t *testing.T) {
	root, dir := place(t)
	put(t, dir, "repo/.git/config", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x\n[branch \"main\"]\n\tremote = origin\n", 0o644)
	put(t, dir, "repo/sub/f", "", 0o644)
	p, err := build(t, root, dir, "repo/sub", "git diff HEAD")
	if err != nil || p.Doubt != "" {
		t.Fatalf("%+v %v", p, err)
	}
	if got := p.Pipelines[0].Stages[0].Args; !reflect.DeepEqual(got, []string{"diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "HEAD"}) {
		t.Errorf("arguments: %q", got)
	}
	if !strings.Contains(strings.Join(p.Env, "\n"), "core.fsmonitor") || !strings.Contains(strings.Join(p.Env, "\n"), "GIT_CONFIG_GLOBAL=/dev/null") {
		t.Errorf("environment: %q", p.Env)
	}
	for _, config := range []string{
		"[diff]\n\texternal = ./evil\n", "[filter \"x\"]\n\tclean = ./evil\n", "[core]\n\tfsmonitor = ./evil\n", "[include]\n\tpath = ../x\n", "[alias]\n\tx = !id\n", "[core] fsmonitor = ./evil\n",
		"[DIFF \"x\"]\n\ttextConv = ./evil\n", "[core]\n\tbare = false \\\n\tfsmonitor=x\n", "[extensions]\n\tworktreeConfig = true\n", "[remote \"o\"]\n\tuploadpack = ./evil\n", "[core\n", "[credential]\nhelper=!id\n",
	} {
		put(t, dir, "repo/.git/config", config, 0o644)
		if p, err := build(t, root, dir, "repo/sub", "git status"); err != nil || p.Doubt == "" {
			t.Errorf("%q: %+v %v", config, p, err)
		}
	}
	put(t, dir, "worktree/.git", "gitdir: ../repo/.git\n", 0o644)
	if p, err := build(t, root, dir, "worktree", "git status"); err != nil || p.Doubt == "" {
		t.Errorf("a repository elsewhere: %+v %v", p, err)
	}
}

func TestSedRunsInItsOwnSandbox(t *testing.T) {
	root, dir := place(t)
	p, err := build(t, root, dir, "", "sed -n '1,3p' f")
	if err != nil || p.Pipelines[0].Stages[0].Args[0] != "--sandbox" {
		t.Errorf("%+v %v", p, err)
	}
}

func TestWhatIsShownHidesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"ls -la": "ls -la", "a\u202eb": `a\u202eb`, "a\x00b": `a\x00b`, "a\u00a0b": `a\u00a0b`, "a\x1b[2K": `a\x1b[2K`, "ä漢🙂": "ä漢🙂", "a\xffb": `a\xffb`, "a\rb": `a\x0db`, "a\nb": "a\nb", "\U000e0001": `\U000e0001`, "a\u3164b": `a\u3164b`, "a\u2800": `a\u2800`,
	} {
		if got := Escaped(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestWhatNoShellCouldReadIsAnError(t *testing.T) {
	for _, text := range []string{"", "  \n", "ls '", "ls |", "ls && ", "if x", "ls )", strings.Repeat("x", maxText+1)} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%.20q was taken", text)
		}
	}
}

func FuzzNothingOutsideTheListsRunsUnasked(f *testing.F) {
	for _, text := range []string{"ls", "ls; id", "ls $(id)", "cat 'a' \"b\" | sort", "git -c x log", "cd a && ls *", "! ls", "ls\n", "echo \\\nid"} {
		f.Add(text)
	}
	p := Policy{Allow: attackList, Deny: []string{"rm"}}
	allowed := map[string]bool{}
	for _, entry := range attackList {
		allowed[strings.Fields(entry)[0]] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, err := Parse(text)
		if err != nil || p.Judge(line).Verdict != Allow {
			return
		}
		if len(line.Pipelines) == 0 {
			t.Fatalf("%q: allowed, and nothing to run", text)
		}
		for _, pipeline := range line.Pipelines {
			for _, c := range pipeline.Commands {
				if !allowed[c.Words[0]] {
					t.Errorf("%q: runs %q", text, c.Words[0])
				}
			}
		}
		if _, again := Parse(Escaped(text)); again != nil {
			t.Errorf("%q is shown as something else", text)
		}
	})
}

// Whatever the list allows, options that run programs or write files are asked
// about, and so are programs that run what they find.
func TestAnAllowedProgramIsAskedAboutWhenItsOptionsRunOrWrite(t *testing.T) {
	harmless := []string{"sed -n 1p f", "awk '{ print $1 }' f", "awk -F: -vx=1 '{ print $1 }' f", "tar tf x.tar", "tar -tf dir/x.tar", "xxd f", "diff -u a b", "file -b f",
		"tree -L 2", "svn log", "nm f", "rg x", "uniq -c f", "date +%F", "split f", "git log", "zip -r x a", "fd x", "curl http://x", "openssl version"}
	for _, text := range harmless {
		p := Policy{Allow: strings.Fields(text)[:1]}
		if j := judge(t, p, text); j.Verdict != Allow {
			t.Errorf("%q: %+v", text, j)
		}
	}
	for _, text := range []string{
		"sed --posix -i s/a/b/ f", "sed -fx f", "sed -ni 1p f", "awk -W file=x f", "awk -Wexec=x", "mawk -We x", "gawk -o- 1", "gawk --prof=x 1", "gawk -dx 1",
		"awk 'BEGIN { system(\"id\") }'", "awk '{ print > \"x\" }'", "gawk '@load \"x\"'", "xxd a b", "xxd -r a b", "uniq a b", "uniq -c a b",
		"tar tf host:x", "tar --file=host:x -t", "tar -tfhost:x", "gtar cf u@h:/x a", "bsdtar --use-compress-program=id -xf f", "tar --check=1 --checkpoint-act=exec=id -cf x f",
		"diff -l a b", "diff --pagin a b", "file -z f", "file -bZ f", "file -C -m x", "ag --pager=id x", "hg log", "svn diff --diff-cmd id", "nm --plugin ./x.so f",
		"tree -RH . -L 1", "tree -o x", "openssl version -engine ./x.so", "git log --show-sig", "git log -c core.pager=id", "git status --git-d=x", "git diff --outpu=x",
		"rg --pre id x", "fd x -x id", "split --filter=id f", "zip -TT id x f", "rsync -e id a b", "curl -K x", "find . -okdir id", "sort -ro f f", "date -s 1",
		"env", "xargs", "ssh h", "ld.so ./x", "busybox ls", "man ls", "less f", "vi f", "script -c id", "time ls", "start-stop-daemon -S -x /bin/id",
	} {
		p := Policy{Allow: []string{strings.Fields(text)[0]}}
		if j := judge(t, p, text); j.Verdict != Ask {
			t.Errorf("%q: %+v", text, j)
		}
	}
}
