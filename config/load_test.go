package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestTheExampleLoadsAndIsTheDefaults(t *testing.T) {
	path := filepath.Join("..", "config.example.toml")
	got, err := (&Loader{Path: path, Env: environment()}).Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Origin.Warnings) > 0 {
		t.Errorf("the example has warnings: %v", got.Origin.Warnings)
	}
	want := Default()
	absolute(reflect.ValueOf(want).Elem(), "", got.Origin.Dir)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Config{}, "Origin")); diff != "" {
		t.Errorf("the example differs from the defaults (-default +example):\n%s", diff)
	}
}

func TestTheEmbeddedExampleIsTheOneAtTheRoot(t *testing.T) {
	root, err := os.ReadFile(filepath.Join("..", "config.example.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if string(root) != Example() {
		t.Error("config.example.toml was changed without this package's copy; run: go generate ./config")
	}
}

// uncommented is the example with every key switched on.
func uncommented() string {
	return regexp.MustCompile(`(?m)^#([^ \n#])`).ReplaceAllString(Example(), "$1")
}

func TestTheExampleHasEveryKeyAndEveryKeyOfItLoads(t *testing.T) {
	text := strings.Replace(uncommented(), "system_prompt = \"You are …\"\n", "", 1) // excludes system_prompt_file
	text = strings.Replace(text, "system_prompt = \"You write code. …\"\n", "", 1)
	variables := regexp.MustCompile(`\$\{([A-Z_]+)\}`).FindAllStringSubmatch(text, -1)
	var env []string
	for _, v := range variables {
		env = append(env, v[1]+"=value-of-"+v[1])
	}
	env = append(env, "OPENAI_API_KEY=value")
	cfg, err := load(t, text, env...)
	if err != nil {
		t.Fatalf("with every key switched on, the example does not load:\n%v", err)
	}
	if got := cfg.Channels.Telegram.Accounts["work"].Token.Reveal(); got != "value-of-TELEGRAM_WORK_TOKEN" {
		t.Errorf("the account's token is %q", got)
	}

	doc := parse("example", []byte(uncommented()), &report{})
	for _, key := range Keys() {
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(key), "NAME", `("[^"]*"|[^.]+)`) + "$")
		found := false
		for place := range doc.places {
			found = found || pattern.MatchString(place)
		}
		if !found {
			t.Errorf("config.example.toml lacks %s", key)
		}
	}
}

func TestSettingsArriveWhereTheyBelong(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "token"), "first-token\n")
	cfg, err := loadIn(t, dir, `
[agent]
model = "local/qwen/qwen3-30b"
temperature = 1
fallbacks = ["demo/demo"]
[providers.local]
format = "openai"
base_url = "http://10.0.0.7:8000/v1"
api_key = ["${ONE}", "two"]
headers = { Authorization = "Bearer ${ONE}" }
compat.strict = true
models."qwen/qwen3-30b" = { window = 32768, price = { input = 1, cache_read = 0.5 } }
[server]
token = "${file:token}"
drain = "0s"
[store]
path = "data/bot.db"
[access]
owners = ["telegram:12345"]
[channels.telegram]
token = "${T}"
allow_from = [12345, "-100123"]
dm_policy = "allowlist"
api_url = "http://127.0.0.1:9/"
[channels.telegram.accounts.work]
token = "$${not-a-reference}"
reply_in = "channel"
[tools]
deny = ["ex*"]
[tools.channels."telegram:-100123"]
enabled = ["search"]
`, "ONE=1st", "T=1:a")
	if err != nil {
		t.Fatal(err)
	}
	p := cfg.Providers["local"]
	if diff := cmp.Diff([]string{"1st", "two"}, p.APIKey.Reveal()); diff != "" {
		t.Errorf("api_key: %s", diff)
	}
	if got := p.Headers["Authorization"].Reveal(); got != "Bearer 1st" {
		t.Errorf("headers.Authorization = %q", got)
	}
	if m := p.Models["qwen/qwen3-30b"]; m.Window != 32768 || m.Price == nil || m.Price.CacheRead != 0.5 || m.Price.Input != 1 {
		t.Errorf("models: %+v", m)
	}
	if p.Compat.Strict == nil || !*p.Compat.Strict {
		t.Error("compat.strict did not arrive")
	}
	if cfg.Agent.Temperature == nil || *cfg.Agent.Temperature != 1 {
		t.Errorf("temperature = %v, want a whole number taken as 1.0", cfg.Agent.Temperature)
	}
	if got := cfg.Store.Path; got != filepath.Join(cfg.Origin.Dir, "data", "bot.db") {
		t.Errorf("store.path = %q is not relative to the file's folder", got)
	}
	if cfg.Server.Drain != 0 || cfg.Loop.Timeout != 10*time.Minute {
		t.Errorf("drain = %s, timeout = %s", cfg.Server.Drain, cfg.Loop.Timeout)
	}
	if got := cfg.Server.Token.First().Reveal(); got != "first-token" {
		t.Errorf("server.token = %q, want the file's content without its line break", got)
	}
	tg := cfg.Channels.Telegram
	if diff := cmp.Diff([]string{"12345", "-100123"}, tg.AllowFrom); diff != "" {
		t.Errorf("allow_from: %s", diff)
	}
	work := tg.Accounts["work"]
	if work.APIURL != "http://127.0.0.1:9/" || work.DMPolicy != "allowlist" || work.ReplyIn != "channel" || work.Token != "${not-a-reference}" {
		t.Errorf("the account did not begin as its channel: %#v", work)
	}
}
