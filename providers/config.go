package providers

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"clawbot/agentcore"
)

// The wire formats.
const (
	FormatAnthropic = "anthropic"
	FormatOpenAI    = "openai"
	FormatResponses = "openai-responses"
	FormatGoogle    = "google"
	FormatMistral   = "mistral"
	FormatDemo      = "demo"

	// FormatTranscription is no format of a model that answers: it turns speech
	// into text.
	FormatTranscription = "openai-transcription"
)

// DefaultIdleTimeout is how long a stream may be silent, the wait for its first
// byte included.
const DefaultIdleTimeout = 3 * time.Minute

// Config is one [providers.NAME] table. The zero value of every field works for
// a server that needs no key, except BaseURL where the format has no vendor of
// its own.
type Config struct {
	// Name is the table's name. It stands in errors ("providers.NAME.api_key")
	// and in [agentcore.ModelRef].
	Name string `toml:"-"`
	// Format is the wire format; New of a format's package ignores it.
	Format string `toml:"format"`
	// BaseURL is the server, with or without /v1, with or without the
	// endpoint's path; empty means the format's own vendor.
	BaseURL string `toml:"base_url"`
	// APIKeys are tried in turn: one that is refused or limited rests a while.
	APIKeys []string `toml:"api_key"`
	// Proxy is "", a URL, or "env"; HTTP_PROXY is otherwise ignored.
	Proxy string `toml:"proxy"`
	// Headers are sent with every request.
	Headers map[string]string `toml:"headers"`
	Compat  Compat            `toml:"compat"`
	// Models overrides the built-in table, by model id.
	Models map[string]ModelSettings `toml:"models"`
	// IdleTimeout bounds the silence in a stream; 0 means [DefaultIdleTimeout].
	IdleTimeout time.Duration `toml:"idle_timeout"`

	// HTTPClient, if set, is used instead of one made for this provider; its
	// transport decides about proxies then.
	HTTPClient *http.Client `toml:"-"`
	// Transport, if set, stands around the transport of every request.
	Transport func(http.RoundTripper) http.RoundTripper `toml:"-"`
	Logger    *slog.Logger                              `toml:"-"` // default: discard
}

// ModelSettings says what a model is and costs, where the built-in table does
// not know or is out of date. Nil and 0 keep what the table says.
type ModelSettings struct {
	Window    int64            `toml:"window"`
	MaxOutput int64            `toml:"max_output"`
	Images    *bool            `toml:"images"`
	Documents *bool            `toml:"documents"`
	Thinking  *bool            `toml:"thinking"`
	Price     *agentcore.Price `toml:"price"`
	// Prices are prices with dates, in place of Price: each holds from its From
	// until the next one's.
	Prices []agentcore.Price `toml:"prices"`
}

// setting names a configuration key for an error message.
func (c Config) setting(key string) string {
	name := c.Name
	if name == "" {
		name = "NAME"
	}
	return "providers." + name + "." + key
}

// label names the provider for an error message.
func (c Config) label() string {
	if c.Name == "" {
		return "the model provider"
	}
	return c.Name
}

// keys returns the configured keys, cleaned of what a paste brings along.
func (c Config) keys() ([]string, error) {
	var keys []string
	for _, k := range c.APIKeys {
		k = strings.Trim(strings.TrimSpace(k), `"'`)
		k = strings.TrimSpace(strings.TrimPrefix(k, "Bearer "))
		if k == "" {
			continue
		}
		for _, r := range k {
			if unicode.IsSpace(r) || !unicode.IsPrint(r) || r > unicode.MaxASCII {
				return nil, &agentcore.Error{Class: agentcore.ErrAuth, Message: fmt.Sprintf(
					"%s holds a space or a character that no key has: copy the key again, without what stands around it",
					c.setting("api_key"))}
			}
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// headerSecrets returns the values of headers that carry a secret.
func (c Config) headerSecrets() []string {
	var secrets []string
	for name, value := range c.Headers {
		name = strings.ToLower(name)
		for _, word := range []string{"auth", "key", "token", "secret", "cookie"} {
			if strings.Contains(name, word) {
				secrets = append(secrets, value, strings.TrimPrefix(value, "Bearer "))
				break
			}
		}
	}
	return secrets
}

// proxyFunc returns the transport's proxy function, nil for none.
func (c Config) proxyFunc() (func(*http.Request) (*url.URL, error), error) {
	switch p := strings.TrimSpace(c.Proxy); p {
	case "":
		return nil, nil
	case "env":
		return http.ProxyFromEnvironment, nil
	default:
		u, err := url.Parse(p)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" && u.Scheme != "socks5h" {
			return nil, &agentcore.Error{Class: agentcore.ErrNetwork, Message: fmt.Sprintf(
				"%s is not a proxy URL such as http://proxy.example:3128 (or \"env\")", c.setting("proxy"))}
		}
		return http.ProxyURL(u), nil
	}
}

func (c Config) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}
