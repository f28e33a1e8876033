package providers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
)

func TestEachVendorGetsWhatItTakes(t *testing.T) {
	on := true
	for _, c := range []struct {
		format, host, model string
		compat              Compat
		want                func(Traits) bool
	}{
		{FormatOpenAI, "api.openai.com", "gpt-5-mini", Compat{}, func(t Traits) bool {
			return t.DeveloperRole && t.MaxTokensField == "max_completion_tokens" && !t.Temperature && t.Thinking == "effort" && t.CacheKey && t.NeedsKey
		}},
		{FormatOpenAI, "api.openai.com", "gpt-4o", Compat{}, func(t Traits) bool { return !t.DeveloperRole && t.Temperature && t.Thinking == "none" }},
		{FormatOpenAI, "x.openai.azure.com", "dep", Compat{}, func(t Traits) bool { return t.AuthHeader == "api-key" && t.Vendor == "azure" }},
		{FormatOpenAI, "api.deepseek.com", "deepseek-reasoner", Compat{}, func(t Traits) bool {
			return t.ReasoningContent && !t.DeveloperRole && t.MaxTokensField == "max_tokens" && t.Thinking == "type" && t.Temperature
		}},
		{FormatOpenAI, "api.moonshot.cn", "kimi", Compat{}, func(t Traits) bool { return t.MaxTokensField == "max_tokens" && t.Thinking == "none" }},
		{FormatOpenAI, "openrouter.ai", "anthropic/claude-sonnet-4-6", Compat{}, func(t Traits) bool { return t.CacheControl && t.Thinking == "reasoning" }},
		{FormatOpenAI, "openrouter.ai", "openai/gpt-5", Compat{}, func(t Traits) bool { return !t.CacheControl && !t.Temperature }},
		{FormatOpenAI, "localhost:11434", "qwen3", Compat{}, func(t Traits) bool { return !t.NeedsKey && t.EmptyContent && t.Vendor == "ollama" }},
		{FormatOpenAI, "127.0.0.1:8000", "any", Compat{}, func(t Traits) bool {
			return !t.NeedsKey && t.MaxTokensField == "max_tokens" && !t.Strict && t.StreamUsage && t.Thinking == ""
		}},
		{FormatOpenAI, "notopenai.com.evil.example", "gpt-5", Compat{}, func(t Traits) bool { return t.Vendor == "" }},
		{FormatAnthropic, "api.anthropic.com", "claude-sonnet-4-5", Compat{}, func(t Traits) bool {
			return t.Thinking == "budget" && t.CacheControl && t.EagerInputStreaming && t.AuthHeader == "x-api-key" && t.Temperature
		}},
		{FormatAnthropic, "api.anthropic.com", "claude-opus-4-7", Compat{}, func(t Traits) bool { return t.Thinking == "adaptive" && !t.Temperature }},
		{FormatAnthropic, "api.anthropic.com", "claude-opus-4-20250514", Compat{}, func(t Traits) bool { return t.Thinking == "budget" }},
		{FormatAnthropic, "127.0.0.1:9", "m", Compat{}, func(t Traits) bool { return !t.EagerInputStreaming && t.AuthHeader == "x-api-key" }},
		{FormatMistral, "api.mistral.ai", "mistral-large-latest", Compat{}, func(t Traits) bool { return t.IDLength == 9 && t.AuthHeader == "authorization" }},
		{FormatMistral, "127.0.0.1:9", "magistral-small", Compat{}, func(t Traits) bool { return !t.StreamUsage && t.ReplayThinking && t.Thinking == "prompt_mode" }},
		{FormatMistral, "api.mistral.ai", "m", Compat{StreamUsage: &on, CamelCase: &on}, func(t Traits) bool { return t.StreamUsage && t.CamelCase }},
		{FormatGoogle, "generativelanguage.googleapis.com", "models/gemini-2.5-pro", Compat{}, func(t Traits) bool { return t.NeedsKey && t.AuthHeader == "x-goog-api-key" && t.Thinking == "budget" }},
		{FormatGoogle, "127.0.0.1:9", "gemini-3.1-flash", Compat{}, func(t Traits) bool { return !t.NeedsKey && t.Thinking == "level" }},
		{FormatGoogle, "127.0.0.1:9", "gemini-flash-latest", Compat{}, func(t Traits) bool { return t.Thinking == "level" }},
		{FormatGoogle, "127.0.0.1:9", "gemini-2.0-flash", Compat{}, func(t Traits) bool { return t.Thinking == "none" }},
		{FormatOpenAI, "api.deepseek.com", "m", Compat{Strict: &on, MaxTokensField: "max_output", Thinking: "effort", IDLength: 20, AuthHeader: "API-Key"}, func(t Traits) bool {
			return t.Strict && t.MaxTokensField == "max_output" && t.Thinking == "effort" && t.IDLength == 20 && t.AuthHeader == "api-key"
		}},
	} {
		if got := (Config{Compat: c.compat}).Traits(c.format, c.host, c.model); !c.want(got) {
			t.Errorf("%s %s %s: %+v", c.format, c.host, c.model, got)
		}
	}
}

