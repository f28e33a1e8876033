package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnAgentIsWhatTheMainOneIsButForWhatItSays(t *testing.T) {
	dir := t.TempDir()
	cfg, err := loadIn(t, dir, `
[agent]
name = "Bot"
model = "demo/demo"
system_prompt = "Be kind."
max_tokens = 100
[agents.coder]
model = "openai/gpt-5-mini"
system_prompt_file = "coder.md"
tools = []
[agents.same]
[[routes]]
agent = "coder"
room = "slack:C1"
[[routes]]
agent = "main"
user = "telegram:12345"
`, "OPENAI_API_KEY=x")
	if err != nil {
		t.Fatal(err)
	}
	coder, same := cfg.As("coder"), cfg.As("same")
	if coder.Name != "Bot" || coder.Model != "openai/gpt-5-mini" || coder.SystemPrompt != "" || coder.SystemPromptFile != filepath.Join(dir, "coder.md") || coder.MaxTokens != 100 {
		t.Errorf("the coder is %+v", coder)
	}
	if same.Model != cfg.Agent.Model || same.SystemPrompt != "Be kind." {
		t.Errorf("the same is %+v", same)
	}
	if tools := cfg.Agents["coder"].Tools; tools == nil || len(tools) != 0 || cfg.Agents["same"].Tools != nil {
		t.Error("no tools and all tools are the same")
	}
	if got := cfg.AllModels(); !slices.Equal(got, []string{"demo/demo", "openai/gpt-5-mini"}) {
		t.Errorf("models: %q", got)
	}
	if len(cfg.Routes) != 2 || cfg.Routes[0].Room != "slack:C1" || cfg.Routes[1].Agent != "main" {
		t.Errorf("routes: %+v", cfg.Routes)
	}
}

func TestARouteToNowhereSaysWhatWasMeant(t *testing.T) {
	for text, says := range map[string]string{
		"[agents.coder]\n[[routes]]\nagent = \"codr\"":           `3:1: routes.0.agent: "codr" is none of main, coder; did you mean coder?`,
		"[[routes]]\nchannel = \"slack\"":                        "agent is missing",
		"[[routes]]\nagent = \"main\"\nchannel = \"slak\"":       "did you mean slack?",
		"[[routes]]\nagent = \"main\"\nchannel = \"slack:C1\"":   `write room = "slack:C1"`,
		"[[routes]]\nagent = \"main\"\nroom = \"C1\"":            "must be platform:id",
		"[[routes]]\nagent = \"main\"\nuser = \"telegram:@ann\"": "is no id of telegram",
		"[[routes]]\nagent = \"main\"\nchanel = \"slack\"":       "did you mean",
		"[agents.main]":                   "choose another name",
		"[agents.default]":                "choose another name",
		"[agents.\"a b\"]":                "is no name for an agent",
		"[agents.a]\nmodel = \"opnai/x\"": "did you mean openai/x",
		"[agents.a]\nsystem_prompt = \"x\"\nsystem_prompt_file = \"y\"": "keep one of them",
		"[agents.a]\ntools = [\"[\"]":                                   "a [ must be closed",
		"[agents.a]\nthinking = \"hard\"":                               "none of",
		"[agents.a]\nmax_tokens = 0":                                    "too small",
		"[routes]\nagent = \"main\"":                                    "expected a list",
	} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\nsays %v, want %q", text, err, says)
		}
	}
}

func TestAgentsAreShownAmongTheSettings(t *testing.T) {
	cfg, err := load(t, "[agents.coder]\nmodel = \"demo/demo\"\ntools = []\n[[routes]]\nagent = \"coder\"\nrole = \"owner\"\n[[routes]]\nagent = \"main\"\nchannel = \"slack\"\n")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, s := range cfg.Settings() {
		if strings.HasPrefix(s.Key, "agents") || strings.HasPrefix(s.Key, "routes") {
			shown = append(shown, s.Key+" = "+s.Value)
		}
	}
	for _, want := range []string{`agents.coder.model = "demo/demo"`, `routes.0.agent = "coder"`, `routes.1.channel = "slack"`} {
		if !slices.Contains(shown, want) {
			t.Errorf("there is no %s among\n%s", want, strings.Join(shown, "\n"))
		}
	}
}
