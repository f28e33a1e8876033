package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a clawbot started as a process of its own.
type process struct {
	*exec.Cmd
	home  string
	url   string
	token string // of the page, if it has one

	mu     sync.Mutex
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// lockedWriter lets a test read what a process is still writing.
type lockedWriter struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (p *process) output() (stdout, stderr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String(), p.stderr.String()
}

// command prepares clawbot with home as its home folder and no other
// environment. The test binary runs as clawbot when that is its name.
func command(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(home, "bin", "clawbot")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, name); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home}
	return cmd
}

var pageLine = regexp.MustCompile(`(?m)^ +web +on +(http://\S+)`)

// startRun starts `clawbot run` with a configuration and waits for its page.
func startRun(t *testing.T, home, toml string, env ...string) *process {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, "clawbot.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: command(t, home, "run"), home: home}
	p.Env = append(p.Env, env...)
	p.Stderr = lockedWriter{&p.mu, &p.stderr}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
		if t.Failed() {
			stdout, stderr := p.output()
			t.Logf("stdout:\n%s\nstderr:\n%s", stdout, stderr)
		}
	})
	lines := bufio.NewReader(out)
	for p.url == "" {
		line, err := lines.ReadString('\n')
		p.mu.Lock()
		p.stdout.WriteString(line)
		p.mu.Unlock()
		if m := pageLine.FindStringSubmatch(line); m != nil {
			p.url = m[1]
		}
		if err != nil {
			_ = p.Wait()
			_, stderr := p.output()
			t.Fatalf("clawbot run ended before it served:\n%s", stderr)
		}
	}
	go func() { _, _ = io.Copy(lockedWriter{&p.mu, &p.stdout}, lines) }()
	return p
}

// end sends a signal and returns the exit code.
func (p *process) end(t *testing.T, s os.Signal) int {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

const demoConfig = "[agent]\nmodel = \"demo/demo\"\n[server]\nlisten = \"127.0.0.1:0\"\n"

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestRunTellsWhatIsOnServesAndEndsCleanlyOnASignal(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		p := startRun(t, t.TempDir(), demoConfig, "TELEGRAM_BOT_TOKEN=1:a")
		if code, body := get(t, p.url+"readyz"); code != http.StatusOK {
			t.Errorf("/readyz: %d %s", code, body)
		}
		if code, body := get(t, p.url); code != http.StatusOK || !strings.Contains(body, "<html") {
			t.Errorf("the page: %d %s", code, body)
		}
		if code := p.end(t, s); code != 0 {
			t.Errorf("after %s the exit code is %d", s, code)
		}
		stdout, stderr := p.output()
		for _, want := range []string{
			`(?m)^  config +clawbot.toml$`, `(?m)^  model +demo/demo$`, `(?m)^  store +sqlite /.*/clawbot.db$`,
			`(?m)^  workspace +/.*/workspace$`, `(?m)^  telegram +off  TELEGRAM_BOT_TOKEN is set, but clawbot.toml has no table \[channels.telegram\]$`,
		} {
			if !regexp.MustCompile(want).MatchString(stdout) {
				t.Errorf("stdout lacks %s:\n%s", want, stdout)
			}
		}
		if strings.Contains(stderr, "level=WARN") || strings.Contains(stderr, "level=ERROR") {
			t.Errorf("a clean run complains:\n%s", stderr)
		}
	}
}

func TestASecondRunOnTheSameDatabaseNamesTheFirst(t *testing.T) {
	home := t.TempDir()
	p := startRun(t, home, demoConfig)
	out, err := command(t, home, "run").CombinedOutput()
	want := fmt.Sprintf("clawbot: open store: %s is in use by process %d: stop that clawbot first, or set store.path to another file\n",
		filepath.Join(home, "clawbot.db"), p.Process.Pid)
	if err == nil || string(out) != want {
		t.Errorf("the second run: %v\n got %s\nwant %s", err, out, want)
	}
}

func TestChatBesideARunUsesTheMemoryStoreAndSaysSo(t *testing.T) {
	home := t.TempDir()
	p := startRun(t, home, demoConfig)
	cmd := command(t, home, "chat", "-m", "read README.md and tell me its first heading")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("chat: %v\n%s", err, stderr.String())
	}
	if !strings.Contains(stdout.String(), "The workspace") {
		t.Errorf("stdout: %s", stdout.String())
	}
	if want := fmt.Sprintf("process %d has", p.Process.Pid); !strings.Contains(stderr.String(), want) || !strings.Contains(stderr.String(), "memory store") {
		t.Errorf("stderr: %s", stderr.String())
	}
}

func TestAnAddressThatIsTakenIsToldInOneLine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	home := t.TempDir()
	toml := strings.Replace(demoConfig, "127.0.0.1:0", l.Addr().String(), 1)
	if err := os.WriteFile(filepath.Join(home, "clawbot.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, home, "run").CombinedOutput()
	if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "server.listen: "+l.Addr().String()+" is taken") {
		t.Errorf("run: %v\n%s", err, out)
	}
}

// stuckModel is a model server that answers only when its client goes away.
func stuckModel(t *testing.T) (address string, asked <-chan struct{}) {
	t.Helper()
	ch := make(chan struct{}, 16)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		ch <- struct{}{}
		<-r.Context().Done()
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return "http://" + l.Addr().String(), ch
}

func stuckConfig(address, drain string) string {
	return fmt.Sprintf("[agent]\nmodel = \"stuck/x\"\n[providers.stuck]\nformat = \"openai\"\nbase_url = %q\n[server]\nlisten = \"127.0.0.1:0\"\ndrain = %q\n", address, drain)
}

// say sends a message by the page's own endpoint.
func say(t *testing.T, p *process, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.url+"api/conversations/c1/messages",
		strings.NewReader(fmt.Sprintf(`{"text":%q}`, text)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("the message was answered with %d: %s", resp.StatusCode, body)
	}
}

func TestARunThatDoesNotEndIsHandedOffAndTakenUpByTheNextStart(t *testing.T) {
	address, asked := stuckModel(t)
	home := t.TempDir()
	p := startRun(t, home, stuckConfig(address, "100ms"))
	say(t, p, "work")
	<-asked
	if code := p.end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	startRun(t, home, stuckConfig(address, "100ms"))
	<-asked // the message is answered by the new process
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	address, asked := stuckModel(t)
	p := startRun(t, t.TempDir(), stuckConfig(address, "10m"))
	say(t, p, "work")
	<-asked
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// The first signal has been seen once the bot is not ready any more.
	for code := http.StatusOK; code == http.StatusOK; {
		code, _ = get(t, p.url+"readyz")
		waitABit(t)
	}
	if code := p.end(t, syscall.SIGTERM); code != 1 {
		t.Errorf("the exit code is %d", code)
	}
	if _, stderr := p.output(); !strings.Contains(stderr, "leaving at once") {
		t.Errorf("stderr: %s", stderr)
	}
}

// waitABit paces polling of another process.
func waitABit(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}
