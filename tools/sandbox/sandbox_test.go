package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kinds are the mechanisms that must work where the tests run; CI has both.
var kinds = []Kind{Bubblewrap, Landlock, Off}

var confined = []Kind{Bubblewrap, Landlock}

func each(t *testing.T, kinds []Kind, test func(t *testing.T, s *Sandbox, dir string)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			s := New(Config{Kind: kind})
			if _, err := s.Check(); err != nil {
				t.Fatal(err)
			}
			test(t, s, t.TempDir())
		})
	}
}

func program(name string, args ...string) []Pipeline {
	path := lookup(name)
	if path == "" {
		panic("there is no program " + name)
	}
	return []Pipeline{{Stages: []Stage{{Path: path, Args: args}}}}
}

func shell(script string) []Pipeline { return program("sh", "-c", script) }

// run runs a command and returns what it wrote.
func run(t *testing.T, s *Sandbox, c Command) (Result, string) {
	t.Helper()
	out := NewCapture(256 << 10)
	c.Output = out
	result, err := s.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return result, out.String()
}

func TestACommandsOutputAndStatusComeBack(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		for script, want := range map[string]int{"echo out; echo err >&2": 0, "echo out; echo err >&2; exit 7": 7, "echo out; echo err >&2; kill -SEGV $$": 128 + 11} {
			result, out := run(t, s, Command{Workspace: dir, Pipelines: shell(script)})
			if result.Code != want || out != "out\nerr\n" || result.Ended != "" {
				t.Errorf("%s: %+v %q", script, result, out)
			}
		}
	})
}

func TestAPlanRunsAsAShellWouldRunIt(t *testing.T) {
	stage := func(name string, args ...string) Stage { return Stage{lookup(name), args} }
	pipe := func(when Join, stages ...Stage) Pipeline { return Pipeline{When: when, Stages: stages} }
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		for _, c := range []struct {
			plan []Pipeline
			code int
			out  string
		}{
			{[]Pipeline{pipe(Always, stage("printf", `b\na\n`), stage("sort"))}, 0, "a\nb\n"},
			{[]Pipeline{pipe(Always, stage("yes"), stage("head", "-n", "2"))}, 0, "y\ny\n"},
			{[]Pipeline{pipe(Always, stage("false")), pipe(OnSuccess, stage("echo", "no")), pipe(OnFailure, stage("echo", "yes"))}, 0, "yes\n"},
			{[]Pipeline{pipe(Always, stage("true")), pipe(OnFailure, stage("echo", "no"))}, 0, ""},
			{[]Pipeline{pipe(Always, stage("false")), pipe(Always, stage("false"))}, 1, ""},
			{[]Pipeline{{Negate: true, Stages: []Stage{stage("true")}}}, 1, ""},
			{[]Pipeline{pipe(Always, stage("echo", "$HOME", "*", "a b", `'"`))}, 0, "$HOME * a b '\"\n"},
		} {
			result, out := run(t, s, Command{Workspace: dir, Pipelines: c.plan})
			if result.Code != c.code || out != c.out {
				t.Errorf("%+v: status %d, %q", c.plan, result.Code, out)
			}
		}
	})
}

func TestOnlyTheWorkspaceCanBeWrittenAndOnlyTheSystemRead(t *testing.T) {
	each(t, confined, func(t *testing.T, s *Sandbox, dir string) {
		outside := t.TempDir()
		secret := filepath.Join(outside, "secret")
		if err := os.WriteFile(secret, []byte("hunter2"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		before := modes(t, outside)
		script := fmt.Sprintf(`
			echo in > file && cat file
			cat %[1]s link /etc/passwd /etc/shadow /proc/1/environ /root/.bashrc
			echo x > %[2]s/new; echo x >> %[1]s; rm %[1]s; mkdir %[2]s/d; mv %[1]s here; ln %[1]s hard
			chmod 777 %[1]s %[2]s; chown 1:1 %[1]s; touch -d yesterday %[1]s
			echo x > /usr/bin/x; echo x > /etc/x; echo x > /x; echo x > /dev/sda; mknod /dev/sdx b 8 0
			cd ..; ls; cd %[2]s && ls`, secret, outside)
		_, out := run(t, s, Command{Workspace: dir, Pipelines: shell(script)})
		if strings.Contains(out, "hunter2") || strings.Contains(out, "root:") || !strings.HasPrefix(out, "in\n") {
			t.Errorf("output: %s", out)
		}
		if after := modes(t, outside); after != before {
			t.Errorf("outside was\n%s\nand is\n%s", before, after)
		}
		for _, path := range []string{"/usr/bin/x", "/etc/x", "/x", "/dev/sdx"} {
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s was written: %v", path, err)
			}
		}
	})
}

func modes(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintln(&out, path, info.Mode(), info.Size(), st.Uid, st.Nlink, st.Mtim.Sec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheEnvironmentIsCleanEverywhere(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "hunter2")
	t.Setenv("LD_PRELOAD_X", "hunter2")
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		for _, plan := range [][]Pipeline{program("env"), shell("cat /proc/*/environ /proc/self/environ; ps axe"), {{Stages: []Stage{{Path: lookup("env")}, {Path: lookup("cat")}}}}} {
			if s.cfg.Kind == Off && len(plan[0].Stages) == 1 && plan[0].Stages[0].Path != lookup("env") {
				continue // unconfined, it may read what its user may
			}
			_, out := run(t, s, Command{Workspace: dir, Pipelines: plan, Env: []string{"GIVEN=1"}})
			if strings.Contains(out, "hunter2") {
				t.Errorf("a secret: %s", out)
			}
			if plan[0].Stages[0].Path == lookup("env") && (!strings.Contains(out, "GIVEN=1\n") || !strings.Contains(out, "PATH="+Path+"\n")) {
				t.Errorf("environment: %s", out)
			}
		}
	})
}