func TestModelsAreKnownByTheirDatedNamesToo(t *testing.T) {
	for model, window := range map[string]int64{
		"claude-sonnet-4-5": 200_000, "claude-sonnet-4-5-20250929": 200_000, "claude-opus-4-1@20250805": 200_000, "anthropic/claude-sonnet-4.5": 0,
		"gpt-5": 400_000, "gpt-5-2025-08-07": 400_000, "gpt-5-codex-mini": 0, "gpt-4.1-mini": 1_047_000, "openai/gpt-4o:free": 128_000,
		"mistral-large-latest": 256_000, "gpt-55": 0, "unheard-of": 0,
	} {
		if got := (Config{}).info(FormatOpenAI, "openrouter.ai", model); got.Window != window || got.Price != nil {
			t.Errorf("%s: window %d, price %v; want %d", model, got.Window, got.Price, window)
		}
	}
	info := (Config{Name: "a"}).info(FormatAnthropic, "api.anthropic.com", "claude-sonnet-4-5")
	if info.Price == nil || info.Price.Input != 3 || info.Price.CacheRead != 0.3 || !info.Images || info.Ref.Provider != "a" {
		t.Errorf("%+v", info)
	}
	no := false
	cfg := Config{Models: map[string]ModelSettings{"x": {Window: 7, Images: &no, Price: &agentcore.Price{Input: 1}}}}
	if info := cfg.info(FormatAnthropic, "h", "x"); info.Window != 7 || info.Images || info.Price.Input != 1 {
		t.Errorf("%+v", info)
	}
}

func TestAMissingKeyNamesTheSettingAndTheVariable(t *testing.T) {
	for _, keys := range [][]string{nil, {""}, {"  ", `""`}} {
		_, err := NewClient(Config{Name: "claude", APIKeys: keys}, FormatAnthropic, "m")
		if agentcore.ClassOf(err) != agentcore.ErrAuth || !strings.Contains(err.Error(), "providers.claude.api_key") || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
			t.Errorf("%q: %v", keys, err)
		}
	}
	if _, err := NewClient(Config{Headers: map[string]string{"authorization": "Bearer x"}}, FormatOpenAI, "m"); err != nil {
		t.Errorf("a key in a header: %v", err)
	}
	if _, err := NewClient(Config{Name: "x", BaseURL: "http://127.0.0.1:1"}, FormatOpenAI, ""); err == nil || !strings.Contains(err.Error(), "agent.model") {
		t.Errorf("no model: %v", err)
	}
}

func TestARefusedKeyIsExplained(t *testing.T) {
	for key, want := range map[string]string{
		"sk-ant-api03-x": "looks like a key of anthropic", "AIzaSyX": "looks like a key of google", "sk-0123456789": "mistyped, expired or another vendor's",
		"sk-ant-oat01-x": "OAuth token", "": "No key is set",
	} {
		cfg := Config{Name: "o", APIKeys: []string{key}, Headers: map[string]string{"api-key": "y"}}
		c, err := NewClient(cfg, FormatOpenAI, "m")
		if err != nil {
			t.Fatal(err)
		}
		e := c.status(&http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}}, []byte(`{"error":{"message":"Incorrect API key provided: `+key+`"}}`))
		if !strings.Contains(e.Message, want) || key != "" && strings.Contains(e.Message, key) {
			t.Errorf("%q: %s", key, e.Message)
		}
	}
}

func TestAProxyIsAURLOrTheEnvironmentOrNone(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://attacker.example")
	transport := func(proxy string) *http.Transport {
		t.Helper()
		c, err := NewClient(Config{BaseURL: "https://x.example", Proxy: proxy}, FormatOpenAI, "m")
		if err != nil {
			t.Fatal(err)
		}
		return c.http.Transport.(*http.Transport)
	}
	if transport("").Proxy != nil {
		t.Error("the environment's proxy is used unasked")
	}
	req, _ := http.NewRequest(http.MethodPost, "https://x.example", nil)
	if u, err := transport("http://10.0.0.1:3128").Proxy(req); err != nil || u.Host != "10.0.0.1:3128" {
		t.Errorf("%v, %v", u, err)
	}
	if transport("env").Proxy == nil {
		t.Error("proxy = \"env\" has no effect")
	}
	for _, bad := range []string{"10.0.0.1:3128", "ftp://x", "://"} {
		if _, err := NewClient(Config{Name: "p", BaseURL: "https://x.example", Proxy: bad}, FormatOpenAI, "m"); err == nil || !strings.Contains(err.Error(), "providers.p.proxy") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestKeysTakeTurnsWhenTheyFail(t *testing.T) {
	now := time.Unix(1000, 0)
	k := newKeyring([]string{"a", "b", "c"})
	pick := func(want string) int {
		t.Helper()
		key, i := k.pick(now)
		if key != want {
			t.Errorf("key %q, want %q", key, want)
		}
		return i
	}
	if !k.rest(pick("a"), &agentcore.Error{Class: agentcore.ErrRateLimited}, now) {
		t.Error("there are other keys")
	}
	k.rest(pick("b"), &agentcore.Error{Class: agentcore.ErrAuth}, now)
	if k.rest(pick("c"), &agentcore.Error{Class: agentcore.ErrRateLimited, RetryAfter: 5 * time.Minute}, now) {
		t.Error("all keys rest")
	}
	pick("a") // rests the shortest
	if k.rest(0, &agentcore.Error{Class: agentcore.ErrOverloaded}, now) {
		t.Error("overload is not the key's fault")
	}
	now = now.Add(time.Hour)
	pick("a")
}
