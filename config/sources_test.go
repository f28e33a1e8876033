package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"clawbot/internal/redact"
)

func TestTheFileIsLookedForInOrder(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{"flag.toml", "env.toml", "work/clawbot.toml", "xdg/clawbot/config.toml"} {
		write(t, filepath.Join(root, f), fmt.Sprintf("agent.name = %q\n", f))
	}
	l := Loader{
		Path: filepath.Join(root, "flag.toml"), WorkDir: filepath.Join(root, "work"),
		Env: environment("CLAWBOT_CONFIG="+filepath.Join(root, "env.toml"), "XDG_CONFIG_HOME="+filepath.Join(root, "xdg"), "HOME="+root),
	}
	check := func(want string) {
		t.Helper()
		cfg, err := l.Load()
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Agent.Name != want {
			t.Errorf("read %s, want %s", cfg.Agent.Name, want)
		}
	}
	check("flag.toml")
	l.Path = ""
	check("env.toml")
	l.Env = environment("XDG_CONFIG_HOME="+filepath.Join(root, "xdg"), "HOME="+root)
	check("work/clawbot.toml")
	l.WorkDir = root
	check("xdg/clawbot/config.toml")
	l.Env = environment("HOME=" + filepath.Join(root, "nobody"))
	check("clawbot")
}

func TestWithoutAFileDataIsInTheDataFolder(t *testing.T) {
	root := t.TempDir()
	for env, want := range map[string]string{
		"XDG_DATA_HOME=/data": "/data/clawbot",
		"XDG_DATA_HOME=rel":   filepath.Join(root, ".local/share/clawbot"),
		"X=":                  filepath.Join(root, ".local/share/clawbot"),
	} {
		cfg, err := (&Loader{WorkDir: root, Env: environment(env, "HOME="+root)}).Load()
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Store.Path; got != filepath.Join(want, "clawbot.db") {
			t.Errorf("with %s, store.path = %s", env, got)
		}
		if got := cfg.Tools.Workspace; got != filepath.Join(want, "workspace") {
			t.Errorf("with %s, tools.workspace = %s", env, got)
		}
	}
	if _, err := (&Loader{WorkDir: root, Env: environment()}).Load(); err == nil || !strings.Contains(err.Error(), "set HOME or XDG_DATA_HOME") {
		t.Errorf("without any home: %v", err)
	}
}

func TestAFileThatIsNamedMustBeThere(t *testing.T) {
	root := t.TempDir()
	for _, l := range []*Loader{
		{Path: filepath.Join(root, "none.toml"), Env: environment()},
		{Env: environment("CLAWBOT_CONFIG=" + filepath.Join(root, "none.toml"))},
	} {
		_, err := l.Load()
		if err == nil || !strings.Contains(err.Error(), "none.toml: there is no such file") || !strings.Contains(err.Error(), "clawbot config init") {
			t.Errorf("Load() = %v", err)
		}
	}
	if _, err := (&Loader{Path: root, Env: environment()}).Load(); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
}

func TestVariablesComeFromTheEnvironmentThenFromDotenv(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".env"), "\ufeff# comment\r\nA=from dotenv # why\r\nexport B='single $x # kept'\nC=\"dou\\\"ble\\n\" # c\n D = spaced \nE=\nF=x#y\n")
	cfg, err := loadIn(t, dir, "[tools]\nenabled = [\"${A}\", \"${B}\", \"${C}\", \"${D}\", \"${F}\", \"a${A}b${D}\"]\n", "A=", "D=from environment")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"from dotenv", "single $x # kept", "dou\"ble\n", "from environment", "x#y", "afrom dotenvbfrom environment"}
	if diff := cmp.Diff(want, cfg.Tools.Enabled); diff != "" {
		t.Error(diff)
	}
	if len(cfg.Origin.Warnings) > 0 {
		t.Errorf("warnings: %v", cfg.Origin.Warnings)
	}

	_, err = loadIn(t, dir, "[agent]\nname = \"${E}\"\n")
	if err == nil || !strings.Contains(err.Error(), "the environment variable E is empty") {
		t.Errorf("an empty variable: %v", err)
	}

	write(t, filepath.Join(dir, ".env"), "fine=1\nsecret words\nX=\"open\nY='a'b\n")
	_, err = loadIn(t, dir, "")
	got := problems(t, err)
	if len(got) != 3 || got[0] != ".env:2:1: want NAME=value" || strings.Contains(fmt.Sprint(got), "secret") {
		t.Errorf("malformed lines: %q", got)
	}
}

func TestSecretsThatEverybodyCanReadAreWarnedOf(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".env"), "A=1\n")
	if err := os.Chmod(filepath.Join(dir, ".env"), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "clawbot.toml")
	write(t, file, "[server]\ntoken = \"literal-token\"\n")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := (&Loader{Path: file, Env: environment()}).Load()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range cfg.Origin.Warnings {
		got = append(got, w.String())
	}
	if len(got) != 2 || !strings.Contains(got[0], ".env") || !strings.Contains(got[1], "server.token") || strings.Count(fmt.Sprint(got), "chmod 600") != 2 {
		t.Errorf("warnings: %q", got)
	}
}

