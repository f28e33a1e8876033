package builtin

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/tools"
	"clawbot/tools/command"
	"clawbot/tools/sandbox"
)

// trusting is a bench whose commands run without asking.
func trusting(t testing.TB, kind sandbox.Kind) *bench {
	t.Helper()
	b := newBench(t)
	builtin := New(Config{Sandbox: sandbox.New(sandbox.Config{Kind: kind}), Commands: command.Policy{Mode: "allow"}})
	t.Cleanup(builtin.Close)
	for _, tool := range builtin.Source().Tools {
		b.tools[tool.Name] = tool
	}
	return b
}

func (b *bench) judge(tool string, args map[string]any) (tools.Decision, error) {
	raw, err := json.Marshal(args)
	must(b.t, err)
	return b.tools[tool].Judge(b.ctx, agentcore.Call{ID: "1", Name: tool, Arguments: raw})
}

func TestExecReportsStatusAndOutput(t *testing.T) {
	b := trusting(t, "")
	b.write("a.txt", "one\ntwo\n")
	for text, want := range map[string][]string{
		"cat a.txt | sort -r":            {"Exit status 0 after ", "two\none\n"},
		"ls nothere":                     {"Exit status 2 after ", "No such file"},
		"sh -c 'kill -SEGV $$'":          {"Exit status 139 (signal 11, SIGSEGV) after "},
		"true":                           {"Exit status 0 after ", "(no output)"},
		"for i in 1 2; do echo $i; done": {"Exit status 0", "1\n2\n"},
		"echo '<|im_start|>system'":      {"< |im_start|>system"},
		"cd sub && pwd":                  {"/sub\n"},
	} {
		b.write("sub/x", "")
		got := b.text("exec", map[string]any{"command": text})
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q, want %q in it", text, got, w)
			}
		}
	}
	if got := b.text("exec", map[string]any{"command": "sleep 60", "timeout": 1}); !strings.Contains(got, "Killed after 1") || !strings.Contains(got, "its time of 1s was up") {
		t.Errorf("a timeout: %q", got)
	}
	big := b.text("exec", map[string]any{"command": "echo first; head -c 1000000000 /dev/zero; echo; echo last"})
	if len(big) > 400<<10 || !strings.Contains(big, "first\n") || !strings.Contains(big, "\nlast\n") || !strings.Contains(big, "bytes left out") {
		t.Errorf("a gigabyte: %d bytes", len(big))
	}
}

func TestExecRunsOnlyWhatIsAllowedOrWasApproved(t *testing.T) {
	b := newBench(t)
	args := map[string]any{"command": "mkdir made"}
	d, err := b.judge("exec", args)
	must(t, err)
	if d.Verdict != tools.Ask || d.Show != "mkdir made" || d.Where != "the workspace" || d.Binding == "" || !strings.HasPrefix(d.Rule, "exec/") {
		t.Fatalf("decision: %+v", d)
	}
	if _, err := b.run("exec", args); err == nil || !strings.Contains(err.Error(), "must approve") {
		t.Errorf("unapproved: %v", err)
	}
	approved := *b
	approved.ctx = tools.WithApproval(b.ctx, d.Binding)
	if _, err := approved.run("exec", map[string]any{"command": "mkdir other"}); !errors.Is(err, errChanged) {
		t.Errorf("another command: %v", err)
	}
	if got := approved.text("exec", args); !strings.Contains(got, "Exit status 0") {
		t.Errorf("approved: %q", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "made")); err != nil {
		t.Error(err)
	}
	if got := b.text("exec", map[string]any{"command": "ls"}); !strings.Contains(got, "made") {
		t.Errorf("ls: %q", got)
	}
}

func TestAnApprovalIsForOneDirectory(t *testing.T) {
	b := newBench(t)
	b.write("a/f", "A")
	b.write("b/f", "B")
	args := map[string]any{"command": "touch x", "cwd": "a"}
	d, err := b.judge("exec", args)
	must(t, err)
	b.ctx = tools.WithApproval(b.ctx, d.Binding)
	must(t, os.Rename(filepath.Join(b.dir, "a"), filepath.Join(b.dir, "c")))
	must(t, os.Rename(filepath.Join(b.dir, "b"), filepath.Join(b.dir, "a")))
	if _, err := b.run("exec", args); !errors.Is(err, errChanged) {
		t.Errorf("another directory under the same name: %v", err)
	}
	must(t, os.RemoveAll(filepath.Join(b.dir, "a")))
	must(t, os.Symlink("/etc", filepath.Join(b.dir, "a")))
	if _, err := b.run("exec", args); err == nil {
		t.Error("a link under the same name was followed")
	}
}

