package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func listed(t *testing.T, c *Config, key string) Setting {
	t.Helper()
	list := c.Settings()
	i := slices.IndexFunc(list, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		t.Fatalf("there is no %s in %+v", key, list)
	}
	return list[i]
}

func TestSettingsSayWhatHoldsAndWhereItCameFrom(t *testing.T) {
	c, err := load(t, `[agent]
name = "bob"
[loop]
timeout = "10m"
[tools.permissions.exec]
mode = "ask"
[providers.mine]
format = "openai"
base_url = "http://127.0.0.1:1"
`, "CLAWBOT_TOKEN=a-long-secret-token")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]Setting{
		"agent.name":                  {Value: `"bob"`, From: "clawbot.toml:2"},
		"agent.max_tokens":            {Value: "8192", Default: true},
		"loop.timeout":                {Value: `"10m0s"`, From: "clawbot.toml:4"},
		"tools.permissions.exec.mode": {Value: `"ask"`, From: "clawbot.toml:6"},
		"server.token":                {Value: "[redacted]", Secret: true, From: "environment"},
		"server.listen":               {Value: `"127.0.0.1:8080"`, Default: true},
		"agent.temperature":           {Default: true},
		"providers.mine.base_url":     {Value: `"http://127.0.0.1:1"`, From: "clawbot.toml:9"},
	} {
		want.Key = key
		if got := listed(t, c, key); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestSettingsShowNoSecret(t *testing.T) {
	c, err := load(t, `[store]
driver = "redis"
url = "redis://ann:hunter2-a@db:6379/0"
[server]
token = ["hunter2-b", "${T}"]
[providers.one]
format = "openai"
api_key = "hunter2-c"
base_url = "https://hunter2-d@host/v1?key=hunter2-e&n=1"
proxy = "http://me:hunter2-f@proxy:1"
headers = { X-Key = "hunter2-g" }
[tools.mcp.hub]
command = ["hub", "--key", "${K}", "--host=${H}"]
env = { HUB = "hunter2-h" }
[tools.mcp.far]
url = "https://${K}@far/?x=${K}"
[channels.telegram]
token = "1:hunter2-i"
[channels.slack.accounts.work]
bot_token = "xoxb-hunter2-j"
app_token = "xapp-1-A-1-hunter2-k"
`, "K=hunter2-l", "H=elsewhere", "T=hunter2-m")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		if line := fmt.Sprintf("%+v", s); strings.Contains(line, "hunter2") {
			t.Errorf("shown: %s", line)
		}
	}
	for key, want := range map[string]string{
		"store.url":                              `"redis://ann:[redacted]@db:6379/0"`,
		"providers.one.base_url":                 `"https://[redacted]@host/v1?key=[redacted]&n=[redacted]"`,
		"tools.mcp.hub.command":                  `["hub", "--key", "${K}", "--host=${H}"]`,
		"channels.slack.accounts.work.bot_token": "[redacted]",
	} {
		if got := listed(t, c, key); got.Value != want {
			t.Errorf("%s is %s, want %s", key, got.Value, want)
		}
	}
}
