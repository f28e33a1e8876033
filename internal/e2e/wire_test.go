package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawbot/internal/modeltest"
)

func TestATurnIsShownAsItWentOverTheWire(t *testing.T) {
	failed := false
	w := newWorld(t, options{config: "[log]\nwire = true", script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		if !failed {
			failed = true
			return modeltest.Turn{Status: 503, Message: "the engine is full"}
		}
		return modeltest.Say("You asked: " + req.LastUser() + ", with sk-test-canary-0123456789")
	}})
	w.say("first")
	w.saying("You asked: first")
	w.say("second")
	w.saying("You asked: second")

	out := w.cli("sessions", "show", "telegram:", "--wire", "1")
	for _, part := range []string{"POST http://", "Authorization: ", `"content":"first"`, "503 Service Unavailable", "the engine is full", "200 OK", "data: {"} {
		if !strings.Contains(out, part) {
			t.Errorf("the first turn's wire lacks %q:\n%s", part, out)
		}
	}
	if strings.Count(out, "POST ") != 2 || strings.Contains(out, "sk-test-canary") || strings.Contains(out, `"content":"second"`) {
		t.Errorf("the first turn's wire should have two attempts, no key and nothing of the next turn:\n%s", out)
	}
	if out := w.cli("sessions", "show", "telegram:", "--wire", "last"); strings.Count(out, "POST ") != 1 || !strings.Contains(out, `"content":"second"`) {
		t.Errorf("the last turn's wire:\n%s", out)
	}

	session := strings.Fields(w.cli("sessions", "show", "telegram:"))[0]
	w.cli("sessions", "delete", session, "--yes")
	if left, err := filepath.Glob(filepath.Join(w.dir, "wire", "*")); err != nil || len(left) > 0 {
		t.Errorf("a deleted conversation left %v (%v)", left, err)
	}
	if info, err := os.Stat(filepath.Join(w.dir, "wire")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is open to others: %v %v", info, err)
	}
}
