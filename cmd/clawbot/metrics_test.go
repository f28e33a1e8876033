package main

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// freeAddress is an address of this machine that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestMetricsCountWhatTheRunningBotDid(t *testing.T) {
	metrics := freeAddress(t)
	p := startRun(t, t.TempDir(), demoConfig+"metrics_listen = \""+metrics+"\"\n")
	say(t, p, "read README.md and tell me its first heading")
	var body string
	for !strings.Contains(body, `clawbot_runs_total{channel="web",outcome="answered"} 1`) {
		waitABit(t)
		var code int
		if code, body = get(t, "http://"+metrics+"/metrics"); code != http.StatusOK {
			t.Fatalf("/metrics: %d %s", code, body)
		}
	}
	for _, want := range []string{
		`clawbot_messages_total{channel="web",outcome="message"} 1`,
		`clawbot_queue_wait_seconds_count{channel="web"} 1`,
		`clawbot_model_calls_total{model="demo/demo",stop="toolUse"} 1`,
		`clawbot_model_calls_total{model="demo/demo",stop="stop"} 1`,
		`clawbot_model_attempts_total{model="demo/demo",outcome="ok"} 2`,
		`clawbot_model_first_token_seconds_count{model="demo/demo"} 2`,
		`clawbot_tool_calls_total{outcome="ok",tool="read_file"} 1`,
		`clawbot_channel_receiving{channel="web"} 1`,
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if code, _ := get(t, p.url+"metrics"); code == http.StatusOK {
		t.Error("/metrics is on the page's address, too, though it has one of its own")
	}
}

func TestMetricsBesideThePageNeedItsToken(t *testing.T) {
	p := startRun(t, t.TempDir(), demoConfig+"token = \"a-long-enough-token-0123\"\n")
	if code, _ := get(t, p.url+"metrics"); code != http.StatusUnauthorized {
		t.Errorf("without the token: %d", code)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer a-long-enough-token-0123")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("with the token: %d", resp.StatusCode)
	}
}
