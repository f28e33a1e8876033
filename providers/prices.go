package providers

import (
	"net/url"
	"slices"
	"time"

	"clawbot/agentcore"
)

// formerly holds what models of the table cost before, the oldest first, so
// that old conversations are counted at what they cost. The table's price holds
// from the date in now on.
var formerly = map[string]struct {
	now    string
	prices []agentcore.Price
}{
	"o3":     {"2025-06-10", []agentcore.Price{{Input: 10, Output: 40, CacheRead: 2.5}}},
	"gpt-4o": {"2024-10-02", []agentcore.Price{{Input: 5, Output: 15}}},
	"deepseek-chat": {"2025-09-29", []agentcore.Price{
		{Input: 0.27, Output: 1.10, CacheRead: 0.07},
		{Input: 0.56, Output: 1.68, CacheRead: 0.07, From: date("2025-09-05")},
	}},
	"deepseek-reasoner": {"2025-09-29", []agentcore.Price{
		{Input: 0.55, Output: 2.19, CacheRead: 0.14},
		{Input: 0.56, Output: 1.68, CacheRead: 0.07, From: date("2025-09-05")},
	}},
}

// longer holds what requests beyond a number of tokens cost.
var longer = map[string]struct {
	after int64
	price agentcore.LongPrice
}{
	"claude-sonnet-4-5":    {200_000, agentcore.LongPrice{Input: 6, Output: 22.5, CacheRead: 0.6, CacheWrite: 7.5}},
	"claude-sonnet-4":      {200_000, agentcore.LongPrice{Input: 6, Output: 22.5, CacheRead: 0.6, CacheWrite: 7.5}},
	"gemini-3-pro-preview": {200_000, agentcore.LongPrice{Input: 4, Output: 18, CacheRead: 0.4}},
	"gemini-2.5-pro":       {200_000, agentcore.LongPrice{Input: 2.5, Output: 15, CacheRead: 0.25}},
	"grok-4":               {128_000, agentcore.LongPrice{Input: 6, Output: 30, CacheRead: 1.5}},
}

// speech holds what a minute of speech costs, in US dollars, by the vendor and
// the model's name.
var speech = map[string]float64{
	"openai/whisper-1": 0.006, "openai/gpt-4o-transcribe": 0.006, "openai/gpt-4o-mini-transcribe": 0.003,
	"groq/whisper-large-v3": 0.00185, "groq/whisper-large-v3-turbo": 0.00067,
	"mistral/voxtral-mini-latest": 0.002,
}

// SpeechPrice is what a minute of speech costs in US dollars at the vendor that
// baseURL belongs to; nil if that is not known.
func SpeechPrice(baseURL, model string) *float64 {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil
	}
	if price, ok := speech[Vendor(u.Hostname())+"/"+model]; ok {
		return &price
	}
	return nil
}

// date reads a day of this file, in UTC.
func date(day string) time.Time {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err) // a typing error above, which every start would show
	}
	return t
}

// prices are what the model has cost and costs, the oldest first.
func (k known) prices() []agentcore.Price {
	price := agentcore.Price{Input: k.in, Output: k.output, CacheRead: k.cacheRead, CacheWrite: k.cacheW}
	if long, ok := longer[k.id]; ok {
		price.LongAfter, price.Long = long.after, long.price
	}
	before, ok := formerly[k.id]
	if !ok {
		return dated([]agentcore.Price{price})
	}
	price.From = date(before.now)
	return dated(append(slices.Clone(before.prices), price))
}

// dated sorts prices by their dates. A missing price for the cache is that of
// input, the safe side.
func dated(prices []agentcore.Price) []agentcore.Price {
	prices = slices.Clone(prices)
	for i := range prices {
		p := &prices[i]
		p.CacheRead, p.CacheWrite = orPrice(p.CacheRead, p.Input), orPrice(p.CacheWrite, p.Input)
		p.Long.CacheRead, p.Long.CacheWrite = orPrice(p.Long.CacheRead, p.Long.Input), orPrice(p.Long.CacheWrite, p.Long.Input)
	}
	slices.SortStableFunc(prices, func(a, b agentcore.Price) int { return a.From.Compare(b.From) })
	return prices
}

func orPrice(price, input float64) float64 {
	if price == 0 {
		return input
	}
	return price
}
