package config

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Detected says which model was chosen and why, for people.
type Detected struct {
	Model string
	Why   string
}

// Detect chooses a model when none is configured: of the first vendor whose key
// is at hand, else of an Ollama that answers on this machine within 300 ms, else
// the built-in demo model. It sets Agent.Model and the provider, and returns an
// empty Detected when a model was configured.
func (c *Config) Detect(ctx context.Context) Detected {
	if c.Agent.Model != "" {
		return Detected{}
	}
	for _, p := range presets() {
		if found, ok := c.detect(ctx, p); ok {
			c.Agent.Model = found.Model
			return found
		}
	}
	return Detected{}
}

func (c *Config) detect(ctx context.Context, p preset) (Detected, bool) {
	variable := func(name string) string {
		if c.Origin.env == nil {
			return ""
		}
		value, _ := c.Origin.env(name)
		return strings.TrimSpace(value)
	}
	provider := p.complete(c.Providers[p.name], variable)
	found := Detected{Model: p.name + "/" + p.model}
	switch {
	case p.name == "demo":
		found.Why = "no model is configured, no key is in the environment and no Ollama answers; set ANTHROPIC_API_KEY for a real one"
	case p.name == "ollama":
		model := ollamaModel(ctx, provider.BaseURL)
		if model == "" {
			return Detected{}, false
		}
		found.Model = "ollama/" + model
		found.Why = "Ollama answers on this machine"
	case len(provider.APIKey) == 0:
		return Detected{}, false
	default:
		found.Why = "its key is configured"
		for _, name := range p.env {
			if variable(name) != "" {
				found.Why = name + " is set"
				break
			}
		}
	}
	if c.Providers == nil {
		c.Providers = map[string]Provider{}
	}
	c.Providers[p.name] = provider
	return found, true
}

// ollamaModel returns the first model that can chat of an Ollama at base, empty
// if none answers in time.
func ollamaModel(ctx context.Context, base string) string {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/api/tags", nil)
	if err != nil {
		return ""
	}
	// The environment's proxy is not for this machine's own address.
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return ""
	}
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&list); err != nil {
		return ""
	}
	i := slices.IndexFunc(list.Models, func(m struct {
		Name string `json:"name"`
	}) bool {
		return m.Name != "" && !strings.Contains(m.Name, "embed")
	})
	if i < 0 {
		return ""
	}
	return list.Models[i].Name
}

// ModelRef splits "provider/model"; the model's part may hold slashes.
func ModelRef(ref string) (provider, model string, err error) {
	provider, model, ok := strings.Cut(ref, "/")
	if !ok || provider == "" || model == "" {
		return "", "", fmt.Errorf("%q must be provider/model", ref)
	}
	return provider, model, nil
}
