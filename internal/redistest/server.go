package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout bounds how long a server may take to accept connections.
const startTimeout = 30 * time.Second

// Server is a redis-server with a folder of its own.
type Server struct {
	// Addr is its host and port; a restart keeps them.
	Addr string
	// Dir holds its data.
	Dir  string
	args []string

	mu   sync.Mutex
	cmd  *exec.Cmd
	log  strings.Builder
	done chan struct{} // closed when the process has ended
}

// Durable are the settings under which nothing acknowledged is lost.
func Durable() []string { return []string{"--appendonly", "yes", "--appendfsync", "always"} }

// Start runs a server for a test. Settings are as on redis-server's command
// line. Without a redis-server the test fails: none is skipped.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := New(t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// StartSentinel runs a sentinel for a test; it rewrites its configuration file.
func StartSentinel(t testing.TB, config string) *Server {
	t.Helper()
	s := &Server{Dir: filepath.Dir(config)}
	var err error
	if s.Addr, err = freeAddr(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.Addr)
	if err := s.run(config, "--sentinel", "--port", port, "--bind", "127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// New runs a server with its data in dir. The caller kills it.
func New(dir string, settings ...string) (*Server, error) {
	s := &Server{Dir: dir, args: settings}
	// Another process may take a free port before the server does.
	var err error
	for range 5 {
		if s.Addr, err = freeAddr(); err != nil {
			return nil, err
		}
		if err = s.Restart(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
			return s, err
		}
	}
	return nil, err
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// URL is the server's address as store.url has it.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Restart starts the server again after Kill, with what its disk holds.
func (s *Server) Restart() error {
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	return s.run(append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", s.Dir, "--save", "", "--loglevel", "notice"}, s.args...)...)
}

// run starts the process and waits until it serves.
func (s *Server) run(args ...string) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return errors.New("redis-server is not in PATH: run `make deps`, or install it (Debian: apt-get install redis-server; macOS: brew install redis)")
	}
	cmd := exec.Command(path, args...)
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return err
	}
	ready, done := make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	s.cmd, s.done = cmd, done
	s.log.Reset()
	s.mu.Unlock()
	go s.read(cmd, out, ready, done)
	select {
	case <-ready:
		return nil
	case <-done:
		return fmt.Errorf("redis-server ended at once:\n%s", s.Log())
	case <-time.After(startTimeout):
		s.Kill()
		return fmt.Errorf("redis-server does not start:\n%s", s.Log())
	}
}

// read collects the server's log until it has ended.
func (s *Server) read(cmd *exec.Cmd, out *os.File, ready, done chan struct{}) {
	defer close(done)
	defer out.Close()
	var once sync.Once
	for lines := bufio.NewScanner(out); lines.Scan(); {
		s.mu.Lock()
		s.log.WriteString(lines.Text() + "\n")
		s.mu.Unlock()
		if strings.Contains(lines.Text(), "eady to accept connections") || strings.Contains(lines.Text(), "+monitor master") {
			once.Do(func() { close(ready) })
		}
	}
	_ = cmd.Wait() // how it ended is in the log
}

// RestartAs is Restart with further settings, which later starts have as well.
func (s *Server) RestartAs(settings ...string) error {
	s.args = append(s.args, settings...)
	return s.Restart()
}

// Log is what the server has printed since its latest start.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// Kill ends the server as a power cut of its process would, and waits.
func (s *Server) Kill() {
	_ = s.signal(syscall.SIGKILL)
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	if done != nil {
		<-done
	}
}

// Pause stops the server's process; connections stay and nobody answers.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return errors.New("redistest: the server was not started")
	}
	return s.cmd.Process.Signal(sig)
}

// LogSize is how many bytes the server's append-only files have.
func (s *Server) LogSize() (total int64) {
	files, _ := filepath.Glob(filepath.Join(s.Dir, "appendonlydir", "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			total += info.Size()
		}
	}
	return total
}