func TestThereIsNoNetworkUnlessItIsGiven(t *testing.T) {
	port := listen(t)
	python := lookup("python3")
	if python == "" {
		t.Fatal("the test needs python3 in " + Path)
	}
	connect := fmt.Sprintf("import socket;socket.create_connection(('127.0.0.1',%d),2);print('through')", port)
	each(t, confined, func(t *testing.T, s *Sandbox, dir string) {
		plan := []Pipeline{{Stages: []Stage{{python, []string{"-c", connect}}}}}
		if result, out := run(t, s, Command{Workspace: dir, Pipelines: plan}); result.Code == 0 || strings.Contains(out, "through\n") {
			t.Errorf("without: %+v %s", result, out)
		}
		if result, out := run(t, s, Command{Workspace: dir, Pipelines: plan, Network: true}); result.Code != 0 {
			t.Errorf("with: %+v %s", result, out)
		}
	})
}

func TestForbiddenSystemCallsFail(t *testing.T) {
	script := `
import socket, ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    ctypes.set_errno(0)
    r = libc.syscall(*args)
    print(name, "done" if r >= 0 else "refused")
for family in (17, 40):
    try:
        socket.socket(family, socket.SOCK_STREAM); print("socket", family, "done")
    except OSError: print("socket", family, "refused")
call("unshare-user", 272, 0x10000000)
call("unshare-mount", 272, 0x00020000)
call("io_uring", 425, 8, ctypes.create_string_buffer(120))
call("keyctl", 250, 0, -3, 1)
call("bpf", 321, 0, 0, 0)
call("setns", 308, 0, 0)
call("mount", 165, b"none", b"/tmp", b"tmpfs", 0, 0)
call("clone-user", 56, 0x10000000 | 17, 0, 0, 0, 0)
`
	each(t, confined, func(t *testing.T, s *Sandbox, dir string) {
		result, out := run(t, s, Command{Workspace: dir, Pipelines: program("python3", "-c", script)})
		if strings.Contains(out, "done") || strings.Count(out, "refused") != 10 {
			t.Errorf("%+v %s", result, out)
		}
	})
}

// alive reports whether a process with this argument lives. A sleep's time is
// as good as a name.
func alive(t *testing.T, argument string) bool {
	t.Helper()
	for _, pid := range numbered("/proc") {
		line, err := os.ReadFile("/proc/" + pid + "/cmdline")
		if err == nil && strings.Contains(string(line), "\x00"+argument+"\x00") && strings.HasPrefix(filepath.Base(string(line)), "sleep") {
			return true
		}
	}
	return false
}

// gone waits until no such process lives; the kernel needs a moment to let go.
func gone(t *testing.T, argument string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); alive(t, argument); {
		if time.Now().After(deadline) {
			t.Fatalf("sleep %s is still alive", argument)
		}
		syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 5000})
	}
}

// escapes are ways to outlive one's parent.
func escapes(argument string) map[string]string {
	return map[string]string{
		"background":      "sleep " + argument + " & sleep " + argument,
		"double fork":     "(sleep " + argument + " &) & sleep " + argument,
		"setsid":          "setsid sleep " + argument + " & setsid -f sleep " + argument + "; sleep " + argument,
		"nohup":           "nohup sleep " + argument + " >/dev/null 2>&1 & sleep " + argument,
		"ignores SIGTERM": "trap '' TERM HUP INT; sleep " + argument + " & wait",
	}
}

