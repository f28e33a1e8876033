package main

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// beside runs a command beside a running bot and returns all that it prints.
func (p *process) beside(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := command(t, p.home, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestSessionsCanBeSeenCopiedAndDeletedBesideARunningBot(t *testing.T) {
	p := startRun(t, t.TempDir(), demoConfig)
	say(t, p, "hello")
	for {
		out, err := p.beside(t, "", "sessions", "list", "web:")
		if err != nil {
			t.Fatalf("list: %v\n%s", err, out)
		}
		if strings.Contains(out, "web:c1") && strings.Contains(out, "idle") {
			break
		}
		waitABit(t)
	}
	out, err := p.beside(t, "", "sessions", "show", "web:c1")
	if err != nil || !strings.Contains(out, "(web:local)") || !strings.Contains(out, "    hello\n") {
		t.Errorf("show: %v\n%s", err, out)
	}
	if out, err := p.beside(t, "", "backup", "copy.db"); err != nil {
		t.Errorf("backup: %v\n%s", err, out)
	}
	if info, err := os.Stat(filepath.Join(p.home, "copy.db")); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("the copy: %v, %v", info, err)
	}
	for answer, want := range map[string]string{"": "nothing was deleted: no answer", "web:c2\n": "nothing was deleted: that is not its name"} {
		if out, err := p.beside(t, answer, "sessions", "delete", "web:c1"); err == nil || !strings.Contains(out, want) {
			t.Errorf("delete answered with %q: %v\n%s", answer, err, out)
		}
	}
	out, err = p.beside(t, "web:c1\n", "sessions", "delete", "web:c1")
	if err != nil || !strings.HasSuffix(out, "deleted web:c1\n") {
		t.Fatalf("delete: %v\n%s", err, out)
	}
	if out, err := p.beside(t, "", "sessions", "list"); err != nil || strings.Contains(out, "web:c1") {
		t.Errorf("after the deletion: %v\n%s", err, out)
	}
	if _, body := get(t, p.url+"api/conversations/c1/messages"); strings.Contains(body, "hello") {
		t.Errorf("the page still has it: %s", body)
	}
}

func TestASessionThatIsAnsweredJustNowIsNotDeletedAndSaysWhy(t *testing.T) {
	address, asked := stuckModel(t)
	p := startRun(t, t.TempDir(), stuckConfig(address, "100ms"))
	say(t, p, "work")
	<-asked
	out, err := p.beside(t, "", "sessions", "delete", "--yes", "web:c1")
	want := fmt.Sprintf("web:c1 was not deleted: the bot (process %d) works on it; send /stop there", p.Process.Pid)
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("delete: %v\n got %s\nwant %s", err, out, want)
	}
}

func TestHealthcheckAsksTheAddressThatIsConfigured(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			w.WriteHeader(status)
		}))
		defer srv.Close()
		_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		for _, listen := range []string{"127.0.0.1:" + port, ":" + port, "0.0.0.0:" + port} {
			if err := healthy(t.Context(), listen); (err == nil) != (status == http.StatusOK) {
				t.Errorf("%s answers %d: %v", listen, status, err)
			}
		}
	}
}