func TestExecShowsWhatIsWrittenWhileItRuns(t *testing.T) {
	b := trusting(t, "")
	var mu sync.Mutex
	var seen []string
	raw, err := json.Marshal(map[string]any{"command": "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last"})
	must(t, err)
	result, err := b.tools["exec"].Execute(b.ctx, agentcore.Call{ID: "1", Name: "exec", Arguments: raw}, func(u agentcore.Update) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, u.Content[0].(agentcore.Text).Text)
		b.write("go", "")
	})
	must(t, err)
	if len(seen) == 0 || seen[0] != "first\n" || !strings.Contains(textOf(result), "first\nlast\n") {
		t.Errorf("updates %q, result %q", seen, textOf(result))
	}
}

func TestExecSeesNoSecretAndNothingOutside(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "s3cret")
	for _, kind := range []sandbox.Kind{sandbox.Bubblewrap, sandbox.Landlock} {
		b := trusting(t, kind)
		must(t, os.Symlink(filepath.Dir(b.dir), filepath.Join(b.dir, "up")))
		for _, text := range []string{"cat /proc/self/environ", "env", "cat ../secret", "cat up/secret", "find / -name secret -exec cat {} +", "cat /proc/1/environ /proc/*/environ", "cp ../secret x; cat x", "ln ../secret y; cat y"} {
			if got := b.text("exec", map[string]any{"command": text}); strings.Contains(got, "s3cret") {
				t.Errorf("%s, %s: %q", kind, text, got)
			}
		}
		if got := b.text("exec", map[string]any{"command": "echo hi > ../out; echo hi > ~/.ssh/authorized_keys; echo hi > /etc/x"}); strings.Contains(got, "Exit status 0") {
			t.Errorf("%s: %q", kind, got)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(b.dir), "out")); err == nil {
			t.Errorf("%s: a file was written outside", kind)
		}
	}
}

func TestGitOfAnEvilRepositoryRunsNothing(t *testing.T) {
	b := trusting(t, "")
	b.write("evil", "#!/bin/sh\ntouch "+b.dir+"/pwned\n")
	must(t, os.Chmod(filepath.Join(b.dir, "evil"), 0o755))
	b.write("f", "1\n")
	b.text("exec", map[string]any{"command": "git init -q . && git add f && git -c user.name=x -c user.email=x@y commit -qm x"})
	b.write("f", "2\n")
	b.write(".git/hooks/post-index-change", "#!/bin/sh\ntouch "+b.dir+"/pwned\n")
	must(t, os.Chmod(filepath.Join(b.dir, ".git/hooks/post-index-change"), 0o755))
	config := filepath.Join(b.dir, ".git/config")
	plain, err := os.ReadFile(config)
	must(t, err)
	careful := New(Config{})
	defer careful.Close()
	for _, tool := range careful.Source().Tools {
		b.tools[tool.Name] = tool
	}
	if got := b.text("exec", map[string]any{"command": "git diff"}); !strings.Contains(got, "-1\n+2\n") {
		t.Errorf("git diff: %q", got)
	}
	for _, setting := range []string{"[diff]\n\texternal = ./evil", "[core]\n\tfsmonitor = ./evil", "[filter \"e\"]\n\tclean = ./evil", "[core]\n\tpager = ./evil"} {
		must(t, os.WriteFile(config, append(plain, "\n"+setting+"\n"...), 0o644))
		b.write(".gitattributes", "* filter=e\n")
		for _, text := range []string{"git diff", "git status", "git log -p"} {
			d, err := b.judge("exec", map[string]any{"command": text})
			must(t, err)
			if d.Verdict != tools.Ask || d.Reason == "" || d.Rule != "" {
				t.Errorf("%q, %s: %+v", setting, text, d)
			}
			_, _ = b.run("exec", map[string]any{"command": text}) // refused
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, "pwned")); err == nil {
		t.Error("the repository made git run a program")
	}
}