func TestNothingIsAliveAfterTheTimeIsUp(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		for name, script := range escapes("98765.1") {
			result, _ := run(t, s, Command{Workspace: dir, Pipelines: shell(script), Limits: Limits{Wall: 300 * time.Millisecond}})
			if result.Code != 137 || !strings.Contains(result.Ended, "time") {
				t.Errorf("%s: %+v", name, result)
			}
			if alive(t, "98765.1") {
				t.Errorf("%s: something is alive", name)
				gone(t, "98765.1")
			}
		}
	})
}

func TestNothingIsAliveAfterTheCommandHasEnded(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		result, _ := run(t, s, Command{Workspace: dir, Pipelines: shell("setsid sleep 98765.2 & (sleep 98765.2 &) ; exit 3")})
		if result.Code != 3 || result.Took > time.Minute {
			t.Errorf("%+v", result)
		}
		gone(t, "98765.2")
	})
}

func TestACancelledCommandIsKilledWhole(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		lines := make(chan string, 1)
		p, err := s.Start(ctx, Command{Workspace: dir, Pipelines: shell("(setsid sleep 98765.3 &); echo up; sleep 98765.3"), Output: lineWriter(lines)})
		if err != nil {
			t.Fatal(err)
		}
		<-lines
		cancel()
		if result := p.Wait(); !strings.Contains(result.Ended, "cancelled") {
			t.Errorf("%+v", result)
		}
		gone(t, "98765.3")
	})
}

type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	select {
	case w <- string(p):
	default:
	}
	return len(p), nil
}

const botMarker = "__bot"

// bot is a program that is killed while its command runs.
func bot(args []string) {
	s := New(Config{Kind: Kind(args[0])})
	p, err := s.Start(context.Background(), Command{Workspace: args[1], Pipelines: shell(args[2] + "; echo up; sleep " + args[3]), Output: os.Stdout})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Wait()
}

func TestNothingOutlivesABotThatIsKilled(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe", botMarker, string(kind), t.TempDir(), "(setsid sleep 98765.4 &)", "98765.4")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
				t.Fatalf("the bot said %q, %v", line, err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			gone(t, "98765.4")
		})
	}
}

func TestAForkBombEndsAndTheHostLives(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		result, _ := run(t, s, Command{Workspace: dir, Pipelines: shell("bomb() { bomb | bomb & }; bomb; sleep 98765.5"), Limits: Limits{Wall: 3 * time.Second, Processes: 64}})
		if result.Ended == "" && result.Code == 0 {
			t.Errorf("%+v", result)
		}
		gone(t, "98765.5")
	})
}

func TestWithoutCgroupsTheWatchEndsWhatGrows(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			s := New(Config{Kind: kind})
			m, err := s.probe()
			if err != nil {
				t.Fatal(err)
			}
			m.groups = nil
			dir := t.TempDir()
			result, _ := run(t, s, Command{Workspace: dir, Pipelines: shell("for i in 1 2 3 4 5 6 7 8 9; do sleep 98765.6 & done; wait"), Limits: Limits{Processes: 5, Wall: time.Minute}})
			if !strings.Contains(result.Ended, "processes") {
				t.Errorf("processes: %+v", result)
			}
			grow := "a=[bytearray(20<<20) for _ in range(3)]\nimport os,time\nos.fork();os.fork()\na=[bytearray(b'x'*(20<<20)) for _ in range(3)]\ntime.sleep(60)"
			result, _ = run(t, s, Command{Workspace: dir, Pipelines: program("python3", "-c", grow), Limits: Limits{Memory: 200 << 20, Wall: time.Minute}})
			if !strings.Contains(result.Ended, "memory") {
				t.Errorf("memory: %+v", result)
			}
		})
	}
}

func TestMemoryAndFilesAndProcessorTimeAreBounded(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		// Enough for our own binary under the race detector, which it counts for until it is the command.
		limits := Limits{Memory: 512 << 20, FileSize: 1 << 20, CPU: time.Second, Wall: 30 * time.Second}
		if result, out := run(t, s, Command{Workspace: dir, Pipelines: program("python3", "-c", "x = b'x' * (1 << 30)"), Limits: limits}); result.Code == 0 {
			t.Errorf("memory: %+v %s", result, out)
		}
		result, out := run(t, s, Command{Workspace: dir, Pipelines: shell("yes > f"), Limits: limits})
		info, err := os.Stat(filepath.Join(dir, "f"))
		if err != nil || result.Code == 0 || info.Size() > 1<<20 {
			t.Errorf("file: %+v %v %s", result, err, out)
		}
		if result, _ := run(t, s, Command{Workspace: dir, Pipelines: shell("while :; do :; done"), Limits: limits}); result.Code == 0 || result.Took > 20*time.Second {
			t.Errorf("processor: %+v", result)
		}
	})
}