func TestWithoutAFileTheEnvironmentSwitchesChannelsOn(t *testing.T) {
	root := t.TempDir()
	env := environment("HOME="+root, "TELEGRAM_BOT_TOKEN=1:a", "SLACK_BOT_TOKEN=xoxb", "DISCORD_BOT_TOKEN=d", "CLAWBOT_TOKEN=t")
	cfg, err := (&Loader{WorkDir: root, Env: env, Channels: []string{"telegram", "web"}}).Load()
	if err != nil {
		t.Fatal(err)
	}
	ch := cfg.Channels
	if ch.Telegram == nil || ch.Telegram.Token != "1:a" || ch.Telegram.APIURL != "https://api.telegram.org" {
		t.Errorf("telegram: %#v", ch.Telegram)
	}
	if ch.Slack != nil || ch.Discord != nil {
		t.Error("channels are on that the program doesn't have")
	}
	if got := cfg.Server.Token.Reveal(); !slices.Equal(got, []string{"t"}) {
		t.Errorf("server.token: %q", got)
	}

	cfg, err = loadIn(t, root, "", "HOME="+root, "TELEGRAM_BOT_TOKEN=1:a")
	if err != nil || cfg.Channels.Telegram != nil {
		t.Errorf("with a file that has no telegram: %v, %v", cfg.Channels.Telegram, err)
	}
	cfg, err = loadIn(t, root, "[channels.telegram]\n", "HOME="+root, "TELEGRAM_BOT_TOKEN=1:a")
	if err != nil || cfg.Channels.Telegram.Token != "1:a" {
		t.Errorf("a table without a token takes the variable's: %v", err)
	}
}

func TestAChannelThatTheProgramLacksIsRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "clawbot.toml"), "[channels.slack]\nbot_token = \"a\"\napp_token = \"b\"\n[agent]\nmodel = \"p/x\"\n[providers.p]\nformat = \"google\"\nbase_url = \"http://x\"\n")
	_, err := (&Loader{Path: filepath.Join(dir, "clawbot.toml"), Env: environment(), Channels: []string{"web"}, Formats: []string{"openai"}}).Load()
	got := problems(t, err)
	if len(got) != 2 || !strings.HasPrefix(got[0], "clawbot.toml:1:11: channels.slack: this version of clawbot has no channel slack") ||
		!strings.HasPrefix(got[1], `clawbot.toml:7:1: providers.p.format: "google" is none of openai`) {
		t.Errorf("got %q", got)
	}
}

func TestTheFirstModelWhoseKeyIsAtHandIsChosen(t *testing.T) {
	for _, tt := range []struct{ env, model, key, why string }{
		{"ANTHROPIC_API_KEY=a OPENAI_API_KEY=b", "anthropic/claude-sonnet-4-6", "a", "ANTHROPIC_API_KEY is set"},
		{"ANTHROPIC_API_KEY= OPENAI_API_KEY=b MISTRAL_API_KEY=m", "openai/gpt-5-mini", "b", "OPENAI_API_KEY is set"},
		{"GOOGLE_API_KEY=g MISTRAL_API_KEY=m", "google/gemini-2.5-flash", "g", "GOOGLE_API_KEY is set"},
		{"MISTRAL_API_KEY=m", "mistral/mistral-medium-latest", "m", "MISTRAL_API_KEY is set"},
	} {
		root := t.TempDir()
		cfg, err := (&Loader{WorkDir: root, Env: environment(append(strings.Fields(tt.env), "HOME="+root)...)}).Load()
		if err != nil {
			t.Fatal(err)
		}
		found := cfg.Detect(t.Context())
		name, _, _ := strings.Cut(found.Model, "/")
		if found.Model != tt.model || cfg.Agent.Model != tt.model || found.Why != tt.why || cfg.Providers[name].APIKey.First().Reveal() != tt.key {
			t.Errorf("with %s: %+v, key %q", tt.env, found, cfg.Providers[name].APIKey.Reveal())
		}
	}
	cfg, err := load(t, "[agent]\nmodel = \"demo/demo\"\n", "ANTHROPIC_API_KEY=a")
	if err != nil || cfg.Detect(t.Context()).Model != "" || cfg.Agent.Model != "demo/demo" {
		t.Errorf("a configured model was replaced: %v, %s", err, cfg.Agent.Model)
	}
}

