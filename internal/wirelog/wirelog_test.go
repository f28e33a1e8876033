package wirelog_test

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/internal/redact"
	"clawbot/internal/wirelog"
)

const secret = "sk-very-secret-key"

// poster is a model that posts one request and reads the answer.
type poster struct {
	client *http.Client
	url    string
}

func (p *poster) Stream(ctx context.Context, _ *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(func(agentcore.StreamEvent, error) bool) {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(`{"model":"m","note":"`+secret+`"}`))
		req.Header.Set("X-Api-Key", secret)
		req.Header.Set("X-Other-Token", "unknown to anybody")
		resp, err := p.client.Do(req)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

func call(t *testing.T, log *wirelog.Log, url, session string) {
	t.Helper()
	model := wirelog.Sessions(&poster{&http.Client{Transport: log.Transport(http.DefaultTransport)}, url})
	for range model.Stream(t.Context(), &agentcore.Request{Session: session}) {
	}
}

func newLog(t *testing.T) *wirelog.Log {
	return &wirelog.Log{Dir: filepath.Join(t.TempDir(), "wire"), Redact: redact.New(secret), Logger: slog.New(slog.DiscardHandler)}
}

func recorded(t *testing.T, log *wirelog.Log, session string) []string {
	t.Helper()
	calls, err := log.Calls(session, time.Time{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// vendor streams the key back in two pieces.
func vendor(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{"data: {\"a\":1}\n\ndata: your key " + secret[:7], secret[7:] + " is fine\n\n", "data: [DONE]"} {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestACallIsKeptAsItWentButForSecrets(t *testing.T) {
	log := newLog(t)
	call(t, log, vendor(t)+"/v1/messages", "telegram:1:2/../x")
	calls := recorded(t, log, "telegram:1:2/../x")
	if len(calls) != 1 {
		t.Fatalf("%d calls are recorded, want 1", len(calls))
	}
	for _, part := range []string{
		"POST http://", "/v1/messages", "X-Api-Key: " + redact.Mask, "X-Other-Token: " + redact.Mask,
		`{"model":"m","note":"` + redact.Mask + `"}`, "200 OK", "Content-Type: text/event-stream",
		"data: {\"a\":1}\n\ndata: your key " + redact.Mask + " is fine\n\ndata: [DONE]",
	} {
		if !strings.Contains(calls[0], part) {
			t.Errorf("the record lacks %q:\n%s", part, calls[0])
		}
	}
	if strings.Contains(calls[0], secret) || strings.Contains(calls[0], "unknown to anybody") {
		t.Errorf("a secret is in the record:\n%s", calls[0])
	}
	if list, _ := filepath.Glob(filepath.Join(log.Dir, "*")); len(list) != 1 {
		t.Errorf("the session's name led out of the folder: %v", list)
	}
}

func TestACallWithoutAnAnswerSaysWhy(t *testing.T) {
	log := newLog(t)
	call(t, log, "http://127.0.0.1:1/", "s")
	if calls := recorded(t, log, "s"); len(calls) != 1 || !strings.Contains(calls[0], "no answer: ") {
		t.Errorf("the record is %q", calls)
	}
}

func TestCallsWithoutASessionAreNotKept(t *testing.T) {
	log := newLog(t)
	call(t, log, vendor(t), "")
	if _, err := os.Stat(log.Dir); !os.IsNotExist(err) {
		t.Errorf("something was kept: %v", err)
	}
}

func TestAFolderThatCannotBeWrittenDoesNotStopTheCall(t *testing.T) {
	log := newLog(t)
	if err := os.WriteFile(log.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	call(t, log, server.URL, "s")
	if !asked {
		t.Error("the model was not asked")
	}
}

func TestOldCallsAndAllBeyondAHundredGo(t *testing.T) {
	log := newLog(t)
	dir := filepath.Join(log.Dir, "s-s")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	keep := func(at time.Time) {
		name := at.UTC().Format("20060102T150405.000000000Z") + ".http"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep(time.Now().Add(-8 * 24 * time.Hour))
	for i := range 120 {
		keep(time.Now().Add(-time.Hour + time.Duration(i)*time.Second))
	}
	call(t, log, vendor(t), "s")
	if calls := recorded(t, log, "s"); len(calls) != 100 {
		t.Errorf("%d calls are kept, want 100", len(calls))
	}
	if err := log.Forget("s"); err != nil {
		t.Fatal(err)
	}
	if calls := recorded(t, log, "s"); len(calls) != 0 {
		t.Errorf("%d calls are left of a session that was deleted", len(calls))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	keep(time.Now().Add(-8 * 24 * time.Hour))
	if err := log.Sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the sweep left an old call: %v", err)
	}
}

func TestOnlyCallsOfTheTimeAreFound(t *testing.T) {
	log := newLog(t)
	url := vendor(t)
	before := time.Now()
	call(t, log, url, "s")
	middle := time.Now()
	call(t, log, url, "s")
	for _, c := range []struct {
		from, to time.Time
		want     int
	}{{before, middle, 1}, {middle, time.Now(), 1}, {before, time.Now(), 2}, {before.Add(-time.Hour), before.Add(-time.Minute), 0}} {
		calls, err := log.Calls("s", c.from, c.to)
		if err != nil || len(calls) != c.want {
			t.Errorf("%d calls (%v), want %d", len(calls), err, c.want)
		}
	}
}
