package providers

import (
	"strconv"
	"strings"

	"clawbot/internal/lazyregexp"
)

// Compat is [providers.NAME.compat]: what a server takes and wants, where that
// differs between servers of one format. What is not set is detected from the
// base URL and the model; see [Config.Traits].
type Compat struct {
	// Strict sends tools with strict schemas, normalised as OpenAI wants it.
	Strict *bool `toml:"strict"`
	// LegacyParameters sends Google tools as sanitised `parameters`.
	LegacyParameters *bool `toml:"legacy_parameters"`
	// DeveloperRole sends the system prompt of reasoning models as "developer".
	DeveloperRole *bool `toml:"developer_role"`
	// MaxTokensField is "max_tokens" or "max_completion_tokens".
	MaxTokensField string `enum:"max_tokens|max_completion_tokens" toml:"max_tokens_field"`
	// Temperature may be sent.
	Temperature *bool `toml:"temperature"`
	// StreamUsage asks for usage in the stream (stream_options).
	StreamUsage *bool `toml:"stream_usage"`
	// CacheControl marks what Anthropic-like servers should cache.
	CacheControl *bool `toml:"cache_control"`
	// CacheKey sends the session as prompt_cache_key.
	CacheKey *bool `toml:"prompt_cache_key"`
	// EagerInputStreaming asks for tool arguments as they are written.
	EagerInputStreaming *bool `toml:"eager_input_streaming"`
	// Thinking is how to ask for thinking: "none", "effort" (reasoning_effort),
	// "reasoning" ({effort}), "reasoning_enabled", "type" ({thinking: {type}}),
	// "enable_thinking", "template" (chat_template_kwargs), "budget" (a number
	// of tokens), "adaptive", "level" (Google's thinkingLevel) or "prompt_mode"
	// (Mistral).
	Thinking string `enum:"none|effort|reasoning|reasoning_enabled|type|enable_thinking|template|budget|adaptive|level|prompt_mode" toml:"thinking"`
	// ReasoningContent sends reasoning_content with every assistant message,
	// empty where there was none.
	ReasoningContent *bool `toml:"reasoning_content"`
	// ReplayThinking sends thinking back under the field it came in.
	ReplayThinking *bool `toml:"replay_thinking"`
	// EmptyContent sends "" instead of null where there are only calls.
	EmptyContent *bool `toml:"empty_content"`
	// ToolStream asks Z.ai to stream tool arguments.
	ToolStream *bool `toml:"tool_stream"`
	// CamelCase sends Mistral requests with the names of its JavaScript client
	// (toolCalls, maxTokens), as some gateways want them.
	CamelCase *bool `toml:"camel_case"`
	// IDLength bounds tool call ids; a longer one is rewritten.
	IDLength int `toml:"id_length"`
	// APIVersion is Azure's api-version; it also chooses the URL form with
	// deployments.
	APIVersion string `toml:"api_version"`
	// AuthHeader is the header that carries the key: "authorization",
	// "x-api-key", "api-key" or "x-goog-api-key".
	AuthHeader string `toml:"auth_header"`
}

// Traits is a Compat with everything decided.
type Traits struct {
	Vendor              string // as detected, "" if unknown
	Strict              bool
	LegacyParameters    bool
	DeveloperRole       bool
	MaxTokensField      string
	Temperature         bool
	StreamUsage         bool
	CacheControl        bool
	CacheKey            bool
	EagerInputStreaming bool
	Thinking            string
	ReasoningContent    bool
	ReplayThinking      bool
	EmptyContent        bool
	ToolStream          bool
	CamelCase           bool
	IDLength            int
	APIVersion          string
	AuthHeader          string
	NeedsKey            bool
}

// A vendor's row of the table; unset columns are those of a server that nothing
// is known of.
type vendor struct {
	name  string
	hosts []string // suffixes of the host, or of host:port
	// Columns of Chat Completions.
	developer     bool
	maxCompletion bool
	thinking      string
	cacheKey      bool
	reasoning     bool // reasoning_content always present
	emptyContent  bool
	idLength      int
	auth          string
	local         bool // needs no key
	unversioned   bool // no /v1 in its paths
}