func TestABackgroundProcessIsStartedPolledFedAndKilled(t *testing.T) {
	b := trusting(t, "")
	started := b.text("process", map[string]any{"action": "start", "command": "cat"})
	if !strings.HasPrefix(started, "Started as p1.") || !strings.Contains(started, "running") {
		t.Fatalf("start: %q", started)
	}
	b.text("process", map[string]any{"action": "write", "id": "p1", "input": "hello\n"})
	if got := b.text("process", map[string]any{"action": "poll", "id": "p1", "wait": 20}); !strings.Contains(got, "hello\n") {
		t.Errorf("poll: %q", got)
	}
	if got := b.text("process", map[string]any{"action": "poll", "id": "p1"}); strings.Contains(got, "hello") {
		t.Errorf("polled twice: %q", got)
	}
	if got := b.text("process", map[string]any{"action": "list"}); !strings.Contains(got, "p1: cat: running") {
		t.Errorf("list: %q", got)
	}
	for _, text := range []string{"sleep 98765.7", "sleep 98765.7", "sleep 98765.7"} {
		b.text("process", map[string]any{"action": "start", "command": text})
	}
	if _, err := b.run("process", map[string]any{"action": "start", "command": "true"}); err == nil || !strings.Contains(err.Error(), "kill one first") {
		t.Errorf("a fifth: %v", err)
	}
	if got := b.text("process", map[string]any{"action": "kill", "id": "p2"}); !strings.Contains(got, "Killed") {
		t.Errorf("kill: %q", got)
	}
	b.text("process", map[string]any{"action": "write", "id": "p1", "close": true})
	if got := b.text("process", map[string]any{"action": "poll", "id": "p1", "wait": 20}); !strings.Contains(got, "Exit status 0") {
		t.Errorf("the end: %q", got)
	}
	other := *b
	scope := *tools.ScopeOf(b.ctx)
	scope.Session = "other"
	other.ctx = tools.WithScope(b.ctx, &scope)
	if _, err := other.run("process", map[string]any{"action": "poll", "id": "p3"}); err == nil || !strings.Contains(err.Error(), "earlier run of the bot") {
		t.Errorf("another conversation's: %v", err)
	}
	d, err := b.judge("process", map[string]any{"action": "poll", "id": "p1"})
	if err != nil || d.Verdict != tools.Allow {
		t.Errorf("poll is %+v %v", d, err)
	}
}

func TestWhatIsStartedInTheBackgroundMustBeApproved(t *testing.T) {
	b := newBench(t)
	args := map[string]any{"action": "start", "command": "python3 -m http.server"}
	d, err := b.judge("process", args)
	must(t, err)
	if d.Verdict != tools.Ask || d.Rule != "" || !strings.Contains(d.Show, "background") {
		t.Errorf("decision: %+v", d)
	}
	if _, err := b.run("process", args); err == nil || !strings.Contains(err.Error(), "must approve") {
		t.Errorf("unapproved: %v", err)
	}
}

func BenchmarkTwentyExecsOfTrue(b *testing.B) {
	bench := trusting(b, "")
	for b.Loop() {
		began := time.Now()
		for range 20 {
			bench.text("exec", map[string]any{"command": "true"})
		}
		b.ReportMetric(float64(time.Since(began).Microseconds())/20000, "ms/exec")
	}
}

func BenchmarkAHundredReadsOf100kB(b *testing.B) {
	bench := newBench(b)
	bench.write("f", strings.Repeat("0123456789012345678901234567890123456789012345678\n", 2000))
	b.ReportAllocs()
	for b.Loop() {
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { bench.text("read_file", map[string]any{"path": "f"}) })
		}
		all.Wait()
	}
}

func TestAProcessTakesInputOnlyForWhomItWasStartedOrAnOwner(t *testing.T) {
	b := trusting(t, "")
	as := func(sender, role string) *bench {
		other := *b
		scope := *tools.ScopeOf(b.ctx)
		scope.Sender, scope.Role = sender, role
		other.ctx = tools.WithScope(b.ctx, &scope)
		return &other
	}
	as("ann", "member").text("process", map[string]any{"action": "start", "command": "cat"})
	write := map[string]any{"action": "write", "id": "p1", "input": "hello\n"}
	if _, err := as("ben", "member").run("process", write); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("another person wrote to it: %v", err)
	}
	as("ann", "member").text("process", write)
	as("olga", "owner").text("process", write)
	if got := as("ben", "member").text("process", map[string]any{"action": "kill", "id": "p1"}); !strings.Contains(got, "Killed") {
		t.Errorf("kill: %q", got)
	}
}
