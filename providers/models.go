package providers

import (
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/internal/lazyregexp"
)

// TableDate is when the table of models was last checked against the vendors'
// price pages. Prices change; [Config.Models] overrides them.
const TableDate = "2026-02"

// known is a model of the table. Prices are in US dollars per million tokens;
// a price of 0 for cache reads or writes means that they cost as input does.
type known struct {
	id                string
	window, out       int64 // thousands of tokens
	in, output        float64
	cacheRead, cacheW float64
	flags             string // i images, d documents, t thinks
}

// Vendors' dated and "-latest" names match their plain one.
var table = []known{
	{"claude-opus-4-7", 200, 128, 5, 25, 0.5, 6.25, "idt"},
	{"claude-opus-4-6", 200, 128, 5, 25, 0.5, 6.25, "idt"},
	{"claude-opus-4-5", 200, 64, 5, 25, 0.5, 6.25, "idt"},
	{"claude-opus-4-1", 200, 32, 15, 75, 1.5, 18.75, "idt"},
	{"claude-opus-4", 200, 32, 15, 75, 1.5, 18.75, "idt"},
	{"claude-sonnet-4-6", 200, 64, 3, 15, 0.3, 3.75, "idt"},
	{"claude-sonnet-4-5", 200, 64, 3, 15, 0.3, 3.75, "idt"},
	{"claude-sonnet-4", 200, 64, 3, 15, 0.3, 3.75, "idt"},
	{"claude-haiku-4-5", 200, 64, 1, 5, 0.1, 1.25, "idt"},
	{"claude-3-5-haiku", 200, 8, 0.8, 4, 0.08, 1, "i"},

	{"gpt-5.2", 400, 128, 1.75, 14, 0.175, 0, "idt"},
	{"gpt-5.1", 400, 128, 1.25, 10, 0.125, 0, "idt"},
	{"gpt-5", 400, 128, 1.25, 10, 0.125, 0, "idt"},
	{"gpt-5-mini", 400, 128, 0.25, 2, 0.025, 0, "idt"},
	{"gpt-5-nano", 400, 128, 0.05, 0.4, 0.005, 0, "idt"},
	{"gpt-4.1", 1047, 32, 2, 8, 0.5, 0, "id"},
	{"gpt-4.1-mini", 1047, 32, 0.4, 1.6, 0.1, 0, "id"},
	{"gpt-4.1-nano", 1047, 32, 0.1, 0.4, 0.025, 0, "id"},
	{"gpt-4o-2024-05-13", 128, 4, 5, 15, 0, 0, "i"},
	{"gpt-4o", 128, 16, 2.5, 10, 1.25, 0, "id"},
	{"gpt-4o-mini", 128, 16, 0.15, 0.6, 0.075, 0, "id"},
	{"o3", 200, 100, 2, 8, 0.5, 0, "idt"},
	{"o4-mini", 200, 100, 1.1, 4.4, 0.275, 0, "idt"},

	{"gemini-3-pro-preview", 1048, 65, 2, 12, 0.2, 0, "idt"},
	{"gemini-3-flash-preview", 1048, 65, 0.5, 3, 0.05, 0, "idt"},
	{"gemini-2.5-pro", 1048, 65, 1.25, 10, 0.125, 0, "idt"},
	{"gemini-2.5-flash", 1048, 65, 0.3, 2.5, 0.03, 0, "idt"},
	{"gemini-2.5-flash-lite", 1048, 65, 0.1, 0.4, 0.01, 0, "idt"},

	{"mistral-large-2411", 128, 0, 2, 6, 0, 0, ""},
	{"mistral-large", 256, 0, 0.5, 1.5, 0, 0, "i"},
	{"mistral-medium", 128, 0, 0.4, 2, 0, 0, "i"},
	{"mistral-small", 128, 0, 0.1, 0.3, 0, 0, "i"},
	{"magistral-medium", 128, 0, 2, 5, 0, 0, "it"},
	{"magistral-small", 128, 0, 0.5, 1.5, 0, 0, "it"},

	{"deepseek-chat", 128, 8, 0.28, 0.42, 0.028, 0, ""},
	{"deepseek-reasoner", 128, 64, 0.28, 0.42, 0.028, 0, "t"},
	{"grok-4", 256, 0, 3, 15, 0.75, 0, "it"},
}

// priced are the vendors that sell at the table's prices.
var priced = map[string]bool{"anthropic": true, "openai": true, "google": true, "mistral": true, "deepseek": true, "xai": true}

var modelDate = lazyregexp.New(`^(?:[-@]\d{8}|-\d{4}-\d{2}-\d{2}|-\d{4}|-\d{3}|-latest|-preview(?:-\d{2}-\d{2,4})?)$`)

func lookup(model string) (known, bool) {
	name := BareModel(model)
	name, _, _ = strings.Cut(name, ":")
	for _, k := range table {
		if rest, ok := strings.CutPrefix(name, k.id); ok && (rest == "" || modelDate.MatchString(rest)) {
			return k, true
		}
	}
	return known{}, false
}

// info describes model at host from the table and the configuration. What
// neither knows stays unknown; images are then assumed to be taken by the
// formats of vendors whose models all do.
func (c Config) info(format, host, model string) agentcore.ModelInfo {
	info := agentcore.ModelInfo{Ref: agentcore.ModelRef{Provider: c.Name, Format: format, ID: model}}
	if k, ok := lookup(model); ok {
		info.Window, info.MaxOutput = k.window*1000, k.out*1000
		info.Images = strings.Contains(k.flags, "i")
		info.Documents = strings.Contains(k.flags, "d") && (format == FormatAnthropic || format == FormatGoogle || format == FormatResponses)
		info.Thinking = strings.Contains(k.flags, "t")
		if priced[Vendor(host)] {
			info.Prices = k.prices()
		}
	} else {
		info.Images = assumeImages(format, BareModel(model))
		info.Documents = format == FormatAnthropic && Vendor(host) == "anthropic"
	}
	s := c.Models[model]
	if s.Window > 0 {
		info.Window = s.Window
	}
	if s.MaxOutput > 0 {
		info.MaxOutput = s.MaxOutput
	}
	info.Images, info.Documents, info.Thinking = or(s.Images, info.Images), or(s.Documents, info.Documents), or(s.Thinking, info.Thinking)
	switch {
	case len(s.Prices) > 0:
		info.Prices = dated(s.Prices)
	case s.Price != nil:
		info.Prices = dated([]agentcore.Price{*s.Price})
	}
	info.Price = info.PriceAt(time.Now())
	return info
}

var seeing = lazyregexp.New(`^(?:claude|gpt-[4-9]|gpt-[1-9][0-9]|o[1-9]|gemini|gemma-?[3-9]|pixtral|llava|bakllava|moondream|minicpm-v|grok-4|llama-?[4-9]|mistral-(?:large|medium|small)-?3)|vision|[-.]vl\b|[-.]vl-|\dvl\b|-4\.\dv`)

// assumeImages guesses from its name whether a model sees. A wrong yes is a
// refused request, a wrong no a picture left out; configuration settles it.
func assumeImages(format, name string) bool {
	return format == FormatAnthropic || format == FormatGoogle || seeing.MatchString(name)
}
