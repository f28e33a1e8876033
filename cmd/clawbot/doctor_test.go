package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawbot/config"
	"clawbot/internal/redact"
	"clawbot/internal/redistest"
)

func TestDoctorBesideARunningBotSaysThatItRunsAndIsReady(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p := startRun(t, t.TempDir(), strings.Replace(demoConfig, "127.0.0.1:0", address, 1))
	out, err := p.beside(t, "", "doctor", "--json")
	if err != nil {
		t.Fatalf("doctor: %v\n%s", err, out)
	}
	var report report
	if err := json.Unmarshal([]byte(out), &report); err != nil || !report.OK {
		t.Fatalf("%v\n%s", err, out)
	}
	if report.Version == "" || filepath.Base(report.Config) != "clawbot.toml" || report.Failures != 0 || len(report.Findings) < 8 {
		t.Errorf("the report is not whole: %+v", report)
	}
	var said []string
	for _, f := range report.Findings {
		said = append(said, f.Check+": "+f.Message)
	}
	for _, want := range []string{"server: server.listen: a bot is running on " + address, "and a write is durable"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("doctor lacks %q:\n%s", want, strings.Join(said, "\n"))
		}
	}
	if code, body := get(t, p.url+"readyz"); code != http.StatusOK {
		t.Errorf("afterwards the bot is not ready: %d %s", code, body)
	}
}

func TestSecretsThatEverybodyCanReadAreWarnedOf(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("key", "a-secret-key-1\n", 0o644)
	write("hidden", "a-secret-key-2\n", 0o600)
	write("prompt.txt", "hello", 0o644)
	if err := os.Mkdir(filepath.Join(dir, "wire"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("clawbot.toml", `[agent]
model = "x/y"
system_prompt_file = "prompt.txt"
[providers.x]
format = "openai"
base_url = "http://127.0.0.1:1"
api_key = ["${file:key}", "${file:hidden}"]
[log]
wire = true
`, 0o644)
	l := newLoader()
	l.Path = filepath.Join(dir, "clawbot.toml")
	cfg, err := l.Load()
	if err != nil {
		t.Fatal(err)
	}
	list := (&doctor{cfg: cfg}).files(t.Context())
	if len(list) != 2 || list[0].Status != statusWarn || list[0].Remedy != "chmod 600 "+filepath.Join(dir, "key") || list[1].Remedy != "chmod 700 "+filepath.Join(dir, "wire") {
		t.Errorf("findings: %+v", list)
	}
}

func TestWhereSlackMustPostToIsSaid(t *testing.T) {
	cfg := config.Default()
	cfg.Channels.Slack = &config.Slack{SlackAccount: config.SlackAccount{
		ChannelAccess: config.ChannelAccess{Enabled: true}, BotToken: "xoxb-1", SigningSecret: "0123456789abcdef", Mode: "http",
		APIURL: "http://127.0.0.1:1/",
	}}
	log := slog.New(slog.DiscardHandler)
	for _, p := range platforms() {
		bots, err := p.make(&cfg.Channels, log)
		if err != nil {
			t.Fatal(err)
		}
		for _, bot := range bots {
			if f := slackRequests(bot, &cfg.Server); f.Status != statusInfo || !strings.Contains(f.Message, "https://YOUR-HOST/slack") {
				t.Errorf("finding: %+v", f)
			}
		}
	}
}

func TestAClockThatIsOffIsMeasuredByAServers(t *testing.T) {
	for ahead, want := range map[time.Duration]status{0: statusOK, 30 * time.Second: statusWarn, -time.Hour: statusFail} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		}))
		defer srv.Close()
		cfg := config.Default()
		cfg.Agent.Model = "x/y"
		cfg.Providers = map[string]config.Provider{"x": {BaseURL: srv.URL + "/v1"}}
		list := (&doctor{cfg: cfg}).clock(t.Context())
		if len(list) != 1 || list[0].Status != want {
			t.Errorf("a server that is %s ahead: %v, want %s", ahead, list, want)
		}
	}
}

func TestAPortThatAnotherProgramHasIsAFailure(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	cfg := config.Default()
	cfg.Server.Listen = srv.Listener.Addr().String()
	list := (&doctor{cfg: cfg}).server(t.Context())
	if len(list) != 1 || list[0].Status != statusFail || !strings.Contains(list[0].Remedy, "set server.listen to a free address") {
		t.Errorf("findings: %v", list)
	}
}

func TestAddressesThatTelegramCannotPostToAreFailures(t *testing.T) {
	for address, want := range map[string]status{
		"https://bot.example.com/telegram":      statusOK,
		"https://bot.example.com:8443/telegram": statusOK,
		"https://bot.example.com:8080/telegram": statusFail,
		"http://bot.example.com/telegram":       statusFail,
		"https://127.0.0.1/telegram":            statusFail,
		"https://192.168.1.7/telegram":          statusFail,
		"https://localhost/telegram":            statusFail,
	} {
		if f := telegramWebhook(&config.TelegramAccount{WebhookURL: address}, ":8080"); f.Status != want {
			t.Errorf("%s: %v", address, f)
		}
	}
}

func TestDoctorTellsWhichSettingsOfRedisLoseDataAndWhoseWorkspaceItIs(t *testing.T) {
	server := redistest.Start(t)
	cfg := config.Default()
	cfg.Store.Driver, cfg.Store.URL = "redis", redact.Secret(server.URL())
	cfg.Tools.Workspace = t.TempDir()
	d := &doctor{cfg: cfg, log: slog.New(slog.DiscardHandler)}
	said := func() string {
		var out strings.Builder
		for _, f := range d.store(t.Context()) {
			fmt.Fprintf(&out, "%s %s → %s\n", f.Status, f.Message, f.Remedy)
		}
		return out.String()
	}
	if out := said(); !strings.Contains(out, "ok redis, and a write is durable") || !strings.Contains(out, "appendonly") || strings.Contains(out, "workspace") {
		t.Errorf("a Redis as it comes:\n%s", out)
	}
	s, err := drivers()["redis"](t.Context(), cfg.Store, d.log)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := (sharedWorkspace{s.State(), t.TempDir()}).check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := said(); !strings.Contains(out, "fail tools.workspace: ") || !strings.Contains(out, "mount the same volume") {
		t.Errorf("another folder than the replicas':\n%s", out)
	}
}