// vendors is everything that is known of servers by their address.
var vendors = []vendor{
	{name: "openai", hosts: []string{"api.openai.com"}, developer: true, maxCompletion: true, thinking: "effort", cacheKey: true, idLength: 40},
	{name: "azure", hosts: []string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"}, developer: true, maxCompletion: true, thinking: "effort", cacheKey: true, idLength: 40, auth: "api-key"},
	{name: "anthropic", hosts: []string{"api.anthropic.com"}, thinking: "none"},
	{name: "openrouter", hosts: []string{"openrouter.ai"}, thinking: "reasoning"},
	{name: "groq", hosts: []string{"api.groq.com"}, maxCompletion: true, thinking: "effort"},
	{name: "deepseek", hosts: []string{"api.deepseek.com"}, thinking: "type", reasoning: true},
	{name: "xiaomi", hosts: []string{"xiaomimimo.com"}, maxCompletion: true, thinking: "type", reasoning: true},
	{name: "xai", hosts: []string{"api.x.ai"}, maxCompletion: true, thinking: "none"},
	{name: "together", hosts: []string{"api.together.xyz", "api.together.ai"}, thinking: "reasoning_enabled"},
	{name: "moonshot", hosts: []string{"api.moonshot.ai", "api.moonshot.cn"}, thinking: "none", reasoning: true},
	{name: "zai", hosts: []string{"api.z.ai", "open.bigmodel.cn"}, maxCompletion: true, thinking: "enable_thinking"},
	{name: "qwen", hosts: []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"}, thinking: "enable_thinking"},
	{name: "cerebras", hosts: []string{"api.cerebras.ai"}, maxCompletion: true, thinking: "effort"},
	{name: "chutes", hosts: []string{"chutes.ai"}, thinking: "effort"},
	{name: "cloudflare", hosts: []string{"gateway.ai.cloudflare.com", "api.cloudflare.com"}, thinking: "none"},
	{name: "opencode", hosts: []string{"opencode.ai"}, maxCompletion: true, thinking: "effort"},
	{name: "mistral", hosts: []string{"api.mistral.ai"}, thinking: "none", idLength: 9},
	{name: "google", hosts: []string{"generativelanguage.googleapis.com", "aiplatform.googleapis.com"}, thinking: "effort"},
	{name: "fireworks", hosts: []string{"api.fireworks.ai"}, thinking: "effort"},
	{name: "minimax", hosts: []string{"api.minimax.io", "api.minimaxi.com"}, thinking: "none"},
	{name: "nvidia", hosts: []string{"integrate.api.nvidia.com"}, thinking: "template"},
	{name: "github", hosts: []string{"models.github.ai", "models.inference.ai.azure.com"}, maxCompletion: true, thinking: "effort", unversioned: true},
	{name: "perplexity", hosts: []string{"api.perplexity.ai"}, thinking: "none", unversioned: true},
	{name: "ollama", hosts: []string{":11434"}, thinking: "effort", emptyContent: true, local: true},
	{name: "lmstudio", hosts: []string{":1234"}, thinking: "none", emptyContent: true, local: true},
}

// Vendor returns the name of the vendor at host, which may have a port, or "".
func Vendor(host string) string {
	v, _ := vendorOf(host)
	return v.name
}

func vendorOf(host string) (vendor, bool) {
	host = strings.ToLower(host)
	bare, _, _ := strings.Cut(host, ":")
	for _, v := range vendors {
		for _, suffix := range v.hosts {
			switch {
			case strings.HasPrefix(suffix, ":"):
				if strings.HasSuffix(host, suffix) {
					return v, true
				}
			case strings.HasPrefix(suffix, "."):
				if strings.HasSuffix(bare, suffix) {
					return v, true
				}
			case bare == suffix || strings.HasSuffix(bare, "."+suffix):
				return v, true
			}
		}
	}
	return vendor{}, false
}

// Traits returns what is sent to the server at host (host or host:port) for
// model: the configured flags, and for the rest what the table knows.
func (c Config) Traits(format, host, model string) Traits {
	v, known := vendorOf(host)
	k, name := c.Compat, BareModel(model)
	official := v.name == "openai" || v.name == "azure"
	thinker := openAIReasoner(name)
	t := Traits{
		Vendor:           v.name,
		Strict:           or(k.Strict, false),
		LegacyParameters: or(k.LegacyParameters, false),
		DeveloperRole:    or(k.DeveloperRole, v.developer && thinker),
		MaxTokensField:   "max_tokens",
		Temperature:      or(k.Temperature, !(thinker && (official || v.name == "openrouter" || v.name == "github")) && !fixedSampling(name)),
		StreamUsage:      or(k.StreamUsage, v.name != "mistral"),
		CacheKey:         or(k.CacheKey, v.cacheKey),
		Thinking:         v.thinking,
		ReasoningContent: or(k.ReasoningContent, v.reasoning),
		EmptyContent:     or(k.EmptyContent, v.emptyContent || v.reasoning),
		ToolStream:       or(k.ToolStream, v.name == "zai"),
		CamelCase:        or(k.CamelCase, false),
		IDLength:         v.idLength,
		APIVersion:       k.APIVersion,
		AuthHeader:       v.auth,
		NeedsKey:         known && !v.local,
	}
	// Not everyone ignores a reasoning field; most of those who send one do.
	t.ReplayThinking = or(k.ReplayThinking, !official && v.name != "groq" && v.name != "mistral" && v.name != "cerebras")
	if v.maxCompletion {
		t.MaxTokensField = "max_completion_tokens"
	}
	t.ofFormat(format, v.name, name)
	if official && !thinker || v.name == "groq" && !groqReasoner(name) {
		t.Thinking = "none"
	}
	t.override(k)
	return t
}

func (t *Traits) ofFormat(format, vendorName, model string) {
	switch format {
	case FormatAnthropic:
		t.AuthHeader, t.IDLength = "x-api-key", 64
		if vendorName == "openrouter" {
			t.AuthHeader = "authorization"
		}
		t.CacheControl = true
		t.EagerInputStreaming = vendorName == "anthropic"
		t.Thinking = "budget"
		if major, minor := claudeVersion(model); major > 4 || major == 4 && minor >= 6 {
			t.Thinking = "adaptive"
		}
	case FormatGoogle:
		t.AuthHeader, t.Thinking = "x-goog-api-key", geminiThinking(model)
	case FormatMistral:
		t.IDLength, t.AuthHeader = 9, "authorization"
		t.StreamUsage, t.ReplayThinking = false, true // usage comes unasked, thinking is part of the content
		t.Thinking = mistralThinking(model)
	case FormatResponses:
		t.IDLength = 64
	case FormatOpenAI:
		t.CacheControl = vendorName == "openrouter" && strings.HasPrefix(model, "claude")
	}
	if t.AuthHeader == "" {
		t.AuthHeader = "authorization"
	}
}

func (t *Traits) override(k Compat) {
	t.CacheControl = or(k.CacheControl, t.CacheControl)
	t.EagerInputStreaming = or(k.EagerInputStreaming, t.EagerInputStreaming)
	t.StreamUsage = or(k.StreamUsage, t.StreamUsage)
	t.ReplayThinking = or(k.ReplayThinking, t.ReplayThinking)
	if k.MaxTokensField != "" {
		t.MaxTokensField = k.MaxTokensField
	}
	if k.Thinking != "" {
		t.Thinking = k.Thinking
	}
	if k.IDLength > 0 {
		t.IDLength = k.IDLength
	}
	if k.AuthHeader != "" {
		t.AuthHeader = strings.ToLower(k.AuthHeader)
	}
}

func or(flag *bool, detected bool) bool {
	if flag != nil {
		return *flag
	}
	return detected
}

// BareModel returns a model's name without a router's vendor prefix and in
// lower case.
func BareModel(model string) string {
	return strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
}

var reasoner = lazyregexp.New(`^(?:o[1-9](?:-|$)|gpt-(?:[5-9]|[1-9][0-9])|codex-)`)

// openAIReasoner reports whether an OpenAI model thinks, and so refuses a
// temperature and takes an effort.
func openAIReasoner(name string) bool {
	return reasoner.MatchString(name) && !strings.Contains(name, "-chat")
}

func groqReasoner(name string) bool {
	return strings.HasPrefix(name, "gpt-oss") || strings.HasPrefix(name, "qwen3")
}

var claude = lazyregexp.New(`^claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?:[-@:]|$)`)

// claudeVersion returns the version in a Claude model's name, 0 if it has none.
func claudeVersion(name string) (major, minor int) {
	m := claude.FindStringSubmatch(name)
	if m == nil {
		return 0, 0
	}
	major, _ = strconv.Atoi(m[1])
	minor, _ = strconv.Atoi(m[2])
	return major, minor
}

// fixedSampling reports whether a model of any vendor refuses a temperature.
func fixedSampling(name string) bool {
	major, minor := claudeVersion(name)
	return major > 4 || major == 4 && minor >= 7
}

var gemini = lazyregexp.New(`^gemini-(?:(\d+)(?:\.\d+)?(?:-|$)|(?:pro|flash|flash-lite)-latest$)`)

// GeminiVersion returns the major version in a Gemini model's name, 0 if it has
// none. The names that follow the newest model count as 3.
func GeminiVersion(model string) int {
	m := gemini.FindStringSubmatch(BareModel(model))
	switch {
	case m == nil:
		return 0
	case m[1] == "":
		return 3
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// geminiThinking returns how a model behind Google's format is asked to think.
func geminiThinking(name string) string {
	switch v := GeminiVersion(name); {
	case v >= 3:
		return "level"
	case v > 0 && !strings.HasPrefix(name, "gemini-2.5"), strings.HasPrefix(name, "gemma"):
		return "none"
	}
	return "budget"
}

// mistralEffort are the models that take reasoning_effort.
var mistralEffort = lazyregexp.New(`^mistral-(?:small-(?:latest|2603|4)|medium-3[.-]5)`)

// mistralThinking returns how a model behind Mistral's format is asked to think.
func mistralThinking(name string) string {
	switch {
	case strings.HasPrefix(name, "magistral"):
		return "prompt_mode"
	case mistralEffort.MatchString(name):
		return "effort"
	}
	return "none"
}
