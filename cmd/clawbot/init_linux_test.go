package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty is a terminal with somebody at it.
type pty struct {
	t    *testing.T
	self *os.File
	mu   sync.Mutex
	seen bytes.Buffer
	read int
	more chan struct{}
}

func newPTY(t *testing.T) (*pty, *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := master.SyscallConn() // and not Fd, after which Close would wait for Read
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var failed error
	err = conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		if failed == nil {
			n, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{t: t, self: master, more: make(chan struct{}, 1)}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			select {
			case p.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = master.Close() })
	return p, slave
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// expect waits until text is on the screen after what was waited for before, and
// types an answer.
func (p *pty) expect(text, answer string) {
	p.t.Helper()
	deadline := time.After(time.Minute)
	for {
		all := p.text()
		if i := strings.Index(all[p.read:], text); i >= 0 {
			p.read += i + len(text)
			break
		}
		select {
		case <-p.more:
		case <-deadline:
			p.t.Fatalf("%q is not asked; the screen has:\n%s", text, all)
		}
	}
	if _, err := p.self.WriteString(answer); err != nil {
		p.t.Fatal(err)
	}
}

func TestConfigInitAsksOnATerminalAndKeepsSecretsOffTheScreen(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".env"), []byte("OTHER=kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	screen, terminal := newPTY(t)
	cmd := command(t, home, "config", "init")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	const key, token = "sk-ant-secret-0123456789", "123456:token-secret-abcdefghijklmnopq"
	screen.expect("Where shall people talk", "")
	screen.expect("> ", "nowhere\n")
	screen.expect("One of the numbers, please.", "")
	screen.expect("> ", "telegram\n")
	screen.expect("Which model shall answer?", "")
	screen.expect("> ", "anthropic/claude-sonnet-4-6\n")
	screen.expect("Your own id in Telegram", "")
	screen.expect("> ", "12345\n")
	screen.expect("Key of anthropic (not shown): ", "a key\n")
	screen.expect("Paste it once more.", "")
	screen.expect("Key of anthropic (not shown): ", key+"\n")
	screen.expect("Token of the bot, from @BotFather (not shown): ", token+"\n")
	screen.expect("wrote clawbot.toml and .env", "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, screen.text())
	}
	if text := screen.text(); strings.Contains(text, key) || strings.Contains(text, token) {
		t.Errorf("a secret is on the screen:\n%s", text)
	}
	config, err := os.ReadFile(filepath.Join(home, "clawbot.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`model = "anthropic/claude-sonnet-4-6"`, `api_key = "${ANTHROPIC_API_KEY}"`, `token = "${TELEGRAM_BOT_TOKEN}"`, `owners = ["telegram:12345"]`} {
		if !strings.Contains(string(config), part) {
			t.Errorf("the configuration lacks %s:\n%s", part, config)
		}
	}
	env, err := os.ReadFile(filepath.Join(home, ".env"))
	if want := "OTHER=kept\nANTHROPIC_API_KEY='" + key + "'\nTELEGRAM_BOT_TOKEN='" + token + "'\n"; err != nil || string(env) != want {
		t.Errorf(".env: %v\n%s", err, env)
	}
	for _, name := range []string{".env", "clawbot.toml"} {
		if info, err := os.Stat(filepath.Join(home, name)); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if out, err := command(t, home, "config", "check").CombinedOutput(); err != nil {
		t.Errorf("config check: %v\n%s", err, out)
	}
}

func TestABotOfATerminalEndsWithItAndNotBefore(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "clawbot.toml"), []byte(demoConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	screen, terminal := newPTY(t)
	cmd := command(t, home, "run")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	screen.expect("web        on", "")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	screen.expect("the configuration was read anew", "")
	if err := screen.self.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the bot ended badly: %v\n%s", err, screen.text())
	}
}
