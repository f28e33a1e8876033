package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	checkTimeout = 3 * time.Second
	// A result is good for this long, so that probes from many sides cost one.
	checkFresh = time.Second
)

// alive answers /healthz: the process serves requests. It touches nothing else,
// so that an outage elsewhere never gets the process killed.
func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("ok\n"))
}

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready  bool          `json:"ready"`
	Checks []CheckResult `json:"checks"`
}

// CheckResult is what one [Check] found. Error names the remedy.
type CheckResult struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	result := s.health.run(r.Context())
	if s.stopping.Load() {
		result = Readiness{Checks: []CheckResult{{Name: "server", Error: "shutting down"}}}
	}
	status := http.StatusOK
	if !result.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, result)
}

// health runs the checks, once for everybody who asks at the same time.
type health struct {
	checks []Check

	mu   sync.Mutex
	last Readiness
	at   time.Time
	busy []chan CheckResult // of checks that outlived their time
}

func (h *health) run(ctx context.Context) Readiness {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.at.IsZero() && time.Since(h.at) < checkFresh {
		return h.last
	}
	if h.busy == nil {
		h.busy = make([]chan CheckResult, len(h.checks))
	}
	// One prober going away must not fail the checks for the next.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	for i, c := range h.checks {
		if h.busy[i] == nil {
			h.busy[i] = start(ctx, c)
		}
	}
	result := Readiness{Ready: true, Checks: make([]CheckResult, len(h.checks))}
	for i, c := range h.checks {
		select {
		case result.Checks[i] = <-h.busy[i]:
			h.busy[i] = nil
		case <-ctx.Done():
			result.Checks[i] = CheckResult{Name: c.Name, Error: fmt.Sprintf("no answer within %s", checkTimeout)}
		}
		result.Ready = result.Ready && result.Checks[i].OK
	}
	h.last, h.at = result, time.Now()
	return result
}

func start(ctx context.Context, c Check) chan CheckResult {
	done := make(chan CheckResult, 1)
	go func() {
		result := CheckResult{Name: c.Name, OK: true}
		defer func() {
			if p := recover(); p != nil {
				result.OK, result.Error = false, fmt.Sprintf("the check panicked: %v", p)
			}
			done <- result
		}()
		if err := c.Check(ctx); err != nil {
			result.OK, result.Error = false, err.Error()
		}
	}()
	return done
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) // the client is gone if this fails
}
