package providers

import (
	"strings"
	"testing"
)

func TestBaseURLsAreJoinedWithOrWithoutTheirPath(t *testing.T) {
	for _, c := range []struct{ format, base, model, want string }{
		{FormatAnthropic, "", "m", "https://api.anthropic.com/v1/messages"},
		{FormatAnthropic, "https://api.anthropic.com/", "m", "https://api.anthropic.com/v1/messages"},
		{FormatAnthropic, "https://api.anthropic.com/v1", "m", "https://api.anthropic.com/v1/messages"},
		{FormatAnthropic, "https://api.anthropic.com/v1/messages/", "m", "https://api.anthropic.com/v1/messages"},
		{FormatAnthropic, "https://api.deepseek.com/anthropic", "m", "https://api.deepseek.com/anthropic/v1/messages"},
		{FormatAnthropic, "https://x.example/messages", "m", "https://x.example/messages"},
		{FormatOpenAI, "", "m", "https://api.openai.com/v1/chat/completions"},
		{FormatOpenAI, "https://api.openai.com", "m", "https://api.openai.com/v1/chat/completions"},
		{FormatOpenAI, "https://api.openai.com/v1//", "m", "https://api.openai.com/v1/chat/completions"},
		{FormatOpenAI, "https://api.openai.com/v1/chat/completions", "m", "https://api.openai.com/v1/chat/completions"},
		{FormatOpenAI, "https://api.openai.com/v1/models", "m", "https://api.openai.com/v1/chat/completions"},
		{FormatOpenAI, "https://api.groq.com/openai", "m", "https://api.groq.com/openai/v1/chat/completions"},
		{FormatOpenAI, "https://openrouter.ai/api/v1", "a/b", "https://openrouter.ai/api/v1/chat/completions"},
		{FormatOpenAI, "https://api.z.ai/api/paas/v4/", "m", "https://api.z.ai/api/paas/v4/chat/completions"},
		{FormatOpenAI, "https://generativelanguage.googleapis.com/v1beta/openai/", "m", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"},
		{FormatOpenAI, "https://gateway.ai.cloudflare.com/v1/acc/gw/openai", "m", "https://gateway.ai.cloudflare.com/v1/acc/gw/openai/chat/completions"},
		{FormatOpenAI, "https://api.perplexity.ai/chat/completions", "m", "https://api.perplexity.ai/chat/completions"},
		{FormatOpenAI, "https://api.perplexity.ai", "m", "https://api.perplexity.ai/chat/completions"},
		{FormatOpenAI, "https://models.github.ai/inference", "m", "https://models.github.ai/inference/chat/completions"},
		{FormatOpenAI, "localhost:11434", "m", "http://localhost:11434/v1/chat/completions"},
		{FormatOpenAI, "http://127.0.0.1:11434/api/chat", "m", "http://127.0.0.1:11434/v1/chat/completions"},
		{FormatOpenAI, "vllm.example:8000", "m", "https://vllm.example:8000/v1/chat/completions"},
		{FormatOpenAI, "http://[::1]:8000/v1", "m", "http://[::1]:8000/v1/chat/completions"},
		{FormatOpenAI, "https://x.example/v1?team=a", "m", "https://x.example/v1/chat/completions?team=a"},
		{FormatOpenAI, "https://r.openai.azure.com", "dep", "https://r.openai.azure.com/openai/v1/chat/completions"},
		{FormatOpenAI, "https://r.openai.azure.com/openai/v1/", "dep", "https://r.openai.azure.com/openai/v1/chat/completions"},
		{FormatOpenAI, "https://r.openai.azure.com?api-version=2024-06-01", "dep", "https://r.openai.azure.com/openai/deployments/dep/chat/completions?api-version=2024-06-01"},
		{FormatOpenAI, "https://r.openai.azure.com/openai/deployments/d2", "dep", "https://r.openai.azure.com/openai/deployments/d2/chat/completions?api-version=2024-10-21"},
		{FormatOpenAI, "https://r.openai.azure.com/openai/deployments/d2/chat/completions?api-version=2024-06-01", "dep", "https://r.openai.azure.com/openai/deployments/d2/chat/completions?api-version=2024-06-01"},
		{FormatResponses, "", "m", "https://api.openai.com/v1/responses"},
		{FormatResponses, "https://api.openai.com/v1/responses", "m", "https://api.openai.com/v1/responses"},
		{FormatResponses, "https://r.openai.azure.com", "dep", "https://r.openai.azure.com/openai/v1/responses"},
		{FormatMistral, "", "m", "https://api.mistral.ai/v1/chat/completions"},
		{FormatMistral, "https://api.mistral.ai/v1/chat/completions", "m", "https://api.mistral.ai/v1/chat/completions"},
		{FormatGoogle, "", "gemini-x", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{FormatGoogle, "https://generativelanguage.googleapis.com/v1beta", "models/gemini-x", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{FormatGoogle, "https://generativelanguage.googleapis.com/v1beta/models/old:generateContent?key=k", "gemini-x", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{FormatGoogle, "https://generativelanguage.googleapis.com/v1beta/models/", "gemini-x", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{FormatGoogle, "https://generativelanguage.googleapis.com/v1beta/openai/", "gemini-x", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{FormatGoogle, "https://generativelanguage.googleapis.com/v1/", "gemini-x", "https://generativelanguage.googleapis.com/v1/models/gemini-x:streamGenerateContent?alt=sse"},
		{FormatGoogle, "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google", "gemini-x", "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/gemini-x:streamGenerateContent?alt=sse"},
		{FormatGoogle, "localhost:4010/proxy", "gemini-x", "http://localhost:4010/proxy/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{FormatMistral, "https://api.mistral.ai/v1", "m", "https://api.mistral.ai/v1/chat/completions"},
		{FormatMistral, "http://127.0.0.1:8000/", "m", "http://127.0.0.1:8000/v1/chat/completions"},
	} {
		cfg := Config{Name: "x", BaseURL: c.base}
		u, err := cfg.base(c.format)
		if err != nil {
			t.Errorf("%s %q: %v", c.format, c.base, err)
			continue
		}
		got, err := cfg.Endpoint(c.format, c.model, cfg.Traits(c.format, u.Host, c.model))
		if err != nil || got != c.want {
			t.Errorf("%s %q: %s, %v; want %s", c.format, c.base, got, err, c.want)
		}
	}
}

func TestAURLOfAnotherFormatNamesTheFormatToSet(t *testing.T) {
	for _, c := range []struct{ format, base, want string }{
		{FormatOpenAI, "https://api.anthropic.com/v1/messages", `providers.x.format = "anthropic"`},
		{FormatAnthropic, "https://api.openai.com/v1/chat/completions", `providers.x.format = "openai"`},
		{FormatOpenAI, "https://api.openai.com/v1/responses", `providers.x.format = "openai-responses"`},
		{FormatGoogle, "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions", `providers.x.format = "openai"`},
		{FormatOpenAI, "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent", `providers.x.format = "google"`},
		{FormatMistral, "https://api.anthropic.com/v1/messages", `providers.x.format = "anthropic"`},
		{FormatOpenAI, "ftp://x.example", `providers.x.base_url`},
		{FormatOpenAI, "http://", `providers.x.base_url`},
	} {
		cfg := Config{Name: "x", BaseURL: c.base}
		_, err := cfg.Endpoint(c.format, "m", Traits{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v; want it to name %s", c.format, c.base, err, c.want)
		}
	}
}
