package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/channels"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// pages is a channels.Handler for tests.
type pages struct {
	pattern string
	handler http.HandlerFunc
}

func (p pages) Handler() (string, http.Handler) { return p.pattern, p.handler }

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }

// running is a server on a free port.
type running struct {
	*Server
	t      *testing.T
	base   string
	client *http.Client
	stop   func() error
}

func serve(t *testing.T, cfg Config) *running {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Pages == nil {
		cfg.Pages = []channels.Handler{pages{"/", hello}}
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	transport := &http.Transport{}
	r := &running{Server: s, t: t, base: strings.TrimSuffix(s.URL(), "/"), client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	r.stop = sync.OnceValue(func() error {
		cancel()
		defer transport.CloseIdleConnections()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			return errors.New("the server did not stop")
		}
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
	return r
}

type answer struct {
	status int
	header http.Header
	body   string
}

// do makes a request. Headers are "Name: value".
func (r *running) do(method, path, body string, headers ...string) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Add(name, value)
		}
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

func TestAnAddressThatOthersCanReachNeedsAToken(t *testing.T) {
	for _, listen := range []string{":8080", "0.0.0.0:0", "[::]:0", "192.0.2.1:80", "[2001:db8::1]:80", "0:80"} {
		_, err := New(Config{Listen: listen})
		if err == nil {
			// A name or an odd spelling is judged when it is resolved.
			s, _ := New(Config{Listen: listen})
			if err = s.Listen(); err == nil {
				t.Errorf("%s was listened on without a token", listen)
				_ = s.Close()
				continue
			}
		}
		if !strings.Contains(err.Error(), "server.token") && !strings.Contains(err.Error(), "server.listen") {
			t.Errorf("%s: the error names no remedy: %v", listen, err)
		}
	}
	for _, blank := range [][]string{nil, {}, {""}, {" \n"}} {
		if _, err := New(Config{Listen: ":0", Tokens: blank}); err == nil || !strings.Contains(err.Error(), "CLAWBOT_TOKEN") {
			t.Errorf("tokens %q: %v", blank, err)
		}
	}
	if _, err := New(Config{Listen: ":0", Tokens: []string{"x"}}); err != nil {
		t.Errorf("with a token: %v", err)
	}
}

func TestAWronglyWrittenAddressSaysHowToWriteIt(t *testing.T) {
	for _, listen := range []string{"8080", "127.0.0.1", "http://127.0.0.1:8080", "127.0.0.1:", "::1:8080"} {
		if _, err := New(Config{Listen: listen}); err == nil || !strings.Contains(err.Error(), "server.listen") || !strings.Contains(err.Error(), "127.0.0.1:8080") {
			t.Errorf("%s: %v", listen, err)
		}
	}
	if _, err := New(Config{MetricsListen: "9090"}); err == nil || !strings.Contains(err.Error(), "server.metrics_listen") {
		t.Errorf("metrics: %v", err)
	}
}

func TestATakenPortSaysWhichSettingToChange(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := New(Config{Listen: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "set server.listen") || !strings.Contains(err.Error(), "taken") {
		t.Errorf("got %v", err)
	}
	m, err := New(Config{Listen: "127.0.0.1:0", MetricsListen: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err = m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "set server.metrics_listen") {
		t.Errorf("got %v", err)
	}
}

func TestTheAddressThatIsReallyBoundIsReported(t *testing.T) {
	r := serve(t, Config{})
	if r.Addr().String() == "127.0.0.1:0" || r.URL() != "http://"+r.Addr().String()+"/" {
		t.Errorf("address %s, URL %s", r.Addr(), r.URL())
	}
	all := serve(t, Config{Listen: ":0", Tokens: []string{"a token of some length"}})
	if !strings.HasPrefix(all.URL(), "http://127.0.0.1:") {
		t.Errorf("the URL of every address is %s", all.URL())
	}
}

func TestWithoutATokenOnlyNamesOfThisMachineAreServed(t *testing.T) {
	r := serve(t, Config{})
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:8080": 200, "127.9.9.9": 200, "localhost": 200, "localhost:1": 200, "LocalHost": 200,
		"localhost.": 200, "bot.localhost:8080": 200, "[::1]": 200, "[::1]:8080": 200, "[::ffff:127.0.0.1]": 200,
		"evil.example": 403, "evil.example:8080": 403, "localhost.evil.example": 403, "127.0.0.1.nip.io": 403, "0.0.0.0": 403,
		"192.168.1.5": 403, "[::]": 403, "notlocalhost": 403, "127.0.0.1@evil.example": 403, "2130706433": 403, "127.1": 403,
		strings.Repeat("a", 5000): 403,
	} {
		got := r.do("GET", "/", "", "Host: "+host)
		if got.status != want {
			t.Errorf("Host %.40s got %d, want %d", host, got.status, want)
		}
		if want == 403 && !strings.Contains(got.body, "server.token") {
			t.Errorf("Host %.40s: no remedy in %s", host, got.body)
		}
	}
}

func TestWithoutATokenAProxyIsNotServed(t *testing.T) {
	r := serve(t, Config{})
	for _, h := range []string{"X-Forwarded-For: 203.0.113.9", "Forwarded: for=203.0.113.9", "X-Real-IP: 203.0.113.9", "X-Forwarded-Host: bot.example"} {
		if got := r.do("GET", "/", "", h); got.status != 403 || !strings.Contains(got.body, "server.token") {
			t.Errorf("%s got %d %s", h, got.status, got.body)
		}
	}
}

func TestAnotherSiteCanNeitherReadNorWrite(t *testing.T) {
	for name, cfg := range map[string]Config{"open": {}, "with a token": {Tokens: []string{"secret-token-secret"}}} {
		r := serve(t, cfg)
		bearer := "Authorization: Bearer secret-token-secret"
		for _, c := range []struct {
			method  string
			headers []string
			want    int
		}{
			{"GET", nil, 200},
			{"POST", nil, 200},
			{"GET", []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"}, 200},
			{"GET", []string{"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"}, 200},
			{"GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 200}, // a link
			{"GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403},
			{"GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
			{"GET", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"}, 403},
			{"POST", []string{"Sec-Fetch-Site: same-origin"}, 200},
			{"POST", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 403},
			{"POST", []string{"Sec-Fetch-Site: same-site"}, 403},
			{"POST", []string{"Origin: " + r.base}, 200},
			{"POST", []string{"Origin: https://evil.example"}, 403},
			{"POST", []string{"Origin: null"}, 403},
			{"POST", []string{"Origin: http://127.0.0.1:1"}, 403},
			{"DELETE", []string{"Origin: https://evil.example"}, 403},
		} {
			if got := r.do(c.method, "/", "", append(c.headers, bearer)...); got.status != c.want {
				t.Errorf("%s: %s %v got %d, want %d: %s", name, c.method, c.headers, got.status, c.want, got.body)
			}
		}
	}
}

func TestEveryPageCarriesTheHeadersThatLockItDown(t *testing.T) {
	r := serve(t, Config{Tokens: []string{"secret-token-secret"}})
	for _, got := range []answer{r.do("GET", "/login", ""), r.do("GET", "/", ""), r.do("GET", "/", "", "Authorization: Bearer secret-token-secret")} {
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("the policy lacks %s: %s", want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("the policy is loose: %s", policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got.header.Get(name) != want {
				t.Errorf("%s is %q", name, got.header.Get(name))
			}
		}
		if got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("other origins are allowed")
		}
	}
}

func TestHealthTouchesNothingAndReadinessGivesReasons(t *testing.T) {
	var broken error
	called := 0
	r := serve(t, Config{Tokens: []string{"secret-token-secret"}, Checks: []Check{
		{"store", func(context.Context) error { called++; return broken }},
		{"channel web", func(context.Context) error { return nil }},
		{"model", func(context.Context) error { panic("a bug") }},
	}})
	for range 3 {
		if got := r.do("GET", "/healthz", "", "Host: 10.1.2.3:8080"); got.status != 200 || got.body != "ok\n" {
			t.Errorf("health: %d %s", got.status, got.body)
		}
	}
	if called != 0 {
		t.Error("/healthz asked the store")
	}
	broken = errors.New("the disk is full: free some space")
	got := r.do("GET", "/readyz", "", "Host: 10.1.2.3:8080")
	var ready Readiness
	if err := json.Unmarshal([]byte(got.body), &ready); err != nil {
		t.Fatal(err)
	}
	if got.status != 503 || ready.Ready || len(ready.Checks) != 3 || ready.Checks[0] != (CheckResult{"store", false, broken.Error()}) ||
		!ready.Checks[1].OK || !strings.Contains(ready.Checks[2].Error, "a bug") {
		t.Errorf("readiness: %d %+v", got.status, ready)
	}
	r.do("GET", "/readyz", "")
	if called != 1 {
		t.Errorf("two probes within a second made %d checks", called)
	}
}

func TestABotWithoutChecksIsReady(t *testing.T) {
	r := serve(t, Config{})
	if got := r.do("GET", "/readyz", ""); got.status != 200 || !strings.Contains(got.body, `"ready": true`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestWebhooksNeedNoTokenAndNoHostOfOurs(t *testing.T) {
	r := serve(t, Config{Webhooks: []channels.Handler{pages{"POST /webhooks/telegram", hello}}})
	got := r.do("POST", "/webhooks/telegram", "{}", "Host: bot.example", "X-Forwarded-For: 203.0.113.9", "Origin: https://telegram.org")
	if got.status != 200 || got.body != "hello" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := r.do("GET", "/other", "", "Host: bot.example"); got.status != 403 {
		t.Errorf("beside the webhook: %d", got.status)
	}
}

func TestMetricsAreBesideThePageWithTheTokenOrAlone(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "runs 1") })
	r := serve(t, Config{Tokens: []string{"secret-token-secret"}, Metrics: metrics})
	if got := r.do("GET", "/metrics", ""); got.status != 401 {
		t.Errorf("without a token: %d", got.status)
	}
	if got := r.do("GET", "/metrics", "", "Authorization: Bearer secret-token-secret"); got.body != "runs 1" {
		t.Errorf("with the token: %d %s", got.status, got.body)
	}
	alone := serve(t, Config{Tokens: []string{"secret-token-secret"}, Metrics: metrics, MetricsListen: "127.0.0.1:0"})
	if got := alone.do("GET", "/metrics", "", "Authorization: Bearer secret-token-secret"); got.body == "runs 1" {
		t.Error("metrics are still beside the page")
	}
	alone.base = "http://" + alone.MetricsAddr().String()
	if got := alone.do("GET", "/metrics", ""); got.body != "runs 1" {
		t.Errorf("alone: %d %s", got.status, got.body)
	}
	if got := alone.do("GET", "/healthz", ""); got.status != 200 {
		t.Errorf("health beside the metrics: %d", got.status)
	}
	if got := alone.do("GET", "/", ""); got.status != 404 {
		t.Errorf("the page beside the metrics: %d", got.status)
	}
}

func TestStoppingEndsStreamsLetsRequestsFinishAndIsNotReady(t *testing.T) {
	inside, finish := make(chan struct{}), make(chan struct{})
	r := serve(t, Config{Pages: []channels.Handler{
		pages{"/stream", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			fmt.Fprint(w, "data: end\n\n")
		}},
		pages{"/slow", func(w http.ResponseWriter, r *http.Request) {
			close(inside)
			<-finish
			if r.Context().Err() != nil {
				t.Error("the request was cancelled")
			}
			fmt.Fprint(w, "done")
		}},
	}})
	req, _ := http.NewRequest(http.MethodGet, r.base+"/stream", nil)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if line, _ := lines.ReadString('\n'); line != "data: 1\n" {
		t.Fatalf("got %q", line)
	}
	slow := make(chan answer, 1)
	go func() { slow <- r.do("GET", "/slow", "") }()
	<-inside
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	rest, err := io.ReadAll(lines)
	if err != nil || !bytes.Contains(rest, []byte("end")) {
		t.Errorf("the stream ended with %q, %v", rest, err)
	}
	select {
	case err := <-stopped:
		t.Fatalf("it stopped with a request open: %v", err)
	default:
	}
	close(finish)
	if got := <-slow; got.body != "done" {
		t.Errorf("the open request got %d %s", got.status, got.body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestAServerThatIsStoppedBeforeItRanStopsAtOnce(t *testing.T) {
	s, err := New(Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestWeakSettingsAreWarnedOf(t *testing.T) {
	var log bytes.Buffer
	r := serve(t, Config{Listen: "0.0.0.0:0", Tokens: []string{"short"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r.do("GET", "/healthz", "")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "TLS") || !strings.Contains(log.String(), "short") {
		t.Errorf("logged %s", log.String())
	}
}
