package providers

import (
	"testing"
	"time"

	"clawbot/agentcore"
)

func TestAModelCostsWhatItCostAtTheTime(t *testing.T) {
	for _, c := range []struct {
		model, day string
		usage      agentcore.Usage
		dollars    float64
	}{
		{"o3", "2025-05-01", agentcore.Usage{Input: 1e6}, 10},
		{"o3", "2025-06-10", agentcore.Usage{Input: 1e6}, 2},
		{"o3-2025-04-16", "2026-01-01", agentcore.Usage{Output: 1e6}, 8},
		{"deepseek-chat", "2025-03-01", agentcore.Usage{Output: 1e6}, 1.10},
		{"deepseek-chat", "2025-09-10", agentcore.Usage{Output: 1e6}, 1.68},
		{"deepseek-chat", "2026-09-10", agentcore.Usage{Output: 1e6}, 0.42},
		{"gpt-4o-2024-05-13", "2026-01-01", agentcore.Usage{Input: 1e6}, 5},
		{"gpt-4o-2024-08-06", "2026-01-01", agentcore.Usage{Input: 1e6}, 2.5},
		{"gpt-5-mini", "2020-01-01", agentcore.Usage{CacheRead: 1e6}, 0.025},
		{"mistral-small", "2026-01-01", agentcore.Usage{CacheWrite: 1e6}, 0.1},
		{"gemini-2.5-pro", "2026-01-01", agentcore.Usage{Input: 100_000, CacheRead: 100_000, Output: 1000}, 0.125 + 0.0125 + 0.01},
		{"gemini-2.5-pro", "2026-01-01", agentcore.Usage{Input: 100_001, CacheRead: 100_000, Output: 1000}, 0.2500025 + 0.025 + 0.015},
	} {
		host := map[byte]string{'o': "api.openai.com", 'd': "api.deepseek.com", 'm': "api.mistral.ai"}[c.model[0]]
		if c.model[1] == 'e' && c.model[0] == 'g' {
			host = "generativelanguage.googleapis.com"
		} else if host == "" {
			host = "api.openai.com"
		}
		info := Config{}.info(FormatOpenAI, host, c.model)
		at, _ := time.Parse(time.DateOnly, c.day)
		price := info.PriceAt(at)
		if price == nil {
			t.Errorf("%s at %s: no price", c.model, host)
		} else if got, want := price.Nanos(c.usage), int64(c.dollars*1e9+0.5); got != want {
			t.Errorf("%s on %s: %d, want %d", c.model, c.day, got, want)
		}
	}
}

func TestASmallPartOfACentIsCountedAndNeverNegative(t *testing.T) {
	p := agentcore.Price{Input: 0.05, Output: 0.4, CacheRead: 0.0375}
	for _, c := range []struct {
		u    agentcore.Usage
		want int64
	}{
		{agentcore.Usage{Input: 1}, 50}, {agentcore.Usage{CacheRead: 1}, 38}, {agentcore.Usage{CacheRead: 2}, 75},
		{agentcore.Usage{Input: 3, Output: 7}, 2950}, {agentcore.Usage{Input: -5, Output: 1}, 400}, {agentcore.Usage{}, 0},
	} {
		if got := p.Nanos(c.u); got != c.want {
			t.Errorf("%+v costs %d, want %d", c.u, got, c.want)
		}
	}
}

func TestAConfiguredPriceReplacesTheTablesAndItsCacheIsNotFree(t *testing.T) {
	later := agentcore.Price{Input: 9, Output: 9, From: time.Now().Add(time.Hour)}
	cfg := Config{Models: map[string]ModelSettings{
		"o3": {Price: &agentcore.Price{Input: 1, Output: 2}},
		"x":  {Prices: []agentcore.Price{later, {Input: 4, Output: 5, CacheRead: 0.5}}},
	}}
	info := cfg.info(FormatOpenAI, "api.openai.com", "o3")
	if p := info.PriceAt(time.Time{}); p.Input != 1 || p.CacheRead != 1 || p.CacheWrite != 1 {
		t.Errorf("o3 costs %+v", p)
	}
	info = cfg.info(FormatOpenAI, "127.0.0.1", "x")
	if p := info.Price; p.Input != 4 || p.CacheRead != 0.5 || p.CacheWrite != 4 {
		t.Errorf("x costs %+v now", p)
	}
	if p := info.PriceAt(time.Now().Add(2 * time.Hour)); p.Input != 9 {
		t.Errorf("x will cost %+v", p)
	}
	if info := cfg.info(FormatOpenAI, "127.0.0.1", "o4-mini"); info.Price != nil || info.PriceAt(time.Now()) != nil {
		t.Error("somebody's own server has the vendor's price")
	}
}
