package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"clawbot/gateway"
	"clawbot/internal/redact"
	"clawbot/internal/version"
)

// auditLog appends lines of JSON to a file, without the configuration's
// secrets. It follows a file that was moved away by making a new one. A nil
// auditLog keeps nothing.
type auditLog struct {
	path   string
	redact *redact.Redactor

	mu   sync.Mutex
	file *os.File
}

// openAudit opens the file, so that a bot that could not keep its audit log
// does not start. An empty path is no log.
func openAudit(path string, secrets *redact.Redactor) (*auditLog, error) {
	if path == "" {
		return nil, nil
	}
	a := &auditLog{path: path, redact: secrets}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.open(); err != nil {
		return nil, fmt.Errorf("log.audit: %w; name a file that clawbot may write", err)
	}
	return a, nil
}

func (a *auditLog) open() (err error) {
	a.file, err = os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	return err
}

// started notes which program with which configuration acts from now on.
func (a *auditLog) started(config string) error {
	if a == nil {
		return nil
	}
	return a.write(struct {
		At      time.Time `json:"at"`
		Event   string    `json:"event"`
		Version string    `json:"version"`
		Config  string    `json:"config,omitempty"`
		PID     int       `json:"pid"`
	}{time.Now(), "start", version.Get().Version, config, os.Getpid()})
}

// reconfigured notes that the configuration was changed, or that a new one was
// refused.
func (a *auditLog) reconfigured(config, outcome string, changes []string) error {
	if a == nil {
		return nil
	}
	return a.write(struct {
		At      time.Time `json:"at"`
		Event   string    `json:"event"`
		Config  string    `json:"config,omitempty"`
		Outcome string    `json:"outcome"`
		Changes []string  `json:"changes"`
	}{time.Now(), "config", config, outcome, changes})
}

// call is the function of [gateway.Config] that keeps tool calls; nil for a nil
// log.
func (a *auditLog) call() func(gateway.AuditRecord) error {
	if a == nil {
		return nil
	}
	return func(r gateway.AuditRecord) error { return a.write(r) }
}

func (a *auditLog) write(record any) error {
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	line = append([]byte(a.redact.String(string(line))), '\n')
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.follow(); err != nil {
		return err
	}
	_, err = a.file.Write(line) // whole, or not at all: the file is in append mode
	return err
}

// follow opens the file anew when another stands at its path, or none.
func (a *auditLog) follow() error {
	now, err := os.Stat(a.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		have, err := a.file.Stat()
		if err == nil && os.SameFile(now, have) {
			return nil
		}
	}
	old := a.file
	if err := a.open(); err != nil {
		a.file = old
		return err
	}
	return old.Close()
}

func (a *auditLog) close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.file.Close()
}
