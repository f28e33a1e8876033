package casetest

import (
	"testing"

	"clawbot/agentcore"
	"clawbot/providers"
	"clawbot/providers/anthropic"
	"clawbot/providers/google"
	"clawbot/providers/mistral"
	"clawbot/providers/openai"
)

// wireModel is a model of a wire format, which can also show the body of a
// request.
type wireModel interface {
	agentcore.Model
	agentcore.Describer
	Request(req *agentcore.Request) providers.Body
}

// adapters are the wire formats by the name that cases give them.
var adapters = map[string]struct {
	format string
	new    func(providers.Config, string) (agentcore.Model, error)
}{
	"anthropic":          {providers.FormatAnthropic, anthropic.New},
	"openai-completions": {providers.FormatOpenAI, openai.New},
	"openai-responses":   {providers.FormatResponses, openai.New},
	"google":             {providers.FormatGoogle, google.New},
	"mistral":            {providers.FormatMistral, mistral.New},
}

// hosts are the servers that a case may name.
var hosts = map[string]string{
	"deepseek":   "https://api.deepseek.com",
	"openai":     "https://api.openai.com",
	"openrouter": "https://openrouter.ai/api/v1",
	"moonshot":   "https://api.moonshot.ai",
	"xai":        "https://api.x.ai",
	"groq":       "https://api.groq.com/openai",
	"zai":        "https://api.z.ai/api/paas/v4",
}

// newModel builds the adapter of a case; false if there is none.
func newModel(t *testing.T, kind string, cfg providers.Config, model string) (wireModel, bool) {
	t.Helper()
	a, ok := adapters[kind]
	if !ok {
		return nil, false
	}
	cfg.Format = a.format
	if cfg.Name == "" {
		cfg.Name = "case"
	}
	cfg.APIKeys = []string{"k"}
	yes := true
	cfg.Models = map[string]providers.ModelSettings{model: {Images: &yes}}
	m, err := a.new(cfg, model)
	if err != nil {
		t.Fatal(err)
	}
	return m.(wireModel), true
}
