package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"clawbot/internal/redistest"
)

// replica is one worker, from process to process.
type replica struct {
	number int
	proxy  *redistest.Proxy
	// hindered is held while something is done to the replica.
	hindered sync.Mutex

	mu     sync.Mutex
	cmd    *exec.Cmd
	done   chan struct{}
	listen string
}

// start runs a process and waits until it has told its address.
func (r *replica) start(logFile string, env []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, "worker")
	cmd.Env, cmd.Stderr = env, log
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	address := make(chan string, 1)
	go func() {
		defer close(done)
		if lines := bufio.NewScanner(out); lines.Scan() {
			address <- strings.TrimSpace(lines.Text())
		}
		_ = cmd.Wait()
	}()
	r.mu.Lock()
	r.cmd, r.done = cmd, done
	r.mu.Unlock()
	select {
	case url := <-address:
		r.mu.Lock()
		r.listen = url
		r.mu.Unlock()
		return nil
	case <-done:
		return errors.New("it ended at once; see " + logFile)
	case <-time.After(30 * time.Second):
		return errors.New("it does not listen; see " + logFile)
	}
}

// url is where the replica listens, empty while it does not.
func (r *replica) url() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listen
}

func (r *replica) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(s) // it may have ended
	}
}

func (r *replica) down() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen = ""
	return r.done
}

func (r *replica) kill() {
	done := r.down()
	r.signal(syscall.SIGKILL)
	if done != nil {
		<-done
	}
}

// terminate asks the process to end and waits for it, not for ever.
func (r *replica) terminate() {
	done := r.down()
	r.signal(syscall.SIGTERM)
	select {
	case <-done:
	case <-time.After(15 * time.Second):
		r.kill()
	}
}