func TestACommandThatFillsTheDiskWithManyFilesIsEnded(t *testing.T) {
	fill := shell("i=0; while [ $i -lt 12 ]; do head -c 10000000 /dev/zero > f$i; i=$((i+1)); done; sleep 98765.8")
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		free, ok := freeOn(dir)
		if !ok {
			t.Fatal("the disk does not tell how full it is")
		}
		nearlyFull := Limits{DiskFree: free + 1<<30, Wall: 2 * time.Minute}
		result, _ := run(t, s, Command{Workspace: dir, Pipelines: fill, Limits: nearlyFull})
		if !strings.Contains(result.Ended, "free on the disk") {
			t.Errorf("%+v", result)
		}
		gone(t, "98765.8")
	})
}

func TestAFullDiskIsTheFaultOfWhoFilledIt(t *testing.T) {
	const least, mb = 256 << 20, 1 << 20
	for _, c := range []struct {
		name          string
		before, after int64
		ended         bool
	}{
		{"room enough", 10_000 * mb, 300 * mb, false},
		{"it took the last", 1_000 * mb, 200 * mb, true},
		{"it was full before", 100 * mb, 90 * mb, false},
		{"it was full before and got much fuller", 100 * mb, 30 * mb, true},
		{"somebody made room", 100 * mb, 200 * mb, false},
	} {
		got := filled([]disk{{"other", 1 << 50}, {"work", c.before}}, least, func(path string) (int64, bool) {
			return c.after, path == "work"
		})
		if (got != "") != c.ended {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestAGigabyteOfOutputIsBoundedAndKeepsBothEnds(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		result, out := run(t, s, Command{Workspace: dir, Pipelines: shell("echo first; head -c 1000000000 /dev/zero; echo; echo last"), Limits: Limits{Wall: 2 * time.Minute}})
		if result.Code != 0 || len(out) > 300<<10 || !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "last\n") || !strings.Contains(out, "bytes left out") {
			t.Errorf("%+v: %d bytes, %.20q … %.20q", result, len(out), out, out[max(0, len(out)-20):])
		}
	})
}

func TestThereIsNoTerminalToRead(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		result, out := run(t, s, Command{Workspace: dir, Pipelines: shell("read x; echo \"got <$x>\"; (read y </dev/tty) 2>/dev/null || echo none"), Limits: Limits{Wall: 20 * time.Second}})
		if result.Ended != "" || out != "got <>\nnone\n" {
			t.Errorf("%+v %q", result, out)
		}
	})
}

func TestInputIsWrittenAndClosed(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		out := NewCapture(1000)
		p, err := s.Start(t.Context(), Command{Workspace: dir, Pipelines: program("cat"), Input: true, Output: out})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if err := p.CloseInput(); err != nil {
			t.Fatal(err)
		}
		if result := p.Wait(); result.Code != 0 || out.String() != "hello" {
			t.Errorf("%+v %q", result, out)
		}
	})
}

func TestADirectoryThatWasSwappedIsRefused(t *testing.T) {
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		sub := filepath.Join(dir, "sub")
		for _, d := range []string{sub, filepath.Join(dir, "other")} {
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		is, err := os.Lstat(sub)
		if err != nil {
			t.Fatal(err)
		}
		c := Command{Workspace: dir, Dir: sub, DirIs: is, Pipelines: program("pwd")}
		if _, out := run(t, s, c); out != sub+"\n" {
			t.Errorf("pwd: %q", out)
		}
		if err := errors.Join(os.Remove(sub), os.Symlink("other", sub)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "replaced") {
			t.Errorf("swapped: %v", err)
		}
		c = Command{Workspace: sub, WorkspaceIs: is, Pipelines: program("pwd")}
		if _, err := s.Run(t.Context(), c); err == nil {
			t.Error("a workspace that is a link was taken")
		}
	})
}

func TestDescriptorsOfTheBotStayWithTheBot(t *testing.T) {
	f, err := os.Open("/etc")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	each(t, kinds, func(t *testing.T, s *Sandbox, dir string) {
		script := "import os\nfor f in range(3,200):\n  try: print(f, os.readlink('/proc/self/fd/%d'%f) if os.path.exists('/proc/self/fd') else os.fstat(f))\n  except OSError: pass"
		_, out := run(t, s, Command{Workspace: dir, Pipelines: program("python3", "-c", script)})
		if strings.TrimSpace(out) != "" {
			t.Errorf("open: %s", out)
		}
	})
}

func TestNothingIsRunWithLessThanWasPromised(t *testing.T) {
	s := New(Config{Kind: "nothing"})
	if _, err := s.Run(t.Context(), Command{Workspace: t.TempDir(), Pipelines: program("true")}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "install bubblewrap") {
		t.Errorf("got %v", err)
	}
}