func TestWithoutKeysAnOllamaIsAskedThenTheDemoModelServes(t *testing.T) {
	answer := `{"models":[{"name":"nomic-embed-text:latest"},{"name":"qwen3:8b"}]}`
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/tags" {
			http.NotFound(w, r)
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer ollama.Close()
	detect := func() Detected {
		cfg, err := load(t, "[providers.ollama]\nbase_url = \""+ollama.URL+"\"\n", "HTTP_PROXY=http://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Detect(t.Context())
	}
	if got := detect().Model; got != "ollama/qwen3:8b" {
		t.Errorf("Detect() = %q, want Ollama's first chat model", got)
	}
	answer = `{"models":[]}`
	if got := detect().Model; got != "demo/demo" {
		t.Errorf("with an Ollama without models, Detect() = %q", got)
	}
	answer = `<html>`
	if got := detect(); got.Model != "demo/demo" || !strings.Contains(got.Why, "ANTHROPIC_API_KEY") {
		t.Errorf("with something else on the port, Detect() = %+v", got)
	}
}

type outside struct {
	City  string        `toml:"city"`
	Token redact.Secret `toml:"token"`
}

func (o *outside) Validate() error {
	if o.City == "" {
		return errors.New("city is missing; name one")
	}
	return nil
}

func TestAnOutsideSectionIsDecodedAndChecked(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "clawbot.toml")
	l := &Loader{Path: file, Env: environment("T=secret")}
	section := outside{City: "Lima"}
	if err := l.Section("weather", &section); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weather", "agent"} {
		if l.Section(name, &outside{}) == nil {
			t.Errorf("the name %q was taken twice", name)
		}
	}
	if l.Section("other", outside{}) == nil {
		t.Error("a target that can't be written to was taken")
	}
	write(t, file, "[weather]\ntoken = \"${T}\"\n")
	if _, err := l.Load(); err != nil || section.City != "Lima" || section.Token != "secret" {
		t.Errorf("section = %#v, %v", section, err)
	}
	write(t, file, "[weather]\nctiy = \"x\"\n")
	_, err := l.Load()
	if got := problems(t, err); len(got) != 1 || got[0] != "clawbot.toml:2:1: weather.ctiy: unknown key; did you mean weather.city?" {
		t.Errorf("problems: %q", got)
	}
	write(t, file, "[weather]\ncity = \"\"\n")
	_, err = l.Load()
	if got := problems(t, err); len(got) != 1 || got[0] != "clawbot.toml:1:2: weather: city is missing; name one" {
		t.Errorf("problems: %q", got)
	}
}

func TestALoadedConfigurationPrintsNoSecretAndListsThemAll(t *testing.T) {
	cfg, err := load(t, `[providers.p]
format = "openai"
base_url = "http://user:pass-of-base@host"
proxy = "http://user:pass-of-proxy@host"
api_key = ["secret-key-1", "secret-key-2"]
headers = { X = "secret header" }
[server]
token = "secret-token"
[store]
url = "redis://:pass-of-redis@host"
[channels.telegram.accounts.a]
token = "secret-account"
`)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(cfg.Server)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprintf("%+v", cfg.Server), fmt.Sprintf("%#v", cfg.Channels.Telegram.Accounts), fmt.Sprintf("%v", cfg.Providers["p"].APIKey), string(asJSON)} {
		if strings.Contains(text, "secret-") {
			t.Errorf("a secret is printed: %s", text)
		}
	}
	got := cfg.Secrets()
	slices.Sort(got)
	want := []string{"pass-of-base", "pass-of-proxy", "pass-of-redis", "secret header", "secret-account", "secret-key-1", "secret-key-2", "secret-token"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASettingThatTheProgramDoesNotActOnIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clawbot.toml")
	l := &Loader{Path: file, Env: environment(), Absent: []Absent{
		{Key: "budget.daily_usd", Message: "is not enforced", Refuse: true},
		{Key: "tools.mcp", Message: "is not used"},
		{Key: "skills.dirs", Message: "is not used"},
		{Key: "channels.telegram.reply_in", Message: "is not used"},
	}}
	write(t, file, Example())
	if cfg, err := l.Load(); err != nil || len(cfg.Origin.Warnings) > 0 {
		t.Errorf("the defaults are complained of: %v", err)
	}
	write(t, file, "[skills]\ndirs = [\"skills\", \"more\"]\n[tools.mcp.x]\ncommand = [\"a\"]\n[channels.telegram]\ntoken = \"1:a\"\nreply_in = \"channel\"\n")
	cfg, err := l.Load()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range cfg.Origin.Warnings {
		w.File = "f"
		got = append(got, w.String())
	}
	want := []string{"f:2:1: skills.dirs: is not used", "f:3:8: tools.mcp: is not used", "f:7:1: channels.telegram.reply_in: is not used"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	write(t, file, "[budget]\ndaily_usd = 5\n")
	_, err = l.Load()
	if got := problems(t, err); len(got) != 1 || got[0] != "clawbot.toml:2:1: budget.daily_usd: is not enforced" {
		t.Errorf("problems: %q", got)
	}
}
